package mars

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mars/internal/secure"
	"mars/internal/wire"
)

// How long certificates are valid, and since when: clocks of nodes may be behind the operator's.
const (
	DefaultCertificateDays = 7
	maxCertificateDays     = 3660
	clockSlack             = time.Hour
)

// CA is an operator: a key that vouches for nodes, and a register of what it has signed. Only one process has it open.
type CA struct {
	key      secure.PrivateKey
	register *register
}

// CertificateRequest is what an operator says of a node.
type CertificateRequest struct {
	Key      PublicKey
	Name     string   // for people: up to 64 letters, digits, dots, dashes and underscores
	Role     string   // RoleLeaf or RoleRelay; "": RoleLeaf
	Prefixes []string // NDN URIs that the node may announce, and below which it may sign objects
	Days     int      // of validity, 1…3660; 0: DefaultCertificateDays
}

// DefaultOperatorPath is where the key of an operator is kept unless something else is said: operator.key beside
// DefaultKeyPath.
func DefaultOperatorPath() (string, error) {
	path, err := DefaultKeyPath()
	return filepath.Join(filepath.Dir(path), "operator.key"), err
}

// operatorPath is path, or the default one.
func operatorPath(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	return DefaultOperatorPath()
}

// NewCA draws an operator's key, writes it to a new file that only its owner may read ("": at DefaultOperatorPath), with an empty
// register beside it, and returns the public half. A file that is there already is an error, fs.ErrExist.
func NewCA(path string) (PublicKey, error) {
	path, err := operatorPath(path)
	if err != nil {
		return PublicKey{}, err
	}
	key, err := secure.NewPrivateKey(rand.Reader)
	if err != nil {
		return PublicKey{}, err
	}
	if err := WriteKey(path, key); err != nil {
		return PublicKey{}, err
	}
	return key.Public(), newRegister(path, key.Public())
}

// OpenCA opens the operator whose key is at path ("": at DefaultOperatorPath). It waits until no other process has it open.
func OpenCA(path string) (*CA, error) {
	path, err := operatorPath(path)
	if err != nil {
		return nil, err
	}
	key, err := readKey(path, 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		err = &Error{Op: "read the operator's key", Err: err, Next: "make one: mars ca init -k " + path}
	}
	if err != nil {
		return nil, err
	}
	r, err := openRegister(path, key.Public())
	if err != nil {
		return nil, err
	}
	return &CA{key, r}, nil
}

// Close lets others open the CA.
func (ca *CA) Close() { ca.register.close() }

// Key is the operator's public key.
func (ca *CA) Key() PublicKey { return ca.key.Public() }

// Issued are the certificates that the operator has signed and that haven't long expired, oldest first.
func (ca *CA) Issued() []Issued { return append([]Issued{}, ca.register.Issued...) }

// Sign signs a certificate, and returns it as it stands in a file. It is in the register first.
func (ca *CA) Sign(r CertificateRequest) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, &Error{Op: "sign the certificate", Kind: ErrUsage, Err: err}
	}
	if _, err := oneOf(RoleLeaf, RoleRelay)(cmp.Or(r.Role, RoleLeaf)); err != nil {
		return fail(err)
	}
	days := cmp.Or(r.Days, DefaultCertificateDays)
	if days < 1 || days > maxCertificateDays {
		return fail(fmt.Errorf("%d days are not from 1 to %d", days, maxCertificateDays))
	}
	if slices.Contains(ca.register.Keys, r.Key) {
		return nil, &Error{
			Op: "sign the certificate", Kind: ErrAuth, Err: errors.New("the key was revoked, and stays so"),
			Next: "have the node make another key: mars key new -o FILE",
		}
	}
	now := time.Now()
	c := secure.Certificate{
		Subject: r.Key, Name: r.Name, Relay: r.Role == RoleRelay,
		NotBefore: now.Add(-clockSlack).Unix(), NotAfter: now.AddDate(0, 0, days).Unix(), Serial: newSerial(),
	}
	for _, p := range r.Prefixes {
		canonical, err := parsePrefix(p)
		if err != nil {
			return fail(err)
		}
		prefix, err := wire.ParseName(canonical)
		if err != nil {
			return fail(err)
		}
		c.Prefixes = append(c.Prefixes, prefix)
	}
	b, err := c.Sign(ca.key)
	if err != nil {
		return fail(err)
	}
	ca.register.prune(now.Unix())
	ca.register.add(issued(&c))
	if err := ca.register.save(); err != nil {
		return nil, err
	}
	return secure.CertificateText(&c, b), nil
}

// WriteCertificate writes what Sign or Revoke returned to a file that everybody may read, in place of the one that is there: a node
// that reads it meanwhile finds the old bytes or the new ones.
func WriteCertificate(path string, text []byte) error {
	if err := replaceFile(path, 0o644, text); err != nil {
		return &Error{Op: "write " + path, Err: err, Next: "choose a file in a directory that is there and that you may write"}
	}
	return nil
}

// newSerial draws a serial number. Drawn numbers need no memory: a register of yesterday's backup can't deal one twice.
func newSerial() uint64 {
	var b [8]byte
	for binary.BigEndian.Uint64(b[:]) == 0 {
		_, _ = rand.Read(b[:]) // never fails
	}
	return binary.BigEndian.Uint64(b[:])
}

// Revoke takes certificates back and returns the operator's revocation list as it stands in a file. Each of what is a name or a key,
// whose key is taken back with all certificates there are or will be of it; or a serial number, of one certificate. Nothing: the
// list as it is.
func (ca *CA) Revoke(what ...string) ([]byte, error) {
	for _, w := range what {
		if err := ca.register.revoke(w); err != nil {
			return nil, &Error{Op: "revoke " + w, Kind: ErrUsage, Err: err, Next: "mars ca list shows what there is"}
		}
	}
	now := time.Now().Unix()
	ca.register.prune(now)
	// A number that follows the clock is the highest even if the register was lost and restored.
	ca.register.Number = max(ca.register.Number+1, uint64(max(now, 1)))
	list := secure.Revocations{Number: ca.register.Number, Issued: now, Serials: ca.register.serials(now), Keys: slices.Clone(ca.register.Keys)}
	b, err := list.Sign(ca.key)
	if err != nil {
		return nil, &Error{
			Op: "revoke " + strings.Join(what, ", "), Err: err,
			Next: "make a new operator key, and have nodes trust it beside the old one until they have its certificates",
		}
	}
	if err := ca.register.save(); err != nil {
		return nil, err
	}
	return secure.RevocationsText(b), nil
}
