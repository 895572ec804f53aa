package secure

import (
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// The kinds of what stands in text files.
const (
	armourCertificate = "MARS CERTIFICATE"
	armourRevocations = "MARS REVOCATIONS"
)

// CertificateText is a certificate as it stands in a file. What it says is before it, for people.
func CertificateText(c *Certificate, encoded []byte) []byte {
	role := "leaf"
	if c.Relay {
		role = "relay"
	}
	var prefixes []string
	for _, p := range c.Prefixes {
		prefixes = append(prefixes, p.String())
	}
	head := fmt.Sprintf("name: %s\nrole: %s\nkey: %s\nprefixes: %s\nfrom: %s\nexpires: %s\nserial: %016x\n",
		c.Name, role, c.Subject, strings.Join(prefixes, " "), date(c.NotBefore), date(c.NotAfter), c.Serial)
	return append([]byte(head), pem.EncodeToMemory(&pem.Block{Type: armourCertificate, Bytes: encoded})...)
}

// RevocationsText is a revocation list as it stands in a file. A file may hold several.
func RevocationsText(encoded []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: armourRevocations, Bytes: encoded})
}

// ParseCertificateText reads a file with one certificate. encoded is the certificate as it travels.
func ParseCertificateText(text []byte) (c Certificate, encoded []byte, err error) {
	all, err := blocks(text, armourCertificate)
	if err != nil {
		return c, nil, err
	}
	if len(all) != 1 {
		return c, nil, fmt.Errorf("it holds %d certificates, not one", len(all))
	}
	c, err = DecodeCertificate(all[0])
	return c, all[0], err
}

// ParseRevocationsText reads a file with revocation lists, maybe none.
func ParseRevocationsText(text []byte) (lists []Revocations, encoded [][]byte, err error) {
	encoded, err = blocks(text, armourRevocations)
	for _, b := range encoded {
		r, wrong := DecodeRevocations(b)
		err = errors.Join(err, wrong)
		lists = append(lists, r)
	}
	if err != nil {
		return nil, nil, err
	}
	return lists, encoded, nil
}

// blocks returns what is in the armour; all of it must be of one kind.
func blocks(text []byte, kind string) (all [][]byte, err error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			if strings.Contains(string(text), "-----BEGIN") {
				return nil, errors.New("it is damaged: copy it again, from -----BEGIN to the end")
			}
			return all, nil
		}
		if block.Type != kind {
			return nil, fmt.Errorf("it holds a %q where a %q is wanted", block.Type, kind)
		}
		all, text = append(all, block.Bytes), rest
	}
}
