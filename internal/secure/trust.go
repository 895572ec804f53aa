package secure

import (
	"errors"
	"fmt"
	"slices"

	"mars/internal/wire"
)

// Trust says who may sign objects.
type Trust struct {
	// Rules say it for the names below a prefix; of those that cover a name the one with the longest prefix decides alone.
	Rules []TrustRule
	// Keys and Operators count where no rule does: of the neighbours that the user named, of this node.
	Keys      []PublicKey
	Operators []PublicKey
	// Certified tells whether a certificate by operator lets key sign the name at wall, seconds since 1970; nil: none does.
	Certified func(operator PublicKey, name wire.Name, key PublicKey, certificate []byte, wall int64) error
}

// TrustRule says who may sign the objects below a prefix.
type TrustRule struct {
	Prefix    wire.Name // may be empty: all names
	Keys      []PublicKey
	Operators []PublicKey // whose certificates count, as far as their prefixes reach
	Unsigned  bool        // anybody, and nobody need sign: who could alter an object could leave its signature out
}

// ErrUnsigned says that an object has no signature, and that one is wanted.
var ErrUnsigned = errors.New("nobody has signed it")

// Untrusted is the error of an object whose signer may not sign it.
type Untrusted struct {
	Key PublicKey // of the signer
	Why error     // what is wrong with its certificate; nil: it has none
}

func (u *Untrusted) Error() string {
	if u.Why != nil {
		return fmt.Sprintf("signed by %v, whose certificate doesn't help: %v", u.Key, u.Why)
	}
	return fmt.Sprintf("signed by %v, which nothing here says to trust", u.Key)
}

func (u *Untrusted) Unwrap() error { return u.Why }

// Verify tells whether key, with its certificate, which may be empty, may sign the object name at wall, seconds since 1970; the
// zero key is nobody's. The error is ErrUnsigned or an *Untrusted. That the key did sign is for the caller to verify.
func (t *Trust) Verify(name wire.Name, key PublicKey, certificate []byte, wall int64) error {
	r := t.rule(name)
	switch {
	case r.Unsigned:
		return nil
	case key == PublicKey{}:
		return ErrUnsigned
	case slices.Contains(r.Keys, key):
		return nil
	}
	u := &Untrusted{Key: key}
	if len(certificate) == 0 || t.Certified == nil {
		return u
	}
	for _, operator := range r.Operators {
		if u.Why = t.Certified(operator, name, key, certificate, wall); u.Why == nil {
			return nil
		}
	}
	return u
}

// rule is what decides about a name.
func (t *Trust) rule(name wire.Name) TrustRule {
	best, found := TrustRule{Keys: t.Keys, Operators: t.Operators}, false
	for _, r := range t.Rules {
		if name.HasPrefix(r.Prefix) && (!found || len(r.Prefix) > len(best.Prefix)) {
			best, found = r, true
		}
	}
	return best
}
