package disk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mars/internal/wire"
)

func openTree(t testing.TB, opts TreeOptions) (*Tree, string) {
	t.Helper()
	dir := t.TempDir()
	tree, err := OpenTree(dir, opts)
	check(t, err)
	t.Cleanup(func() { check(t, tree.Close()) })
	return tree, dir
}

// suffixOf makes a name of path elements as they are.
func suffixOf(elements ...string) (n wire.Name) {
	for _, e := range elements {
		n = n.Append(wire.TypeGeneric, []byte(e))
	}
	return n
}

func lookup(t testing.TB, tree *Tree, elements ...string) *Version {
	t.Helper()
	v, err := tree.Lookup(suffixOf(elements...))
	check(t, err)
	return v
}

// wantChunks reads every chunk of v and compares.
func wantChunks(t testing.TB, v *Version, data []byte) {
	t.Helper()
	var got []byte
	for i := range v.Manifest.Chunks() {
		var err error
		if got, err = v.ReadChunk(got, i); err != nil {
			t.Fatalf("chunk %d: %v", i, err)
		}
	}
	if !bytes.Equal(got, data) {
		t.Fatalf("%d bytes that are not the %d wanted", len(got), len(data))
	}
}

func TestTreeServesFiles(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{ChunkSize: 100})
	check(t, os.MkdirAll(dir+"/a/b", 0o755))
	for i, name := range []string{
		"plain", "with space", "caf\u00e9", "100%25", "%2e%2e", "-rf", "new\nline", "..hidden", "...", "back\\slash", "\xff\xfe", "32=metadata",
		"a/b/deep", strings.Repeat("n", 255),
	} {
		data := content(i, 99*i)
		write(t, dir+"/"+name, data)
		v := lookup(t, tree, strings.Split(name, "/")...)
		if want := manifestOf(data, 100).Digest(); v.Manifest.Digest() != want {
			t.Errorf("%q: another digest", name)
		}
		wantChunks(t, v, data)
		if again := lookup(t, tree, strings.Split(name, "/")...); again != v {
			t.Errorf("%q: another version of an unchanged file", name)
		}
		for _, i := range []int64{-1, v.Manifest.Chunks()} {
			if _, err := v.ReadChunk(nil, i); err == nil {
				t.Errorf("%q: chunk %d was read", name, i)
			}
		}
	}
}

// TestTreeLookupByURI: what a person types arrives as the bytes of the file's name.
func TestTreeLookupByURI(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	for uri, name := range map[string]string{
		"/with%20space": "with space", "/caf%C3%A9": "caf\u00e9", "/100%2525": "100%25", "/.../": "", "/....": ".", "/.....": "..", "/......": "...",
	} {
		if strings.Trim(name, ".") != "" || name == "..." {
			write(t, filepath.Join(dir, name), []byte(name))
		}
		n, err := wire.ParseName(uri)
		if err != nil {
			continue // an empty component or an alias that the codec refuses
		}
		v, err := tree.Lookup(n)
		switch {
		case strings.Trim(name, ".") == "" && name != "...":
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", uri, err)
			}
		case err != nil:
			t.Errorf("%s: %v", uri, err)
		default:
			wantChunks(t, v, []byte(name))
		}
	}
}

func TestTreeRefusals(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	outside := t.TempDir()
	write(t, outside+"/secret", []byte("secret"))
	write(t, dir+"/f", []byte("f"))
	check(t, os.MkdirAll(dir+"/d/e", 0o755))
	check(t, os.Symlink(outside+"/secret", dir+"/absolute"))
	check(t, os.Symlink("../"+filepath.Base(outside)+"/secret", dir+"/relative"))
	check(t, os.Symlink(outside, dir+"/dir"))
	check(t, os.Symlink("nowhere", dir+"/dangling"))
	check(t, os.Symlink("loop", dir+"/loop"))
	check(t, os.Symlink("../f", dir+"/d/inside"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o644))
	for _, suffix := range []string{partSuffix, journalSuffix, PlainSuffix} {
		write(t, dir+"/f"+suffix, []byte("half"))
	}
	for name, c := range map[string]struct {
		suffix wire.Name
		want   error
	}{
		"the tree":       {nil, ErrIsDirectory},
		"directory":      {suffixOf("d"), ErrIsDirectory},
		"missing":        {suffixOf("missing"), ErrNotFound},
		"missing below":  {suffixOf("missing", "x"), fs.ErrNotExist},
		"below a file":   {suffixOf("f", "x"), ErrNotFound},
		"empty":          {suffixOf("d", ""), ErrNotFound},
		"dot":            {suffixOf(".", "f"), ErrNotFound},
		"dot dot":        {suffixOf("d", "..", "f"), ErrNotFound},
		"escape":         {suffixOf("..", filepath.Base(outside), "secret"), ErrNotFound},
		"slash":          {suffixOf("d/../f"), ErrNotFound},
		"absolute path":  {suffixOf(outside + "/secret"), ErrNotFound},
		"NUL":            {suffixOf("f\x00"), ErrNotFound},
		"keyword":        {suffixOf().Append(wire.TypeKeyword, []byte("f")), ErrNotFound},
		"version":        {suffixOf("f").AppendNumber(wire.TypeVersion, 1), ErrNotFound},
		"too long":       {suffixOf(strings.Repeat("n", 256)), ErrNotFound},
		"link out":       {suffixOf("absolute"), ErrNotFound},
		"relative out":   {suffixOf("relative"), ErrNotFound},
		"through a link": {suffixOf("dir", "secret"), ErrNotFound},
		"dangling":       {suffixOf("dangling"), ErrNotFound},
		"loop":           {suffixOf("loop"), ErrNotFound},
		"pipe":           {suffixOf("pipe"), ErrNotRegular},
		"partial file":   {suffixOf("f" + partSuffix), ErrNotFound},
		"journal":        {suffixOf("f" + journalSuffix), ErrNotFound},
		"half plain":     {suffixOf("f" + PlainSuffix), ErrNotFound},
	} {
		v, err := tree.Lookup(c.suffix)
		if v != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", name, err, c.want)
		}
	}
	wantChunks(t, lookup(t, tree, "d", "inside"), []byte("f"))
	if os.Geteuid() != 0 {
		check(t, os.Chmod(dir+"/f", 0))
		if _, err := tree.Lookup(suffixOf("f")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("unreadable: %v", err)
		}
	}
	if _, err := OpenTree(dir+"/f", TreeOptions{}); err == nil {
		t.Error("a file was opened as a tree")
	}
}

// TestVersionChanges changes a file in the ways that people and programs do.
func TestVersionChanges(t *testing.T) {
	old := content(1, 1000)
	changed := append([]byte{old[0] ^ 1}, old[1:]...) // chunk 0 differs, the rest doesn't
	for name, c := range map[string]struct {
		change func(path string) error
		now    []byte // nil: no file
		same   bool   // the version is the same *Version
		lives  bool   // the old version can be read
	}{
		"edited":      {func(p string) error { return overwrite(p, 0, string(changed[:1])) }, changed, false, false},
		"appended":    {func(p string) error { return appendTo(p, "x") }, append(bytes.Clone(old), 'x'), false, false},
		"truncated":   {func(p string) error { return os.Truncate(p, 10) }, old[:10], false, false},
		"emptied":     {func(p string) error { return os.Truncate(p, 0) }, nil, false, false},
		"replaced":    {func(p string) error { return replace(p, changed) }, changed, false, true},
		"same again":  {func(p string) error { return replace(p, old) }, old, true, true},
		"removed":     {os.Remove, nil, false, true},
		"chmod":       {func(p string) error { return os.Chmod(p, 0o600) }, old, true, true},
		"linked":      {func(p string) error { return os.Link(p, p+"2") }, old, true, true},
		"touched":     {func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1e9, 0)) }, old, true, true},
		"mtime faked": {func(p string) error { return editWithOldTime(p, changed[:1]) }, changed, false, false},
	} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s closed=%v", name, closed), func(t *testing.T) {
				tree, dir := openTree(t, TreeOptions{ChunkSize: 100})
				write(t, dir+"/f", old)
				v := lookup(t, tree, "f")
				if closed {
					check(t, v.Close())
				}
				check(t, c.change(dir+"/f"))
				now := c.now
				if name == "emptied" {
					now = []byte{}
				}
				if name == "touched" {
					// To set mtime alone makes a Version doubtful until the next Lookup has hashed the file.
					if _, err := v.ReadChunk(nil, 0); !errors.Is(err, ErrGone) {
						t.Errorf("before the next look: %v", err)
					}
					lookup(t, tree, "f")
				}
				lives := c.lives && (!closed || c.same && name != "same again")
				if _, err := v.ReadChunk(nil, 0); lives && err != nil || !lives && !errors.Is(err, ErrGone) {
					t.Errorf("the old version: %v", err)
				}
				current, err := tree.Lookup(suffixOf("f"))
				if now == nil {
					if !errors.Is(err, ErrNotFound) {
						t.Errorf("the new version: %v", err)
					}
					return
				}
				check(t, err)
				if (current == v) != c.same {
					t.Errorf("the same version: %v", current == v)
				}
				wantChunks(t, current, now)
				if lives && !closed && !c.same {
					wantChunks(t, v, old)
				}
			})
		}
	}
}

func appendTo(path, text string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return overwrite(path, info.Size(), text)
}

// replace does what editors and Finish do.
func replace(path string, data []byte) error {
	return errors.Join(os.WriteFile(path+".new", data, 0o644), os.Rename(path+".new", path))
}

// editWithOldTime hides an edit from whoever looks at mtime alone.
func editWithOldTime(path string, data []byte) error {
	info, err := os.Stat(path)
	return errors.Join(err, overwrite(path, 0, string(data)), os.Chtimes(path, time.Time{}, info.ModTime()))
}

// TestVersionRapidEdits edits a file right after it was hashed, within one tick of the clock that stamps files, many
// times: no edit may hide behind an equal time.
func TestVersionRapidEdits(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{ChunkSize: 100})
	write(t, dir+"/f", []byte("0000"))
	for i := range 30 {
		v := lookup(t, tree, "f")
		text := fmt.Sprintf("%04d", i+1)
		check(t, overwrite(dir+"/f", 0, text))
		if _, err := v.ReadChunk(nil, 0); !errors.Is(err, ErrGone) {
			t.Fatalf("edit %d: the old version gives %v", i, err)
		}
		wantChunks(t, lookup(t, tree, "f"), []byte(text))
	}
}

// TestTreeBusy changes the file every time that it is hashed.
func TestTreeBusy(t *testing.T) {
	var path string
	edits := 0
	tree, dir := openTree(t, TreeOptions{Progress: func(_ string, done, _ int64) {
		if done == 0 && edits < 4 { // the file grows while it is read
			edits++
			if err := appendTo(path, "x"); err != nil {
				t.Error(err)
			}
		}
	}})
	path = dir + "/f"
	write(t, path, []byte("f"))
	if _, err := tree.Lookup(suffixOf("f")); !errors.Is(err, ErrBusy) || edits != hashTries {
		t.Fatalf("%v after %d edits", err, edits)
	}
	wantChunks(t, lookup(t, tree, "f"), []byte("fxxxx")) // one edit was left: the second try succeeds
}

// TestTreeHashesOnce: many Lookups of one file at once hash it once, and all get the same version.
func TestTreeHashesOnce(t *testing.T) {
	var starts atomic.Int32
	release := make(chan struct{})
	tree, dir := openTree(t, TreeOptions{Progress: func(_ string, done, _ int64) {
		if done == 0 {
			starts.Add(1)
			<-release
		}
	}})
	data := content(1, 3<<20)
	write(t, dir+"/f", data)
	var g sync.WaitGroup
	versions := make([]*Version, 20)
	for i := range versions {
		g.Go(func() {
			v, err := tree.Lookup(suffixOf("f"))
			if err != nil {
				t.Error(err)
			}
			versions[i] = v
		})
	}
	close(release)
	g.Wait()
	if starts.Load() != 1 {
		t.Errorf("hashed %d times", starts.Load())
	}
	for _, v := range versions {
		if v != versions[0] {
			t.Error("different versions")
		}
	}
	wantChunks(t, versions[0], data)
}

// TestTreeHashesTwoAtOnce: a third file waits until one of two is done.
func TestTreeHashesTwoAtOnce(t *testing.T) {
	started, release := make(chan string, 9), make(chan struct{})
	var running, most atomic.Int32
	tree, dir := openTree(t, TreeOptions{Progress: func(path string, done, _ int64) {
		if done > 0 {
			running.Add(-1)
			return
		}
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		started <- path
		<-release
	}})
	var g sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, dir+"/"+name, []byte(name))
		g.Go(func() {
			if _, err := tree.Lookup(suffixOf(name)); err != nil {
				t.Error(err)
			}
		})
	}
	<-started
	<-started // two run; were there no limit, two more could start here
	for range 4 {
		release <- struct{}{}
	}
	g.Wait()
	if most.Load() != 2 {
		t.Errorf("%d files were hashed at once", most.Load())
	}
}

// TestTreeBoundsDescriptors looks up and reads more files than may be open.
func TestTreeBoundsDescriptors(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{MaxOpen: 4})
	var versions []*Version
	for i := range 10 {
		write(t, fmt.Sprintf("%s/%d", dir, i), content(i, 100))
		versions = append(versions, lookup(t, tree, fmt.Sprint(i)))
	}
	for range 2 {
		for i, v := range versions {
			wantChunks(t, v, content(i, 100))
			wantChunks(t, versions[0], content(0, 100)) // always in use: never evicted
			if n := len(tree.files); n > 4 {
				t.Fatalf("%d files are open", n)
			}
			if i > 0 && versions[0].file == nil {
				t.Fatal("the file in use was closed")
			}
		}
	}
}

// TestTreeConcurrently reads, edits, evicts and closes at once; every chunk that is read must be of its version.
func TestTreeConcurrently(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{ChunkSize: 100, MaxOpen: 2})
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		write(t, dir+"/"+name, content(i, 500))
	}
	var g sync.WaitGroup
	for w := range 4 {
		g.Go(func() {
			for i := range 40 {
				name := names[(w+i)%len(names)]
				if w == 0 && i%4 == 0 {
					change := func(path string) error { return replace(path, content(i, 500)) }
					if i%8 == 0 {
						change = func(path string) error { return overwrite(path, 150, "edited in place") }
					}
					if err := change(dir + "/" + name); err != nil {
						t.Error(err)
					}
				}
				v, err := tree.Lookup(suffixOf(name))
				if errors.Is(err, ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for c := range v.Manifest.Chunks() {
					b, err := v.ReadChunk(nil, c)
					if err != nil && !errors.Is(err, ErrGone) {
						t.Error(err)
					}
					if err == nil && sha256.Sum256(b) != v.Manifest.ChunkDigest(c) {
						t.Errorf("chunk %d of %q is of another version", c, name)
					}
				}
				if i%8 == 0 {
					v.Close()
				}
			}
		})
	}
	g.Wait()
}

// TestTreeClose: Close ends a hash in progress, and nothing works afterwards.
func TestTreeClose(t *testing.T) {
	var tree *Tree
	stop := make(chan struct{})
	tree, dir := openTree(t, TreeOptions{Progress: func(path string, done, _ int64) {
		if path == "big" && done == 0 {
			close(stop)
		}
	}})
	write(t, dir+"/f", []byte("f"))
	write(t, dir+"/big", make([]byte, 64<<20))
	v := lookup(t, tree, "f")
	failed := make(chan error)
	go func() {
		_, err := tree.Lookup(suffixOf("big"))
		failed <- err
	}()
	<-stop
	check(t, tree.Close())
	if err := <-failed; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the hash in progress: %v", err)
	}
	if _, err := tree.Lookup(suffixOf("f")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Lookup: %v", err)
	}
	if _, err := v.ReadChunk(nil, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadChunk: %v", err)
	}
	if len(tree.files) != 0 {
		t.Errorf("%d files are open", len(tree.files))
	}
}

func BenchmarkReadChunk(b *testing.B) {
	tree, dir := openTree(b, TreeOptions{})
	write(b, dir+"/f", content(1, 64<<20))
	v := lookup(b, tree, "f")
	buf := make([]byte, 0, wire.ChunkSize)
	b.SetBytes(wire.ChunkSize)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := v.ReadChunk(buf, int64(i)%(v.Manifest.Chunks()-1)); err != nil {
			b.Fatal(err)
		}
	}
}
