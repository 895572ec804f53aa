package mars

import (
	"errors"
	"fmt"
	"time"

	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/secure"
	"mars/internal/wire"
)

// TrustConfig says who may sign the objects below a prefix. Of those that cover a name, the one with the longest prefix decides
// alone. Where none does, the keys of the faces that the node dials count, its own, and the certificates of its operators.
type TrustConfig struct {
	Prefix    string      `yaml:"prefix"` // NDN URI; "/" is all names
	Keys      []PublicKey `yaml:"keys,omitempty"`
	Operators []PublicKey `yaml:"operators,omitempty"` // whose certificates count
	// Unsigned: everybody may, and nobody need. A node on the way could alter such an object as a whole.
	Unsigned bool `yaml:"unsigned,omitempty"`
}

// Signers says who may sign what is fetched. The zero value: whoever the node's configuration trusts.
type Signers struct {
	Keys     []PublicKey // these alone, whatever the configuration says
	Unsigned bool        // everybody, and nobody need sign; Keys don't count then
}

// Untrusted is the error of an object whose signer may not sign it; it tells the signer's key.
type Untrusted = secure.Untrusted

// maxAge is how old a signed answer may be by this machine's clock: producers sign anew every ten seconds, so that an older one was
// kept by somebody on the way. What clocks are wrong by must fit.
const maxAge = 10 * time.Minute

// errOld is the error of an answer that is older than maxAge.
var errOld = errors.New("what answers was signed too long ago")

// newTrust reads the configuration of a node whose key is own. policy judges certificates.
func newTrust(c *Config, own PublicKey, policy *secure.Policy) (*secure.Trust, error) {
	t := &secure.Trust{Keys: []PublicKey{own}, Operators: c.Operators, Certified: policy.Certified}
	for _, f := range c.Faces {
		if f.To.Key != (PublicKey{}) {
			t.Keys = append(t.Keys, f.To.Key)
		}
	}
	if c.Attach != "" {
		t.Keys = append(t.Keys, askSigners(c.Attach)...)
	}
	for _, r := range c.Trust {
		prefix, err := wire.ParseName(r.Prefix)
		if err != nil {
			return nil, err
		}
		t.Rules = append(t.Rules, secure.TrustRule{Prefix: prefix, Keys: r.Keys, Operators: r.Operators, Unsigned: r.Unsigned})
	}
	return t, nil
}

// trustedKeys are the keys that count where no rule does.
func (n *Node) trustedKeys() (all [][]byte) {
	for _, k := range n.trust.Keys {
		all = append(all, k[:])
	}
	return all
}

// trusting is who may answer for what is fetched.
func (n *Node) trusting(s Signers) fetch.Trust {
	t := n.trust
	switch {
	case s.Unsigned:
		return nil
	case len(s.Keys) > 0:
		t = &secure.Trust{Keys: s.Keys} // no certificate counts
	}
	return func(name wire.Name, by wire.Author) error {
		var key PublicKey
		copy(key[:], by.Key)
		wall := time.Now()
		if err := t.Verify(name, key, by.Certificate, wall.Unix()); err != nil {
			return err
		}
		if age := wall.Sub(time.UnixMilli(int64(by.Time))); by.Key != nil && age > maxAge {
			return fmt.Errorf("%w: %v by this machine's clock", errOld, age.Round(time.Second))
		}
		return nil
	}
}

// signer is the key of who signed an object; the zero key: nobody.
func signer(o *fetch.Object) (key PublicKey) {
	copy(key[:], o.Author.Key)
	return key
}

// newSigner signs what a node serves with its key, and shows its certificate, which may be empty.
func newSigner(key secure.PrivateKey, certificate func() []byte) *publish.Signer {
	public := key.Public()
	return &publish.Signer{
		Author: func(machine.Time) wire.Author {
			return wire.Author{Key: public[:], Certificate: certificate(), Time: uint64(time.Now().UnixMilli())}
		},
		Sign: key.Sign,
	}
}

// distrust gives the error of an object that isn't trusted its words and its advice.
func distrust(name string, err error) (*Error, bool) {
	e := &Error{Op: "get " + name, Kind: ErrUntrusted}
	u, known := errors.AsType[*Untrusted](err)
	switch {
	case known:
		e.Err = u
		e.Next = fmt.Sprintf("if that is the key of its producer (mars key show prints it there), add --trust %v, or list it under trust in the configuration; --unsigned takes what anybody answers", u.Key)
	case errors.Is(err, secure.ErrUnsigned):
		e.Err = secure.ErrUnsigned
		e.Next = "ask for it by a node that knows its producer; --unsigned takes the object as it is, and nothing then tells who made it"
	case errors.Is(err, errOld):
		e.Err = errOld
		e.Next = "check the clocks of this machine and of the producer's; if they are right, a node on the way keeps old answers: take another way"
	case errors.Is(err, fetch.ErrForged), errors.Is(err, fetch.ErrStale):
		e.Err = plain{error: err}
		e.Next = "a node on the way alters what it carries, or keeps old answers: take another way"
	default:
		return nil, false
	}
	return e, true
}
