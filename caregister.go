package mars

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"mars/internal/secure"
)

// keepExpired is how long the register knows certificates that have expired, seconds.
const keepExpired = 90 * 24 * 3600

// Issued is what the register knows of a certificate.
type Issued struct {
	Serial   string    `json:"serial"` // 16 hexadecimal digits
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Key      PublicKey `json:"key"`
	Prefixes []string  `json:"prefixes"`
	NotAfter int64     `json:"expires"` // seconds since 1970
	Revoked  bool      `json:"revoked"`
}

// register is an operator's memory, a JSON file beside its key.
type register struct {
	Operator PublicKey   `json:"operator"`
	Number   uint64      `json:"number"`       // of the last revocation list
	Keys     []PublicKey `json:"revoked_keys"` // in the order of their revocation
	Issued   []Issued    `json:"issued"`       // in the order of their signing

	path string
	lock *os.File
}

func registerPath(keyPath string) string { return keyPath + ".register" }

// newRegister makes the register of a new key.
func newRegister(keyPath string, operator PublicKey) error {
	r := &register{Operator: operator, path: registerPath(keyPath)}
	if _, err := os.Lstat(r.path); err == nil {
		return registerError("make", fmt.Errorf("%s: %w", r.path, fs.ErrExist), "move it away: it is of a key that is gone")
	}
	return r.save()
}

// openRegister reads a register and keeps other processes out until close.
func openRegister(keyPath string, operator PublicKey) (*register, error) {
	r := &register{path: registerPath(keyPath)}
	// The lock is on the key: the register is replaced each time.
	lock, err := os.Open(keyPath)
	if err != nil {
		return nil, registerError("lock", err, "")
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return nil, registerError("lock", err, "keep the operator's key on a file system with locks")
	}
	r.lock = lock
	text, err := os.ReadFile(r.path)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	switch {
	case err != nil:
		r.close()
		return nil, registerError("read", err, "restore it from a backup: without it revoked nodes would be welcome again")
	case r.Operator != operator:
		r.close()
		return nil, registerError("read", fmt.Errorf("%s is of another key", r.path), "restore the one that belongs to the key from a backup")
	}
	return r, nil
}

func registerError(what string, err error, next string) error {
	return &Error{Op: what + " the operator's register", Err: err, Next: next}
}

func (r *register) close() { r.lock.Close() }

// save writes the register, whole or not at all.
func (r *register) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = replaceFile(r.path, 0o600, append(text, '\n'))
	}
	if err != nil {
		return registerError("write", err, "choose a place for the operator's key where you may write")
	}
	return nil
}

// replaceFile writes a file in place of the one at path, if there is one: readers see the old bytes or the new ones.
func replaceFile(path string, mode fs.FileMode, text []byte) error {
	dir := filepath.Dir(path)
	temp, err := writeTemp(dir, filepath.Base(path), mode, text)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync() // the name too is to outlive a crash
}

func issued(c *secure.Certificate) Issued {
	i := Issued{Serial: fmt.Sprintf("%016x", c.Serial), Name: c.Name, Role: RoleLeaf, Key: c.Subject, Prefixes: []string{}, NotAfter: c.NotAfter}
	if c.Relay {
		i.Role = RoleRelay
	}
	for _, p := range c.Prefixes {
		i.Prefixes = append(i.Prefixes, p.String())
	}
	return i
}

func (r *register) add(i Issued) { r.Issued = append(r.Issued, i) }

// revoke notes that what, a key, a name or a serial number, is taken back. What looks like several counts as the first of them.
func (r *register) revoke(what string) error {
	if key, err := secure.ParsePublicKey(what); err == nil {
		r.revokeKey(key)
		return nil
	}
	found := false
	for _, i := range slices.Clone(r.Issued) {
		if i.Name == what {
			r.revokeKey(i.Key)
			found = true
		}
	}
	if found {
		return nil
	}
	if serial, err := strconv.ParseUint(what, 16, 64); err == nil {
		for k := range r.Issued {
			if i := &r.Issued[k]; i.Serial == fmt.Sprintf("%016x", serial) {
				i.Revoked = true
				return nil
			}
		}
	}
	return errors.New("it is neither the name nor the serial number of a certificate of this operator, nor a key")
}

func (r *register) revokeKey(key PublicKey) {
	if !slices.Contains(r.Keys, key) {
		r.Keys = append(r.Keys, key)
	}
	for k := range r.Issued {
		if r.Issued[k].Key == key {
			r.Issued[k].Revoked = true
		}
	}
}

// serials are the certificates to be in a revocation list of wall: a revoked key stands for all of its own, and what expired a day
// ago has no friend left.
func (r *register) serials(wall int64) (all []uint64) {
	for _, i := range r.Issued {
		if !i.Revoked || i.NotAfter+24*3600 < wall || slices.Contains(r.Keys, i.Key) {
			continue
		}
		if serial, err := strconv.ParseUint(i.Serial, 16, 64); err == nil {
			all = append(all, serial)
		}
	}
	return all
}

// prune forgets certificates that have long expired. Revoked keys stay: who names one without a certificate is to be warned too.
func (r *register) prune(wall int64) {
	r.Issued = slices.DeleteFunc(r.Issued, func(i Issued) bool { return i.NotAfter+keepExpired < wall })
}
