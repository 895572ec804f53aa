package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mars"
)

func TestLoadKeys(t *testing.T) {
	const text = "# of the backup\n\nbackup 0123456789abcdef\n  other\tfedcba9876543210  \n"
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(keys []Key, err error) {
		t.Helper()
		if err != nil || len(keys) != 2 || keys[0] != (Key{"backup", "0123456789abcdef"}) || keys[1] != (Key{"other", "fedcba9876543210"}) {
			t.Errorf("%v, %v", keys, err)
		}
	}
	check(LoadKeys(path))
	t.Setenv(KeysVariable, text)
	check(LoadKeys(""))
	t.Setenv(KeysVariable, "")
	if keys, err := LoadKeys(""); err != nil || len(keys) != 0 {
		t.Errorf("an empty variable: %v, %v", keys, err)
	}
}

func TestLoadKeysRefuses(t *testing.T) {
	dir := t.TempDir()
	for what, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"readable by others":    {"a 0123456789abcdef", 0o644, "chmod 600"},
		"a short secret":        {"a secret", 0o600, "line 1"},
		"no secret":             {"# x\nalone", 0o600, "line 2"},
		"three words":           {"a 0123456789abcdef b", 0o600, "line 1"},
		"an unfit identifier":   {"a/b 0123456789abcdef", 0o600, "line 1"},
		"nothing":               {"# only words\n", 0o600, "holds no key"},
		"much more than enough": {strings.Repeat("#", maxKeyFile+1), 0o600, "too long"},
	} {
		path := filepath.Join(dir, what)
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKeys(path)
		if !errors.Is(err, mars.ErrConfig) || !strings.Contains(err.Error()+mars.NextStep(err), c.says) {
			t.Errorf("%s: %v; %s", what, err, mars.NextStep(err))
		}
		if err != nil && (strings.Contains(err.Error(), "secret\n") || strings.Contains(err.Error(), "0123456789abcdef")) {
			t.Errorf("%s: the error quotes the secret: %v", what, err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "missing"), dir} {
		if _, err := LoadKeys(path); !errors.Is(err, mars.ErrConfig) || mars.NextStep(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
