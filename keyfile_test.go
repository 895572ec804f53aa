package mars

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mars/internal/secure"
)

// home gives a test a home without keys, as a user who isn't root has one.
func home(t *testing.T) string {
	t.Helper()
	noEnv(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	return t.TempDir()
}

func TestKeyCreatedOnce(t *testing.T) {
	path := filepath.Join(home(t), "new", "node.key")
	var all sync.Map
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			key, from, created, err := LoadOrCreateKey(path)
			if err != nil || from != path {
				t.Errorf("%q: %v", from, err)
			}
			all.Store(key.Public(), created)
		})
	}
	group.Wait()
	n := 0
	all.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d processes made keys of their own", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	if rest, err := os.ReadDir(filepath.Dir(path)); err != nil || len(rest) != 1 {
		t.Errorf("left behind: %v, %v", rest, err)
	}
	if err := WriteKey(path, secure.PrivateKey{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key was replaced: %v", err)
	}
}

// TestKeyOrder: explicit path, environment, credential.
func TestKeyOrder(t *testing.T) {
	dir := home(t)
	make := func(name string) (secure.PrivateKey, string) {
		path := filepath.Join(dir, name)
		key, _, created, err := LoadOrCreateKey(path)
		if err != nil || !created {
			t.Fatal(err)
		}
		return key, path
	}
	explicit, path := make("a.key")
	variable, _ := make("b.key")
	credential, _ := make(keyCredential)
	is := func(path string, want secure.PrivateKey) {
		t.Helper()
		if got, from, err := LoadKey(path); err != nil || got != want {
			t.Errorf("%v from %s, %v", got, from, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if err := os.Chmod(filepath.Join(dir, keyCredential), 0o440); err != nil {
		t.Fatal(err)
	}
	is("", credential)
	t.Setenv("MARS_KEY", variable.Text())
	is("", variable)
	is(path, explicit)
}

// TestKeyRefused: what is no safe key file is refused with a way out, and no error shows the key.
func TestKeyRefused(t *testing.T) {
	dir := home(t)
	good := filepath.Join(dir, "good.key")
	key, _, _, err := LoadOrCreateKey(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, mode fs.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := key.Text()
	for _, c := range []struct{ path, says, next string }{
		{write("group", 0o640, secret), "read or written by others", "chmod 600"},
		{write("world", 0o604, secret), "read or written by others", "chmod 600"},
		{write("public", 0o600, key.Public().String()), "private key is wanted", "mars key new"},
		{write("typo", 0o600, "AA"+secret[2:]), "typing error", "mars key new"},
		{write("two", 0o600, secret+"\n"+secret), "it is no key", "mars key new"},
		{write("long", 0o600, strings.Repeat(" ", 5000)), "too long", ""},
		{dir, "no regular file", ""},
		{filepath.Join(dir, "none"), "no such file", "mars key new -o"},
	} {
		_, _, err := LoadKey(c.path)
		if err == nil || ExitCode(err) != 2 || !strings.Contains(err.Error(), c.says) || !strings.Contains(NextStep(err), c.next) {
			t.Errorf("%s: %v (exit %d): %s", c.path, err, ExitCode(err), NextStep(err))
		}
		if err != nil && strings.Contains(err.Error()+NextStep(err), secret[4:]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}
