package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTargetRefusals: what can't work fails before any transfer, and leaves no files behind.
func TestTargetRefusals(t *testing.T) {
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	for name, c := range map[string]struct {
		dest string
		make func(dir string) error
		want error
	}{
		"empty":             {"", nil, ErrIsDirectory},
		"directory":         {"d", func(dir string) error { return os.Mkdir(dir+"/d", 0o755) }, ErrIsDirectory},
		"trailing slash":    {"new/", nil, ErrIsDirectory},
		"no parent":         {"x/y", nil, fs.ErrNotExist},
		"parent is a file":  {"f/y", func(dir string) error { return os.WriteFile(dir+"/f", nil, 0o644) }, syscall.ENOTDIR},
		"pipe":              {"p", func(dir string) error { return syscall.Mkfifo(dir+"/p", 0o644) }, ErrNotRegular},
		"dangling link":     {"l", func(dir string) error { return os.Symlink("nowhere", dir+"/l") }, fs.ErrNotExist},
		"part is a pipe":    {"o", func(dir string) error { return syscall.Mkfifo(dir+"/o"+partSuffix, 0o644) }, ErrNotRegular},
		"part is a link":    {"o", func(dir string) error { return os.Symlink("f", dir+"/o"+partSuffix) }, syscall.ELOOP},
		"journal is a pipe": {"o", func(dir string) error { return syscall.Mkfifo(dir+"/o"+journalSuffix, 0o644) }, ErrNotRegular},
		"journal is a link": {"o", func(dir string) error { return os.Symlink("f", dir+"/o"+journalSuffix) }, syscall.ELOOP},
		"name too long":     {strings.Repeat("n", 300), nil, syscall.ENAMETOOLONG},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.make != nil {
				check(t, c.make(dir))
			}
			dest := c.dest
			if dest != "" {
				dest = dir + "/" + dest // not Join: that would remove the slash
			}
			// What lies beside the destination shows only when it is opened.
			if err := CheckDestination(dest); !errors.Is(err, c.want) && c.dest != "o" && name != "name too long" {
				t.Errorf("CheckDestination: %v, not %v", err, c.want)
			}
			p, err := OpenPartial(dest, id)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, not %v", err, c.want)
			}
			if p != nil {
				t.Error("a Partial with an error")
			}
			if c.make == nil || !strings.HasPrefix(name, "journal") {
				wantMissing(t, dest+journalSuffix)
			}
		})
	}
}

func TestTargetReadOnly(t *testing.T) {
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	t.Run("file system", func(t *testing.T) {
		dir := smallFS(t)
		readOnly(t, dir)
		if _, err := OpenPartial(dir+"/out", id); !errors.Is(err, syscall.EROFS) {
			t.Errorf("new file: %v", err)
		}
		if err := CheckDestination(dir + "/out"); !errors.Is(err, syscall.EROFS) {
			t.Errorf("new file, asked before: %v", err)
		}
	})
	t.Run("permissions", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write anywhere")
		}
		dir := t.TempDir()
		check(t, os.WriteFile(dir+"/out", nil, 0o444))
		if _, err := OpenPartial(dir+"/out", id); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read-only file: %v", err)
		}
		check(t, os.Chmod(dir, 0o555))
		defer os.Chmod(dir, 0o755)
		if _, err := OpenPartial(dir+"/new", id); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read-only directory: %v", err)
		}
	})
}

// TestTargetPermissions: a replaced file's bits are kept, also while its content is still partial; a new file gets what
// the umask leaves.
func TestTargetPermissions(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	for _, c := range []struct{ before, want fs.FileMode }{{0, 0o640}, {0o600, 0o600}, {0o755, 0o755}, {0o666, 0o666}} {
		dest := filepath.Join(t.TempDir(), "out")
		if c.before != 0 {
			check(t, os.WriteFile(dest, []byte("old"), 0o600))
			check(t, os.Chmod(dest, c.before))
		}
		p, err := OpenPartial(dest, id)
		check(t, err)
		check(t, p.WriteChunk(0, data))
		info, err := os.Stat(dest + partSuffix)
		check(t, err)
		if info.Mode() != c.want {
			t.Errorf("%o: the partial file has %o", c.before, info.Mode())
		}
		check(t, p.Finish())
		info, err = os.Stat(dest)
		check(t, err)
		if info.Mode() != c.want {
			t.Errorf("%o: the file has %o", c.before, info.Mode())
		}
		wantFile(t, dest, data)
	}
}

func TestTargetFollowsALink(t *testing.T) {
	dir := t.TempDir()
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	check(t, os.Mkdir(dir+"/real", 0o755))
	write(t, dir+"/real/f", []byte("old"))
	check(t, os.Symlink("real/f", dir+"/link"))
	p, err := OpenPartial(dir+"/link", id)
	check(t, err)
	check(t, p.WriteChunk(0, data))
	check(t, p.Finish())
	wantFile(t, dir+"/real/f", data)
	if target, err := os.Readlink(dir + "/link"); err != nil || target != "real/f" {
		t.Errorf("the link became %q, %v", target, err)
	}
}

// TestTargetLongNames: a destination's name may be as long as the system allows.
func TestTargetLongNames(t *testing.T) {
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	for _, base := range []string{
		strings.Repeat("n", 242), strings.Repeat("n", 243), strings.Repeat("n", 255), strings.Repeat("é", 127),
	} {
		dest := filepath.Join(t.TempDir(), base)
		p, err := OpenPartial(dest, id)
		check(t, err)
		check(t, p.WriteChunk(0, data))
		check(t, p.Finish())
		wantFile(t, dest, data)
	}
	if a, b := shorten(strings.Repeat("n", 250)+"a"), shorten(strings.Repeat("n", 250)+"b"); a == b {
		t.Error("two long names share a partial file")
	}
}
