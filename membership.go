package mars

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"mars/internal/machine"
	"mars/internal/route"
	"mars/internal/secure"
	"mars/internal/wire"
)

// membershipPoll is how often a node looks whether its certificate or revocations have changed.
const membershipPoll = time.Second

// maxMembershipFile bounds what is read from either file, bytes: as many revocation lists as there may be operators.
const maxMembershipFile = 16 * 12_000

// membership is what of a node's identity, and of whom it trusts, may change while it runs.
type membership struct {
	policy      *secure.Policy // loop goroutine only
	revised     bool           // policy has learnt what no face was checked against yet; loop goroutine only
	shown       []byte         // our certificate; loop goroutine only
	certificate watched
	revocations watched
	warnAt      int64 // when to warn that the certificate ends, seconds since 1970; loop goroutine only
}

// newMembership reads what cfg says, not yet the files.
func newMembership(cfg *Config) (*membership, error) {
	policy := &secure.Policy{Peers: make(map[PublicKey]secure.Peer), Operators: cfg.Operators}
	for _, p := range cfg.Peers {
		peer := secure.Peer{Key: p.Key, Name: p.Name}
		for _, a := range p.Announce {
			prefix, err := wire.ParseName(a)
			if err != nil {
				return nil, err
			}
			peer.Announce = append(peer.Announce, prefix)
		}
		policy.Peers[p.Key] = peer
	}
	return &membership{
		policy: policy, certificate: watched{path: cfg.Node.Certificate}, revocations: watched{path: cfg.Node.Revocations},
	}, nil
}

// loadMembership is the first look at the files. They must be there: without its revocations a node would let in whom it shouldn't.
func (n *Node) loadMembership() error {
	c, err := n.readCertificate()
	if err != nil {
		return &Error{
			Op: "read the certificate", Kind: ErrConfig, Err: err,
			Next: fmt.Sprintf("have the operator make one: mars ca sign %s --name NAME -o FILE", n.key),
		}
	}
	lists, err := n.readRevocations()
	if err != nil {
		return &Error{
			Op: "read the revocations", Kind: ErrConfig, Err: err,
			Next: "have the operator write them: mars ca revoke -o FILE",
		}
	}
	n.adopt(0, c, lists)
	return nil
}

// keepMembership looks at the files from time to time until ctx is done. Files that can't be read change nothing.
func (n *Node) keepMembership(ctx context.Context) {
	every(ctx, membershipPoll, func() {
		c, err := n.readCertificate()
		if err != nil {
			n.log.Warn("the certificate can't be read; the one before stays", "err", err)
		}
		lists, err := n.readRevocations()
		if err != nil {
			n.log.Warn("the revocations can't be read; those before stay", "err", err)
		}
		n.driver.Post(func(now machine.Time) { n.adopt(now, c, lists) })
	})
}

// certificate is a certificate and how it travels.
type certificate struct {
	secure.Certificate
	encoded []byte
}

// readCertificate returns the node's certificate if it has changed, else nil.
func (n *Node) readCertificate() (*certificate, error) {
	text, err := n.membership.certificate.changed()
	if text == nil || err != nil {
		return nil, err
	}
	c, encoded, err := secure.ParseCertificateText(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", n.membership.certificate.path, err)
	case c.Subject != n.key:
		return nil, fmt.Errorf("%s is for another key than this node's, %s", n.membership.certificate.path, n.key)
	}
	return &certificate{c, encoded}, nil
}

// readRevocations returns the revocation lists if the file has changed, else nil.
func (n *Node) readRevocations() ([][]byte, error) {
	text, err := n.membership.revocations.changed()
	if text == nil || err != nil {
		return nil, err
	}
	_, encoded, err := secure.ParseRevocationsText(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.membership.revocations.path, err)
	}
	return encoded, nil
}

// adopt takes in what the files say, on the loop goroutine. nil: nothing new.
func (n *Node) adopt(now machine.Time, c *certificate, lists [][]byte) {
	if n.membership.revised { // since the last look: by now the list has passed on, also through those whom it revokes
		n.membership.revised = false
		n.guard.Recheck(now)
	}
	if c != nil {
		n.membership.shown = c.encoded
		n.guard.SetCertificate(now, c.encoded)
		n.node.Reannounce(now)
		ends := time.Unix(c.NotAfter, 0).UTC()
		n.membership.warnAt = c.NotAfter - (c.NotAfter-c.NotBefore)/4
		n.log.Info("the certificate of this node", "name", c.Name, "operator", c.Operator.String(), "serial", fmt.Sprintf("%016x", c.Serial), "expires", ends)
	}
	if c != nil && n.cfg.Node.Role == RoleRelay && !c.Relay {
		n.log.Warn("this node is a relay, but a leaf by its certificate: others won't use it as a relay, nor what it announces")
	}
	if at := n.membership.warnAt; at != 0 && time.Now().Unix() >= at {
		n.membership.warnAt = 0
		n.log.Warn("the certificate of this node ends soon, or has ended: renew it with mars ca sign")
	}
	for _, l := range lists {
		topic, number, ok := n.heed(l)
		if ok {
			n.node.Tell(now, route.Notice{Topic: topic, Number: number, Content: l})
		}
	}
	n.guard.Expire(now)
}

// heed judges a revocation list, of a file or a neighbour: route.Config.Notice.
func (n *Node) heed(encoded []byte) (topic, number uint64, ok bool) {
	list, news, err := n.membership.policy.Learn(encoded)
	if err != nil {
		n.log.Debug("a revocation list doesn't count", "err", err)
		return 0, 0, false
	}
	if news {
		n.membership.revised = true
		n.log.Info("a revocation list", "operator", list.Operator.String(), "number", list.Number, "serials", len(list.Serials), "keys", len(list.Keys))
	}
	return binary.BigEndian.Uint64(list.Operator[:]), list.Number, true
}

// watched is a small file that is read when it has changed.
type watched struct {
	path string // "": none
	seen fs.FileInfo
	gone bool // so it was at the last call
}

// changed returns what the file holds, not nil, if it isn't as it was at the last call; else nil. So it is with errors: each is
// returned once.
func (w *watched) changed() ([]byte, error) {
	if w.path == "" {
		return nil, nil
	}
	info, err := os.Stat(w.path)
	if err != nil {
		told := w.gone
		w.gone, w.seen = true, nil
		if told {
			return nil, nil
		}
		return nil, err
	}
	w.gone = false
	if w.seen != nil && os.SameFile(info, w.seen) && info.ModTime().Equal(w.seen.ModTime()) && info.Size() == w.seen.Size() {
		return nil, nil
	}
	w.seen = info
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", w.path)
	}
	file, err := os.Open(w.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxMembershipFile+1))
	if err == nil && len(text) > maxMembershipFile {
		err = fmt.Errorf("%s is too long", w.path)
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, text...), nil
}
