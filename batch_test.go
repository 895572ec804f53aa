package mars

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mars/internal/disk"
	"mars/internal/wire"
)

// nasty are names that have hurt somebody.
var nasty = []string{
	"sp ace", "Grüße", "日本", "%41", "-rf", "--", "new\nline", `"q"`, "it's", "#1", `back\slash`, "=e", "...", "..a", "v=7",
	"\x1b[2J", "\xff\xfe", "a.mars", "32=listing", strings.Repeat("n", 255),
}

// forest writes n files of 0…most bytes below dir, in several directories with nasty names, and some directories that are
// empty.
func forest(t testing.TB, dir string, n, most int) (size int64) {
	t.Helper()
	rng := mrand.New(mrand.NewPCG(1, 2))
	sizes := []int{0, 1, 100, most / 20, most / 5, most / 2, most}
	for i := range n {
		d := filepath.Join(dir, nasty[i%7], nasty[i/7%3])
		length := sizes[i%len(sizes)]
		if i%2 == 1 {
			length = rng.IntN(most + 1)
		}
		content := make([]byte, length)
		rand.Read(content)
		name := nasty[i%len(nasty)]
		if i >= len(nasty) {
			name = fmt.Sprintf("%.200s %d", name, i)
		}
		err := errors.Join(os.MkdirAll(d, 0o777), os.WriteFile(filepath.Join(d, name), content, 0o666))
		if err != nil {
			t.Fatal(err)
		}
		size += int64(length)
	}
	for _, d := range []string{"empty", "empty too/and empty"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return size
}

// tree reads all that is below dir: contents by path, directories with a slash behind them.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if d.IsDir() {
			all[rel+"/"] = ""
			return err
		}
		if d.Type() == fs.ModeSymlink {
			all[rel], err = os.Readlink(path)
			return err
		}
		content, err := os.ReadFile(path)
		all[rel] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameTree compares two directories.
func sameTree(t testing.TB, got, want string) {
	t.Helper()
	g, w := tree(t, got), tree(t, want)
	for path, content := range w {
		if have, ok := g[path]; !ok || have != content {
			t.Errorf("%q: %d bytes (there: %v), want %d", path, len(have), ok, len(content))
		}
		delete(g, path)
	}
	for path := range g {
		t.Errorf("%q is too much", path)
	}
}

// serveDir serves dir as /site and returns a node that reaches it.
func serveDir(t *testing.T, dir string) *Node {
	t.Helper()
	noLeaks(t)
	p, _ := start(t, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	n, _ := consumerVia(t, p.Addrs()[0])
	return n
}

// TestFetchAll: directories with all kinds of names and sizes arrive as they are; a second time nothing is fetched.
func TestFetchAll(t *testing.T) {
	src := t.TempDir()
	forest(t, src, 150, 100_000)
	large := random(t, filepath.Join(src, "large"), 2_000_000)
	n := serveDir(t, src)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dest := filepath.Join(t.TempDir(), "new")
	items := 0
	o := BatchOptions{Names: []string{"/site/"}, Dir: dest, Flat: true, Item: func(i Item) { items++ }}
	sum, err := n.FetchAll(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, dest, src)
	if sum.Files != (Files{Known: 151, Done: 151}) || sum.Bytes != sum.Size || sum.Resumed != 0 || items < 151 {
		t.Errorf("%+v, %d items", sum, items)
	}

	if err := os.Truncate(filepath.Join(dest, "large"), 1_999_999); err != nil {
		t.Fatal(err)
	}
	if sum, err = n.FetchAll(ctx, o); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(dest, "large"), large)
	if sum.Files != (Files{Known: 151, Done: 151, Present: 150}) || sum.Resumed != sum.Size-2_000_000 {
		t.Errorf("%+v", sum)
	}
	o.Fresh = true
	if sum, err = n.FetchAll(ctx, o); err != nil || sum.Files.Present != 0 || sum.Resumed != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	sameTree(t, dest, src)
}

// TestTimesAreKept: files get the times of their last change from the producer, by which they are known to be unchanged; who
// doesn't trust them has them fetched again.
func TestTimesAreKept(t *testing.T) {
	src := t.TempDir()
	then := time.Unix(1_234_567_890, 123_456_789)
	for name, size := range map[string]int{"small": 100, "large": smallFile + 1} {
		random(t, filepath.Join(src, name), size)
		if err := os.Chtimes(filepath.Join(src, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	n := serveDir(t, src)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "dir")
	all := BatchOptions{Names: []string{"/site/"}, Dir: dir, Flat: true}
	if _, err := n.FetchAll(ctx, all); err != nil {
		t.Fatal(err)
	}
	one := FetchOptions{Name: "/site/small", File: filepath.Join(t.TempDir(), "one")}
	if _, err := n.Fetch(ctx, one); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "small"), filepath.Join(dir, "large"), one.File} {
		if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(then) {
			t.Fatalf("%s: %v, %v", file, info.ModTime(), err)
		}
		other := bytes.Repeat([]byte("x"), 100)
		if strings.HasSuffix(file, "large") {
			continue
		}
		if err := errors.Join(os.WriteFile(file, other, 0o666), os.Chtimes(file, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := n.FetchAll(ctx, all); err != nil || sum.Files.Present != 2 {
		t.Errorf("the files' times don't count: %+v, %v", sum, err)
	}
	if res, err := n.Fetch(ctx, one); err != nil || !res.Present {
		t.Errorf("the file's time doesn't count: %+v, %v", res, err)
	}
	content, err := os.ReadFile(filepath.Join(src, "small"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	one.SHA256 = &sum // nothing but the bytes counts
	if _, err := n.Fetch(ctx, one); err != nil {
		t.Error(err)
	}
	want(t, one.File, content)
	all.Fresh = true
	if _, err := n.FetchAll(ctx, all); err != nil {
		t.Error(err)
	}
	sameTree(t, dir, src)
}

// TestFetchAllFails: what fails doesn't hold up the others, and the gravest failure is the batch's.
func TestFetchAllFails(t *testing.T) {
	src := t.TempDir()
	forest(t, filepath.Join(src, "dir"), 20, 1000)
	random(t, filepath.Join(src, "a"), 10)
	n := serveDir(t, src)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dest := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dest, "a/b"), 0o777); err != nil {
		t.Fatal(err)
	}
	failed := map[string]error{}
	sum, err := n.FetchAll(ctx, BatchOptions{
		Names: []string{"/site/a", "/site/missing", "/site/no dir/", "/site/dir/"}, Dir: dest,
		Item: func(i Item) {
			if i.Err != nil {
				failed[i.Name] = i.Err
			}
		},
	})
	if !errors.Is(err, ErrNotFound) || ExitCode(err) != 3 || !strings.Contains(err.Error(), "3 of ") {
		t.Errorf("%v", err)
	}
	if len(failed) != 3 || !errors.Is(failed["/site/a"], disk.ErrIsDirectory) || !errors.Is(failed["/site/missing"], ErrNotFound) || !errors.Is(failed["/site/no%20dir"], ErrNotFound) {
		t.Errorf("%v", failed)
	}
	if sum.Files.Failed != 3 || sum.Files.Done != 20 {
		t.Errorf("%+v", sum)
	}
	sameTree(t, filepath.Join(dest, "dir"), filepath.Join(src, "dir"))
}

// TestFetchAllInterrupted: an interruption loses nothing of large files and leaves no part of small ones.
func TestFetchAllInterrupted(t *testing.T) {
	src := t.TempDir()
	forest(t, src, 40, 10_000)
	random(t, filepath.Join(src, "large"), 8_000_000)
	n := serveDir(t, src)
	if err := n.LimitRate(8 * 4_000_000); err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := BatchOptions{Names: []string{"/site/"}, Dir: dest, Flat: true, Progress: func(p Progress) {
		if p.Bytes > 2_000_000 {
			cancel()
		}
	}}
	if _, err := n.FetchAll(ctx, o); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.LimitRate(0); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	sum, err := n.FetchAll(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Resumed == 0 {
		t.Error("nothing was resumed")
	}
	sameTree(t, dest, src)
}

// TestFetchAllLook: a dry run writes nothing and tells every name and size.
func TestFetchAllLook(t *testing.T) {
	src := t.TempDir()
	size := forest(t, src, 30, 1000)
	n := serveDir(t, src)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	total := int64(0)
	sum, err := n.FetchAll(ctx, BatchOptions{Names: []string{"/site/"}, Flat: true, Look: true, Item: func(i Item) { total += i.Size }})
	if err != nil || total != size || sum.Size != size || sum.Bytes != 0 || sum.Files.Done != 30 {
		t.Errorf("%+v, %v, %d bytes, want %d", sum, err, total, size)
	}
}

// TestHostileListing: a listing whose names would lead elsewhere costs these names and nothing more, and nothing appears
// outside of the destination. The producer is ours, with a listing that no directory can have.
func TestHostileListing(t *testing.T) {
	base := t.TempDir()
	dest := filepath.Join(base, "dest")
	outside := filepath.Join(base, "outside")
	if err := errors.Join(os.Mkdir(dest, 0o777), os.Mkdir(outside, 0o777), os.Symlink(outside, filepath.Join(dest, "link"))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, base)
	d, err := disk.OpenDest(dest)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b := &batch{n: nil, o: &BatchOptions{}, dest: d}
	for _, name := range []string{"", ".", "..", "/", "/etc/passwd", "a/b", "../outside/x", "a\x00b", "\x00"} {
		for _, directory := range []bool{false, true} {
			l := (&wire.Entry{Name: []byte(name), Directory: directory}).Append(nil)
			b.open = []*opened{{name: wire.MustParseName("/s"), rest: l}}
			j := b.pull()
			if j == nil {
				t.Fatalf("%q was passed over", name)
			}
			// Without a node it would panic if it got as far as the network.
			if out := b.do(context.Background(), *j); out.Err == nil || !strings.HasPrefix(out.Err.Error(), "get /s/") {
				t.Errorf("%q: %v", name, out.Err)
			}
		}
	}
	for _, file := range []string{"link/x", "link", "x.mars-part", "x.mars-journal", "../outside/x", "/etc/x"} {
		if err := d.Put(file, []byte("hostile"), 0); err == nil && file != "link" {
			t.Errorf("%q was written", file)
		}
	}
	if err := d.Mkdir("link/dir"); err == nil {
		t.Error("a directory was made through a link")
	}
	after := tree(t, base)
	if got := after["dest/link"]; got != "hostile" { // a link in the place of a file is replaced, not followed
		t.Errorf("dest/link is %q", got)
	}
	delete(after, "dest/link")
	delete(before, "dest/link")
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%q appeared", path)
		}
	}
}

// TestChecksum: another checksum is an error, and the destination stays as it was.
func TestChecksum(t *testing.T) {
	s := newSite(t, 100_000)
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dest := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(dest, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	good, bad := sha256.Sum256(s.content), [32]byte{1}
	_, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, SHA256: &bad})
	if ExitCode(err) != 11 || !strings.Contains(err.Error(), fmt.Sprintf("%x", good)) {
		t.Errorf("%v", err)
	}
	want(t, dest, []byte("before"))
	if left, _ := filepath.Glob(dest + ".*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, SHA256: &good}); err != nil {
		t.Error(err)
	}
	want(t, dest, s.content)
	res, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, SHA256: &good})
	if err != nil || !res.Present || res.Resumed != res.Size {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, SHA256: &bad}); ExitCode(err) != 11 {
		t.Errorf("of a file that was there: %v", err)
	}
	want(t, dest, s.content)
	var out bytes.Buffer
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", Writer: &out, SHA256: &bad}); ExitCode(err) != 11 {
		t.Errorf("of a stream: %v", err)
	}
	out.Reset()
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", Writer: &out, SHA256: &good}); err != nil || !bytes.Equal(out.Bytes(), s.content) {
		t.Errorf("of a stream: %v", err)
	}
}

// TestList: what is in a directory, in order, with the digests of what was hashed.
func TestList(t *testing.T) {
	s := newSite(t, 100_000)
	if err := os.Mkdir(filepath.Join(s.dir, "z"), 0o777); err != nil {
		t.Fatal(err)
	}
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	file, err := n.List(ctx, "/site/object", 0)
	if err != nil || len(file) != 1 || file[0].Size != 100_000 || !file[0].HasDigest || file[0].Directory {
		t.Errorf("%+v, %v", file, err)
	}
	all, err := n.List(ctx, "/site", 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if e := all[0]; e.Name != "/site/object" || e.Base != "object" || e.Size != 100_000 || e.Digest != file[0].Digest || e.Modified.IsZero() {
		t.Errorf("%+v", e)
	}
	if e := all[1]; e.Name != "/site/z" || !e.Directory || e.HasDigest {
		t.Errorf("%+v", e)
	}
	if none, err := n.List(ctx, "/site/z/", 0); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	if _, err := n.List(ctx, "/site/y", 0); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestPersist: failures that may pass are tried again, others aren't.
func TestPersist(t *testing.T) {
	n := &Node{log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		err            error
		retries, calls int
	}{
		{nil, 3, 1},
		{ErrTimeout, 0, 1},
		{ErrTimeout, 1, 2},
		{ErrNotFound, 3, 1},
		{ErrDiskFull, 3, 1},
	} {
		calls := 0
		if err := n.persist(context.Background(), "x", c.retries, func() error { calls++; return c.err }); !errors.Is(err, c.err) || calls != c.calls {
			t.Errorf("%v with %d retries: %d calls, %v", c.err, c.retries, calls, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	if err := n.persist(ctx, "x", 100, func() error { calls++; cancel(); return ErrTimeout }); !errors.Is(err, ErrTimeout) || calls != 1 {
		t.Errorf("interrupted: %d calls, %v", calls, err)
	}
}

// BenchmarkFetchAll fetches 1000 files of up to 100 kB from another node of the process.
func BenchmarkFetchAll(b *testing.B) {
	src := b.TempDir()
	size := forest(b, src, 1000, 100_000)
	p := startBench(b, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: src, Prefix: "/site"}}})
	n := startBench(b, &Config{
		Faces:  []FaceConfig{{Name: "up", To: local(p.Addrs()[0].Port())}},
		Routes: []RouteConfig{{Prefix: "/", Via: "up"}},
	})
	fetchTree := func() {
		sum, err := n.FetchAll(context.Background(), BatchOptions{Names: []string{"/site/"}, Dir: b.TempDir(), Flat: true})
		if err != nil || sum.Bytes != size {
			b.Fatalf("%+v, %v", sum, err)
		}
	}
	fetchTree() // hashed from now on
	b.SetBytes(size)
	for b.Loop() {
		fetchTree()
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// startBench runs a node until the benchmark ends.
func startBench(b *testing.B, cfg *Config) *Node {
	b.Helper()
	n, err := NewNode(cfg, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return n
}
