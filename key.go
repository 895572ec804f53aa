package mars

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"mars/internal/secure"
)

// PublicKey identifies a node. Its text has 48 characters; the zero value is no key.
type PublicKey = secure.PublicKey

// ParsePublicKey reads the text of a public key, and tells typing errors.
func ParsePublicKey(s string) (PublicKey, error) { return secure.ParsePublicKey(s) }

// NewKeyFile draws a key, writes it to a new file that only its owner may read ("": at DefaultKeyPath), and returns the
// public half. A file that is there already is an error, fs.ErrExist: keys are not replaced.
func NewKeyFile(path string) (PublicKey, error) {
	if path == "" {
		var err error
		if path, err = DefaultKeyPath(); err != nil {
			return PublicKey{}, err
		}
	}
	k, err := secure.NewPrivateKey(rand.Reader)
	if err != nil {
		return PublicKey{}, err
	}
	return k.Public(), WriteKey(path, k)
}

// nodeKey is the key of a node: that of LoadKey, or if nobody says where it is and there is none, a new one that is
// forgotten with the node.
func nodeKey(path string) (secure.PrivateKey, error) {
	k, _, err := LoadKey(path)
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return secure.NewPrivateKey(rand.Reader)
	}
	return k, err
}
