package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mars/internal/wire"
)

func openDest(t testing.TB) (*Dest, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	check(t, CheckDest(dir))
	wantMissing(t, dir)
	d, err := OpenDest(dir)
	check(t, err)
	t.Cleanup(func() { check(t, d.Close()) })
	return d, dir
}

func TestOpenDest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", nil)
	for path, want := range map[string]error{
		dir: nil, dir + "/": nil, dir + "/new": nil, dir + "/new2/": nil,
		dir + "/file": syscall.ENOTDIR, dir + "/file/x": syscall.ENOTDIR, dir + "/no/where": fs.ErrNotExist,
	} {
		if err := CheckDest(path); !errors.Is(err, want) {
			t.Errorf("check %s: %v", path, err)
		}
		d, err := OpenDest(path)
		if !errors.Is(err, want) {
			t.Errorf("open %s: %v", path, err)
		}
		if err == nil {
			check(t, d.Close())
		}
	}
}

// TestPut: a file appears whole, takes the permissions of the one that it replaces, and leaves nothing else.
func TestPut(t *testing.T) {
	d, dir := openDest(t)
	check(t, d.Mkdir("a/b c"))
	check(t, d.Mkdir("a/b c"))
	check(t, d.Mkdir(""))
	long := strings.Repeat("n", 255)
	for i, file := range []string{"x", "a/b c/-rf", "a/\xff\n", long} {
		check(t, d.Put(file, content(i, 100*i), 0))
		wantFile(t, filepath.Join(dir, file), content(i, 100*i))
	}
	check(t, os.Chmod(dir+"/x", 0o600))
	write(t, dir+"/x"+partSuffix, []byte("longer than what comes now"))
	write(t, dir+"/x"+journalSuffix, []byte("of another version"))
	check(t, d.Put("x", []byte("new"), 0))
	wantFile(t, dir+"/x", []byte("new"))
	if info, err := os.Stat(dir + "/x"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	check(t, os.Symlink("x", dir+"/link"))
	check(t, d.Put("link", []byte("own"), 0))
	wantFile(t, dir+"/x", []byte("new"))
	wantFile(t, dir+"/link", []byte("own"))
	check(t, d.Sync())
	left, err := filepath.Glob(dir + "/*.mars-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestPutFails(t *testing.T) {
	d, dir := openDest(t)
	check(t, d.Mkdir("d"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	write(t, dir+"/file", nil)
	check(t, os.Symlink(t.TempDir(), dir+"/out"))
	check(t, os.Symlink("file", dir+"/planted"+partSuffix))
	for file, want := range map[string]error{
		"d": ErrIsDirectory, "pipe": ErrNotRegular, "file/x": syscall.ENOTDIR, "no/x": fs.ErrNotExist,
		"out/x": nil, "../x": nil, "/x": nil, "x" + partSuffix: nil, "x" + journalSuffix: nil, "planted": syscall.ELOOP, "": nil, ".": nil,
	} {
		err := d.Put(file, []byte("content"), 0)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", file, err, want)
		}
	}
	wantFile(t, dir+"/file", nil)
	if err := d.Mkdir("file/d"); err == nil {
		t.Error("a directory below a file")
	}
	busy, err := (&Dest{root: d.root}).find("busy")
	check(t, err)
	defer busy.close()
	f, err := busy.openLocked(busy.part(), 0o600)
	check(t, err)
	defer f.Close()
	if err := d.Put("busy", nil, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("another writer: %v", err)
	}
	id, _ := identityOf(t, "/o", content(1, 10), 0)
	if _, err := d.Partial("busy", id); !errors.Is(err, ErrLocked) {
		t.Errorf("a large one beside it: %v", err)
	}
}

func TestCheckElement(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "/", "a/b", "a\x00"} {
		if CheckElement([]byte(bad)) == nil {
			t.Errorf("%q may become a path", bad)
		}
	}
	for _, good := range []string{"a", "...", ".a", "-", " ", "\n", "\xff", `\`} {
		if err := CheckElement([]byte(good)); err != nil {
			t.Error(err)
		}
	}
}

func TestHolds(t *testing.T) {
	d, dir := openDest(t)
	ctx := context.Background()
	for _, size := range []int{0, 1, 8000, 3<<20 + 5} {
		data := content(size, size)
		m := manifestOf(data, 0)
		write(t, dir+"/f", data)
		if !d.Holds(ctx, "f", m.Layout, m.Digest()) || !Holds(ctx, dir+"/f", m.Layout, m.Digest()) {
			t.Errorf("%d bytes: not recognised", size)
		}
		if small := manifestOf(data, 100); size < 10000 && !d.Holds(ctx, "f", small.Layout, small.Digest()) {
			t.Errorf("%d bytes in chunks of 100: not recognised", size)
		}
		sum, err := Sum256(dir + "/f")
		if err != nil || sum != sha256.Sum256(data) {
			t.Errorf("%x, %v", sum, err)
		}
		write(t, dir+"/f", append(data, 0))
		if d.Holds(ctx, "f", m.Layout, m.Digest()) {
			t.Error("one byte too many passed")
		}
		if size > 0 {
			data[size-1]++
			write(t, dir+"/f", data)
			if d.Holds(ctx, "f", m.Layout, m.Digest()) || Holds(ctx, dir+"/f", m.Layout, m.Digest()) {
				t.Error("a wrong byte passed")
			}
		}
	}
	empty := manifestOf(nil, 0)
	for _, file := range []string{"missing", ".", "../new"} {
		if d.Holds(ctx, file, empty.Layout, empty.Digest()) {
			t.Errorf("%s holds nothing", file)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	data := content(1, 3<<20)
	m := manifestOf(data, 0)
	write(t, dir+"/f", data)
	if d.Holds(ended, "f", m.Layout, m.Digest()) {
		t.Error("an interruption didn't end it")
	}
}

// TestTidy removes what a kill at the very end left, but not under the hands of another fetch.
func TestTidy(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "f")
	check(t, Tidy(dest))
	write(t, dest+journalSuffix, []byte("x"))
	check(t, Tidy(dest))
	wantMissing(t, dest+journalSuffix)
	id, _ := identityOf(t, "/o", content(1, 100), 10)
	p, err := OpenPartial(dest, id)
	check(t, err)
	check(t, Tidy(dest))
	for i := range id.Chunks() {
		check(t, p.WriteChunk(i, chunkOf(content(1, 100), id.Layout, i)))
	}
	check(t, p.Finish())
	wantFile(t, dest, content(1, 100))
}

// TestHoles: zero chunks of a new file take no room; where something else was before, zeros are written.
func TestHoles(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "f")
	data := make([]byte, 1<<20)
	copy(data[8000*3:], "not zero")
	id, m := identityOf(t, "/o", data, 0)
	fill := func(p *Partial, least int64) {
		for i := least; i < id.Chunks(); i++ {
			check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
		}
	}
	p, err := OpenPartial(dest, id)
	check(t, err)
	fill(p, 0)
	sum, err := p.Sum256()
	if err != nil || sum != sha256.Sum256(data) {
		t.Errorf("%x, %v", sum, err)
	}
	var st syscall.Stat_t
	check(t, syscall.Fstat(int(p.part.Fd()), &st))
	if st.Blocks*512 > 1<<17 {
		t.Errorf("%d bytes on disk", st.Blocks*512)
	}
	check(t, p.Flush())
	p.abandon()
	check(t, overwrite(dest+partSuffix, 8000*10, "rotten"))
	p, err = OpenPartial(dest, id)
	check(t, err)
	for i := range id.Chunks() {
		good, err := p.Verify(i, m.ChunkDigest(i))
		check(t, err)
		if good != (i != 10) {
			t.Errorf("chunk %d: %v", i, good)
		}
	}
	check(t, p.WriteChunk(10, chunkOf(data, id.Layout, 10)))
	check(t, p.Finish())
	wantFile(t, dest, data)
}

func TestDiscard(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "f")
	id, _ := identityOf(t, "/o", content(1, 100), 10)
	p, err := OpenPartial(dest, id)
	check(t, err)
	check(t, p.WriteChunk(0, content(1, 10)))
	check(t, p.Discard())
	check(t, p.Discard())
	wantMissing(t, dest, dest+partSuffix, dest+journalSuffix)
}

func TestShare(t *testing.T) {
	if n := int(descriptors()); Share(1, 1) != 1 || Share(1<<30, n+1) != 1 || n < 1<<20 && Share(1<<30, 1) != n {
		t.Errorf("of %d descriptors: %s", n, fmt.Sprint(Share(1, 1), Share(1<<30, n+1), Share(1<<30, 1)))
	}
}

// TestList: what Lookup finds, in order, and directories; digests of what was hashed.
func TestList(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	check(t, os.MkdirAll(dir+"/d/e", 0o755))
	for _, f := range []string{"b", "a\n", "\xff", "d/x", "p" + partSuffix, "p" + journalSuffix} {
		write(t, filepath.Join(dir, f), content(1, 10))
	}
	check(t, os.Symlink("b", dir+"/to file"))
	check(t, os.Symlink("d", dir+"/to dir"))
	check(t, os.Symlink("/etc", dir+"/outside"))
	check(t, os.Symlink("nowhere", dir+"/broken"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	hashed := lookup(t, tree, "b")
	list := func(elements ...string) (names []string) {
		t.Helper()
		v, err := tree.List(suffixOf(elements...))
		check(t, err)
		var l wire.Listing
		for i := range v.Manifest.Chunks() {
			l, err = v.ReadChunk(l, i)
			check(t, err)
		}
		check(t, l.Check())
		for {
			e, rest, ok, _ := l.Next()
			if !ok {
				return names
			}
			if e.Directory == (e.Size != 0) || e.MTime == 0 || e.HasDigest != (string(e.Name) == "b") || e.HasDigest && e.Digest != hashed.Manifest.Digest() {
				t.Errorf("%+v", e)
			}
			names, l = append(names, string(e.Name)), rest
		}
	}
	if got := fmt.Sprintf("%q", list()); got != `["a\n" "b" "d" "to file" "\xff"]` {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprintf("%q", list("d")); got != `["e" "x"]` {
		t.Errorf("%s", got)
	}
	if got := list("d", "e"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, missing := range [][]string{{"b"}, {"no"}, {"outside"}, {".."}, {"d", "x"}, {strings.Repeat("n", 300)}} {
		if _, err := tree.List(suffixOf(missing...)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", missing, err)
		}
	}
}

// TestListLarge: a listing of more than one chunk.
func TestListLarge(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	for i := range 500 {
		write(t, fmt.Sprintf("%s/file number %d", dir, i), nil)
	}
	v, err := tree.List(nil)
	check(t, err)
	if v.Manifest.Chunks() < 2 {
		t.Fatal("one chunk")
	}
	var l []byte
	for i := range v.Manifest.Chunks() {
		l, err = v.ReadChunk(l, i)
		check(t, err)
	}
	check(t, wire.Listing(l).Check())
	if _, err := v.ReadChunk(nil, v.Manifest.Chunks()); err == nil {
		t.Error("a chunk beyond the end")
	}
	check(t, v.Close())
}
