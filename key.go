package mars

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mars/internal/secure"
)

// PublicKey identifies a node. Its text has 48 characters; the zero value is no key.
type PublicKey = secure.PublicKey

// ParsePublicKey reads the text of a public key, and tells typing errors.
func ParsePublicKey(s string) (PublicKey, error) { return secure.ParsePublicKey(s) }

// DefaultKeyPath is where a node's key is unless node.key says otherwise: mars/node.key in the user's directory for
// configuration, by default ~/.config; "" if there is no such directory.
func DefaultKeyPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mars", "node.key")
}

// NewKeyFile draws a key, writes it to a new file that only its owner may read, and returns the public half. A file that
// is there already is an error, fs.ErrExist: keys are not replaced.
func NewKeyFile(path string) (PublicKey, error) {
	k, err := secure.NewPrivateKey(rand.Reader)
	if err != nil {
		return PublicKey{}, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return PublicKey{}, keyError("make", path, err)
	}
	f, err := os.CreateTemp(dir, ".mars-key-*") // mode 0600
	if err != nil {
		return PublicKey{}, keyError("make", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(k.Text() + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path) // whole or not at all, and never over another key
	}
	if err != nil {
		return PublicKey{}, keyError("make", path, err)
	}
	return k.Public(), nil
}

// PublicKeyOf returns the public half of the key in a file.
func PublicKeyOf(path string) (PublicKey, error) {
	k, err := loadKey(path)
	return k.Public(), err
}

// maxKeyFile bounds a key file, bytes.
const maxKeyFile = 1024

func loadKey(path string) (secure.PrivateKey, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return secure.PrivateKey{}, keyError("read", path, err)
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return secure.PrivateKey{}, keyError("read", path, errors.New("it is no key file"))
	case info.Mode().Perm()&0o077 != 0:
		return secure.PrivateKey{}, &Error{
			Op: "read the key in " + path, Err: fmt.Errorf("others may read it (mode %04o)", info.Mode().Perm()),
			Next: "chmod 600 " + path + "; if others have read it, make a new key with mars key new",
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return secure.PrivateKey{}, keyError("read", path, err)
	}
	k, err := secure.ParsePrivateKey(string(text))
	if err != nil {
		return secure.PrivateKey{}, keyError("read", path, err)
	}
	return k, nil
}

func keyError(what, path string, err error) error {
	e := &Error{Op: what + " the key in " + path, Err: err, Next: "make one with mars key new, or name another file with node.key"}
	if errors.Is(err, fs.ErrExist) {
		e.Next = "keep it, or remove it first: whoever knows the node by its old key must be told the new one"
	}
	return e
}

// nodeKey is the key of a node: that of a file, or if path is "" a new one that is forgotten with the node.
func nodeKey(path string) (secure.PrivateKey, error) {
	if path == "" {
		return secure.NewPrivateKey(rand.Reader)
	}
	return loadKey(path)
}

// peers is who may dial a node: those that the configuration names, or if it names none, whoever knows the node's key.
type peers map[PublicKey]string

func (p peers) admit(_ int64, key PublicKey, _ []byte) (secure.Peer, error) {
	name, known := p[key]
	if len(p) > 0 && !known {
		return secure.Peer{}, secure.ErrUnknown
	}
	return secure.Peer{Key: key, Name: name}, nil
}
