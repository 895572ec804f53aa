package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"mars"
)

// KeysVariable is the variable of the environment that holds keys as a key file does.
const KeysVariable = "MARS_GATEWAY_KEYS"

// Key is what a client signs its requests with.
type Key struct{ ID, Secret string }

// leastSecret is how long a secret must be, in characters: who hears a signed request can try secrets at home.
const leastSecret = 16

// maxKeyFile bounds what is read of a key file, bytes.
const maxKeyFile = 64 << 10

// LoadKeys reads the keys in the file at path, or if path is "" those in the environment: a line for each, identifier and secret
// with a space between. Empty lines and those that begin with # don't count. Errors (mars.ErrConfig) never quote a secret.
func LoadKeys(path string) ([]Key, error) {
	if path == "" {
		return parseKeys(KeysVariable, os.Getenv(KeysVariable))
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not hang
	if err != nil {
		next := "let the user of this process read it, and nobody else"
		if errors.Is(err, fs.ErrNotExist) {
			next = "write it: a line with identifier and secret for each key, such as: backup $(openssl rand -hex 20)"
		}
		return nil, keysError(err, next)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, keysError(err, "")
	case !info.Mode().IsRegular():
		return nil, keysError(fmt.Errorf("%s is no regular file", path), "name a file with keys")
	case info.Mode().Perm()&0o077 != 0:
		return nil, keysError(fmt.Errorf("%s can be read or written by others (mode %04o)", path, info.Mode().Perm()),
			"run: chmod 600 "+path+"; if others could read it, make new keys")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err == nil && len(text) > maxKeyFile {
		err = fmt.Errorf("%s is too long for a file with keys", path)
	}
	if err != nil {
		return nil, keysError(err, "")
	}
	keys, err := parseKeys(path, string(text))
	if err == nil && len(keys) == 0 {
		err = keysError(fmt.Errorf("%s holds no key", path), "write a line with identifier and secret for each")
	}
	return keys, err
}

func keysError(err error, next string) error {
	return &mars.Error{Op: "read the keys of the gateway", Kind: mars.ErrConfig, Err: err, Next: next}
}

func parseKeys(where, text string) (keys []Key, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 || len(words[1]) < leastSecret || strings.ContainsAny(words[0], "/,") {
			return nil, keysError(fmt.Errorf("%s: line %d is no key", where, number),
				fmt.Sprintf("write the identifier (without / and ,), a space, and a secret of at least %d characters", leastSecret))
		}
		keys = append(keys, Key{words[0], words[1]})
	}
	return keys, nil
}
