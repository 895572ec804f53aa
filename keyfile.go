package mars

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mars/internal/secure"
)

// keyCredential is the name of the systemd credential that holds the key of a node.
const keyCredential = "mars.key"

// maxSecretFile bounds what is read from a key file, bytes.
const maxSecretFile = 4096

// DefaultKeyPath is where the key of a node is kept unless something else is said: /etc/mars/node.key as root,
// $XDG_CONFIG_HOME/mars/node.key (by default ~/.config/mars/node.key) as another user. The error is of a user without a
// home.
func DefaultKeyPath() (string, error) {
	if os.Geteuid() == 0 {
		return "/etc/mars/node.key", nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", &Error{
			Op: "find the key", Kind: ErrConfig, Err: err,
			Next: "name a key file (node.key in the configuration), or give the key in the environment (MARS_KEY)",
		}
	}
	return filepath.Join(dir, "mars", "node.key"), nil
}

// LoadKey returns the secret key of this node and where it came from: the file at path if path isn't "", else the text
// in the environment variable MARS_KEY, else the systemd credential "mars.key", else the file at DefaultKeyPath. Errors
// never quote a key; errors.Is(err, fs.ErrNotExist) holds when there is none at all.
func LoadKey(path string) (key secure.PrivateKey, from string, err error) {
	if path == "" {
		if text := os.Getenv("MARS_KEY"); text != "" {
			if key, err = secure.ParsePrivateKey(text); err != nil {
				return key, "", keyError("the environment variable MARS_KEY", err)
			}
			return key, "MARS_KEY", nil
		}
		if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
			from = filepath.Join(dir, keyCredential)
			// The service manager grants it to the service's user by an access list, which shows as a right of the group.
			if key, err = readKey(from, 0o007); !errors.Is(err, fs.ErrNotExist) {
				return key, from, err
			}
		}
		if path, err = DefaultKeyPath(); err != nil {
			return key, "", err
		}
	}
	key, err = readKey(path, 0o077)
	return key, path, err
}

// LoadOrCreateKey is LoadKey, but draws a key and writes it to path ("": DefaultKeyPath) when there is none.
func LoadOrCreateKey(path string) (key secure.PrivateKey, from string, created bool, err error) {
	key, from, err = LoadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, from, false, err
	}
	if key, err = secure.NewPrivateKey(rand.Reader); err != nil {
		return key, "", false, err
	}
	switch err = WriteKey(from, key); {
	case errors.Is(err, fs.ErrExist): // another process was quicker
		key, from, err = LoadKey(from)
		return key, from, false, err
	case err != nil:
		return secure.PrivateKey{}, from, false, err
	}
	return key, from, true, nil
}

// WriteKey writes a key to a new file that only its owner may read, whole or not at all. It makes the directory if that is
// missing, and never replaces a file: errors.Is(err, fs.ErrExist) holds then.
func WriteKey(path string, key secure.PrivateKey) error {
	err := writeSecret(path, []byte(key.Text()+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return &Error{
			Op: "write the key", Err: fmt.Errorf("%s: %w", path, fs.ErrExist),
			Next: "choose another file; a key that is gone can't be made again, so none is replaced",
		}
	}
	if err != nil {
		return &Error{
			Op: "write the key", Err: err,
			Next: "choose a file that you may write, or give the key in the environment (MARS_KEY)",
		}
	}
	return nil
}

// readKey reads the key file at path, which nobody may read by the bits of others.
func readKey(path string, others fs.FileMode) (secure.PrivateKey, error) {
	text, err := readSecret(path, others)
	if err != nil {
		return secure.PrivateKey{}, err
	}
	key, err := secure.ParsePrivateKey(string(text))
	if err != nil {
		return secure.PrivateKey{}, keyError(path, err)
	}
	return key, nil
}

func keyError(where string, err error) error {
	return &Error{
		Op: "read the key", Kind: ErrConfig, Err: fmt.Errorf("%s: %w", where, err),
		Next: "it must hold the one line that `mars key new` writes",
	}
}

// readSecret reads a small file that others can neither read nor write.
func readSecret(path string, others fs.FileMode) ([]byte, error) {
	fail := func(next string, format string, args ...any) ([]byte, error) {
		return nil, &Error{Op: "read the key", Kind: ErrConfig, Err: fmt.Errorf(format, args...), Next: next}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not hang
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("make one: mars key new -o "+path, "%w", err)
	case err != nil:
		return fail("let the user of this process read it, and nobody else", "%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fail("", "%w", err)
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fail("name a key file", "%s is no regular file", path)
	case info.Mode().Perm()&others != 0:
		return fail("run: chmod 600 "+path+"; if others could read it, make a new key",
			"%s can be read or written by others (mode %04o)", path, info.Mode().Perm())
	case stat != nil && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fail(fmt.Sprintf("make it yours: chown %d %s", os.Geteuid(), path), "%s belongs to another user (%d)", path, stat.Uid)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err != nil {
		return fail("", "%w", err)
	}
	if len(text) > maxSecretFile {
		return fail("name a key file", "%s is too long for a key file", path)
	}
	return text, nil
}

// writeSecret writes a new file of mode 0600. It appears under its name with all its bytes on disk.
func writeSecret(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	temp, err := writeTemp(dir, filepath.Base(path), 0o600, text)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	return os.Link(temp, path) // unlike a rename it never replaces
}

// writeTemp writes a new file in dir, out to the disk, and returns its path.
func writeTemp(dir, base string, mode fs.FileMode, text []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, "."+base+"-*") // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}
