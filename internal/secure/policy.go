package secure

import (
	"fmt"
	"slices"
	"time"

	"mars/internal/wire"
)

// Policy is whom a node trusts: keys that its configuration names, and operators, whose certificates count until they expire or
// are taken back. What an operator takes back is refused whoever else names it. The zero Policy admits everybody.
type Policy struct {
	Peers     map[PublicKey]Peer
	Operators []PublicKey
	lists     []Revocations // the newest of each operator, ascending by operator
}

// Admit judges who dials us: an Admit. Where neither peers nor operators are named, whoever knows our key is welcome.
func (p *Policy) Admit(wall int64, key PublicKey, certificate []byte) (Peer, error) {
	if err := p.gone(key); err != nil {
		return p.named(key), err
	}
	_, named := p.Peers[key]
	switch {
	case named, len(p.Peers)+len(p.Operators) == 0:
		return p.named(key), nil
	case len(p.Operators) == 0, len(certificate) == 0:
		return Peer{}, ErrUnknown
	}
	c, err := p.judge(wall, key, certificate, p.Operators)
	return c.peer(key), err
}

// Keep judges whom we dial: an Admit. Whoever dials a key trusts its holder, until an operator takes the key or the certificate
// that the holder shows back.
func (p *Policy) Keep(wall int64, key PublicKey, certificate []byte) (Peer, error) {
	peer := p.named(key)
	if err := p.gone(key); err != nil {
		return peer, err
	}
	c, err := DecodeCertificate(certificate)
	if err != nil || c.Subject != key || !slices.Contains(p.Operators, c.Operator) {
		return peer, nil
	}
	if peer.Name == "" {
		peer.Name = c.Name
	}
	return peer, p.revoked(&c)
}

// Certified tells whether a certificate by operator lets key sign the object name at wall, seconds since 1970.
func (p *Policy) Certified(operator PublicKey, name wire.Name, key PublicKey, certificate []byte, wall int64) error {
	if err := p.gone(key); err != nil {
		return err
	}
	c, err := p.judge(wall, key, certificate, []PublicKey{operator})
	switch {
	case err != nil:
		return err
	case !c.Covers(name):
		return refuse("the certificate of %s isn't for this name", c.Name)
	}
	return nil
}

// Learn takes in a revocation list. news: it is newer than what was known of its operator, and should be told to others. The
// errors are of lists that are malformed, forged, or by an operator who isn't ours.
func (p *Policy) Learn(encoded []byte) (list Revocations, news bool, err error) {
	list, err = DecodeRevocations(encoded)
	if err != nil {
		return list, false, err
	}
	if !slices.Contains(p.Operators, list.Operator) {
		return list, false, fmt.Errorf("the revocation list is by %s, who is no operator here", list.Operator)
	}
	p.lists, news = newest(p.lists, list)
	return list, news, nil
}

// named is what the configuration says of key.
func (p *Policy) named(key PublicKey) Peer {
	peer := p.Peers[key]
	peer.Key = key
	return peer
}

// judge looks at a certificate by one of some operators that key shows.
func (p *Policy) judge(wall int64, key PublicKey, certificate []byte, operators []PublicKey) (Certificate, error) {
	c, err := DecodeCertificate(certificate)
	switch {
	case err != nil:
		return c, refuse("%v", err)
	case c.Subject != key:
		return c, refuse("the certificate of %s is for another key", c.Name)
	case !slices.Contains(operators, c.Operator):
		return c, refuse("the certificate of %s is by an operator who isn't known here, %s", c.Name, c.Operator)
	case wall < c.NotBefore:
		return c, refuse("the certificate of %s begins at %s, and here it is %s", c.Name, date(c.NotBefore), date(wall))
	case wall > c.NotAfter:
		return c, refuse("the certificate of %s expired at %s", c.Name, date(c.NotAfter))
	}
	return c, p.revoked(&c)
}

// gone tells whether an operator has taken a key back.
func (p *Policy) gone(key PublicKey) error {
	for i := range p.lists {
		if p.lists[i].HasKey(key) {
			return refuse("the key was revoked by its operator")
		}
	}
	return nil
}

// revoked tells whether its operator has taken a certificate back.
func (p *Policy) revoked(c *Certificate) error {
	for i := range p.lists {
		if p.lists[i].Has(c) {
			return refuse("the certificate of %s, %016x, was revoked by its operator", c.Name, c.Serial)
		}
	}
	return nil
}

// peer is who holds key, by the word of c.
func (c *Certificate) peer(key PublicKey) Peer {
	return Peer{Key: key, Name: c.Name, Leaf: !c.Relay, Announce: append([]wire.Name{}, c.Prefixes...), Expires: c.NotAfter}
}

func refuse(format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	return &Refusal{reason[:min(len(reason), maxReason)]}
}

func date(wall int64) string { return time.Unix(wall, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
