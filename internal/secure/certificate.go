package secure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mars/internal/wire"
)

// Bounds of certificates. A certificate has at most MaxCertificate bytes: it must fit a handshake.
const (
	MaxCertificateName     = 64 // bytes
	MaxCertificatePrefixes = 16
)

// Certificate is the word of an operator for the key of a node, for a limited time.
type Certificate struct {
	Subject             PublicKey
	Name                string      // for people: 1…64 letters, digits, dots, dashes and underscores
	Relay               bool        // the node may forward what others ask of it; otherwise it is a leaf
	Prefixes            []wire.Name // that it may announce, and below which it may produce objects; ascending; none: no prefix
	NotBefore, NotAfter int64       // seconds since 1970, both included
	Serial              uint64      // among the certificates of the operator; not 0
	Operator            PublicKey
}

// Sign has operator sign c, whose Operator it sets, and returns the certificate as it travels. The errors say what of c
// can't be in a certificate.
func (c *Certificate) Sign(operator PrivateKey) ([]byte, error) {
	c.Operator = operator.Public()
	slices.SortFunc(c.Prefixes, wire.Name.Compare)
	c.Prefixes = slices.CompactFunc(c.Prefixes, wire.Name.Equal)
	if err := c.check(); err != nil {
		return nil, err
	}
	body := wire.AppendTLV(nil, typeSubject, c.Subject[:])
	body = wire.AppendTLV(body, typeLabel, []byte(c.Name))
	body = wire.AppendNaturalTLV(body, typeRole, c.role())
	for _, p := range c.Prefixes {
		body = wire.AppendTLV(body, typePrefix, p)
	}
	body = wire.AppendNaturalTLV(body, typeNotBefore, uint64(c.NotBefore))
	body = wire.AppendNaturalTLV(body, typeNotAfter, uint64(c.NotAfter))
	body = wire.AppendNaturalTLV(body, typeSerial, c.Serial)
	b := sign(typeCertificate, domainCertificate, operator, body)
	if len(b) > MaxCertificate {
		return nil, fmt.Errorf("the certificate would have %d bytes, more than %d: use fewer or shorter prefixes", len(b), MaxCertificate)
	}
	return b, nil
}

func (c *Certificate) role() uint64 {
	if c.Relay {
		return 1
	}
	return 0
}

// Covers tells whether c lets its subject announce name, if that is a prefix, and sign it, if it is an object.
func (c *Certificate) Covers(name wire.Name) bool {
	return slices.ContainsFunc(c.Prefixes, name.HasPrefix)
}

// check tells what of c can't be in a certificate.
func (c *Certificate) check() error {
	switch {
	case !isLabel(c.Name):
		return fmt.Errorf("%q is not a name of up to %d letters, digits, dots, dashes and underscores", c.Name, MaxCertificateName)
	case len(c.Prefixes) > MaxCertificatePrefixes:
		return fmt.Errorf("%d prefixes are more than %d", len(c.Prefixes), MaxCertificatePrefixes)
	case c.NotBefore < 0 || c.NotAfter < c.NotBefore || c.NotAfter > maxDate:
		return errors.New("the certificate would never be valid")
	case c.Serial == 0:
		return errors.New("the certificate has no serial number")
	}
	for i, p := range c.Prefixes {
		if i > 0 && p.Compare(c.Prefixes[i-1]) <= 0 {
			return errors.New("prefixes out of order")
		}
	}
	return nil
}

func isLabel(s string) bool {
	bad := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
	return s != "" && bad < 0 && len(s) <= MaxCertificateName
}

// DecodeCertificate reads what Sign makes and checks its signature. It keeps no part of b. A certificate has one form:
// what decodes encodes to the same bytes. Whether the operator is ours and the time within bounds is for a Policy to say.
func DecodeCertificate(b []byte) (Certificate, error) {
	c, signature, err := parseCertificate(b)
	if err != nil {
		return Certificate{}, fmt.Errorf("it is no certificate: %w", err)
	}
	if !c.Operator.Verify(append([]byte(domainCertificate), signedPart(b)...), signature) {
		return Certificate{}, errors.New("the signature of the certificate is wrong")
	}
	return c, nil
}

// parseCertificate reads the form alone.
func parseCertificate(b []byte) (c Certificate, signature []byte, err error) {
	f, err := unwrap(b, typeCertificate, MaxCertificate)
	if err != nil {
		return c, nil, err
	}
	c.Subject = f.key(typeSubject)
	c.Name = string(f.bytes(typeLabel))
	c.Relay = f.number(typeRole, 1) == 1
	for f.next() == typePrefix {
		p, err := wire.DecodeName(f.bytes(typePrefix))
		if err != nil {
			return c, nil, errForm
		}
		c.Prefixes = append(c.Prefixes, p.Clone())
	}
	c.NotBefore = int64(f.number(typeNotBefore, maxDate))
	c.NotAfter = int64(f.number(typeNotAfter, maxDate))
	c.Serial = f.number(typeSerial, 1<<64-1)
	c.Operator = f.key(typeOperator)
	s := f.signature()
	if f.bad {
		return c, nil, errForm
	}
	return c, s[:], c.check()
}
