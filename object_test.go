package mars

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"mars/internal/impair"
)

// anybody may have signed what is read here: over a plain face no key is known.
var anybody = Signers{Unsigned: true}

// openObject opens "/site/object" at a consumer with a path to s.
func openObject(t *testing.T, s *site) (*Node, *Object) {
	t.Helper()
	n, _ := consumerVia(t, s.addr)
	o, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: anybody})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return n, o
}

func TestOpen(t *testing.T) {
	s := newSite(t, 3_000_001)
	_, o := openObject(t, s)
	info, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if o.Size() != 3_000_001 || !o.Modified().Equal(info.ModTime()) || o.Digest() == [32]byte{} || o.Name() != "/site/object" {
		t.Errorf("opened %s, %d bytes of %v, digest %x", o.Name(), o.Size(), o.Modified(), o.Digest())
	}
}

func TestOpenFails(t *testing.T) {
	s := newSite(t, 1)
	n, _ := consumerVia(t, s.addr)
	for name, kind := range map[string]error{"/site/none": ErrNotFound, "/other/object": ErrNotFound, "not a name": ErrUsage, "": ErrUsage} {
		if _, err := n.Open(t.Context(), OpenOptions{Name: name, Signers: anybody}); !errors.Is(err, kind) {
			t.Errorf("%q: %v, want %v", name, err, kind)
		}
	}
	s.stop()
	if _, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: anybody, Stall: 300 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Errorf("a silent producer: %v, want %v", err, ErrTimeout)
	}
}

func TestWriteRange(t *testing.T) {
	s := newSite(t, 2_100_000) // two leaves
	_, o := openObject(t, s)
	for _, c := range [][2]int64{{0, 0}, {0, 1}, {7999, 2}, {8000, 8000}, {8001, 15_999}, {1_999_999, 2}, {2_099_999, 1}, {2_100_000, 0}, {0, 2_100_000}} {
		var got bytes.Buffer
		if err := o.WriteRange(t.Context(), &got, c[0], c[1]); err != nil || !bytes.Equal(got.Bytes(), s.content[c[0]:c[0]+c[1]]) {
			t.Errorf("%d bytes from %d on: %v, %d came", c[1], c[0], err, got.Len())
		}
	}
	for _, c := range [][2]int64{{-1, 1}, {0, -1}, {0, 2_100_001}, {2_100_000, 1}, {1 << 62, 1 << 62}} {
		if err := o.WriteRange(t.Context(), io.Discard, c[0], c[1]); !errors.Is(err, ErrRange) || !errors.Is(err, ErrUsage) {
			t.Errorf("%d bytes from %d on: %v, want %v", c[1], c[0], err, ErrRange)
		}
	}
	broken := errors.New("broken")
	if err := o.WriteRange(t.Context(), brokenWriter{broken}, 0, 10); !errors.Is(err, broken) {
		t.Errorf("%v, want the writer's error", err)
	}
	o.Close()
	if err := o.WriteRange(t.Context(), io.Discard, 0, 1); err == nil {
		t.Error("a closed object was read")
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestReadAtFetchesWhatItNeeds: a few bytes in the middle cost their chunk and its leaf.
func TestReadAtFetchesWhatItNeeds(t *testing.T) {
	s := newSite(t, 4_000_000)
	n, o := openObject(t, s)
	before := contentIn(t, n)
	p := make([]byte, 100)
	if _, err := o.ReadAt(p, 3_000_000); err != nil || !bytes.Equal(p, s.content[3_000_000:3_000_100]) {
		t.Fatal("other bytes:", err)
	}
	if got := contentIn(t, n) - before; got > 3*8000 {
		t.Errorf("100 bytes cost %d bytes of content", got)
	}
	if n, err := o.ReadAt(p, 3_999_950); n != 50 || err != io.EOF || !bytes.Equal(p[:50], s.content[3_999_950:]) {
		t.Errorf("%d bytes at the end: %v", n, err)
	}
	if n, err := o.ReadAt(p, 5_000_000); n != 0 || err != io.EOF {
		t.Errorf("%d bytes beyond the end: %v", n, err)
	}
}

func contentIn(t *testing.T, n *Node) (sum uint64) {
	t.Helper()
	faces, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faces {
		sum += f.ContentIn
	}
	return sum
}

func TestReader(t *testing.T) {
	for _, size := range []int{0, 1, 20_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := newSite(t, size)
			_, o := openObject(t, s)
			r := o.NewReader(t.Context())
			defer r.Close()
			if err := iotest.TestReader(r, s.content); err != nil {
				t.Error(err)
			}
			if r.Err() != nil {
				t.Error(r.Err())
			}
		})
	}
}

// TestReaderUntil: nothing is fetched beyond the end that was announced, and who reads on is served.
func TestReaderUntil(t *testing.T) {
	s := newSite(t, 4_000_000)
	n, o := openObject(t, s)
	before := contentIn(t, n)
	r := o.NewReader(t.Context())
	defer r.Close()
	r.Until = func(offset int64) int64 {
		if offset < 1_010_000 {
			return 1_010_000
		}
		return 0
	}
	if _, err := r.Seek(1_000_000, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10_000)
	if _, err := io.ReadFull(r, p); err != nil || !bytes.Equal(p, s.content[1_000_000:1_010_000]) {
		t.Fatal("other bytes:", err)
	}
	if got := contentIn(t, n) - before; got > 4*8000 {
		t.Errorf("10,000 bytes cost %d bytes of content", got)
	}
	if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, s.content[1_010_000:]) {
		t.Error("other bytes behind:", err)
	}
}

// TestSlowReader: what is asked for ahead of a reader who takes his time is bounded, and nothing gives up on him.
func TestSlowReader(t *testing.T) {
	s := newSite(t, 20_000_000)
	n, _ := consumerVia(t, s.addr)
	o, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: anybody, Stall: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r := o.NewReader(t.Context())
	defer r.Close()
	p := make([]byte, 1)
	if _, err := r.Read(p); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond) // longer than the stall
	if got := contentIn(t, n); got > 10_000_000 {
		t.Errorf("a reader who took one byte has %d fetched", got)
	}
	if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, s.content[1:]) {
		t.Error("other bytes behind:", err)
	}
}

// TestReaderSurvivesAPath: one of two paths goes dead for good while an object is read.
func TestReaderSurvivesAPath(t *testing.T) {
	s := newSite(t, 20_000_000)
	a, b := proxyTo(t, s.addr, impair.Config{}), proxyTo(t, s.addr, impair.Config{})
	n, _ := consumerVia(t, a.Addr(), b.Addr())
	o, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: anybody})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r := o.NewReader(t.Context())
	defer r.Close()
	var got bytes.Buffer
	if _, err := io.CopyN(&got, r, 5_000_000); err != nil {
		t.Fatal(err)
	}
	a.Block(true)
	if _, err := io.Copy(&got, r); err != nil || !bytes.Equal(got.Bytes(), s.content) {
		t.Errorf("%v, %d bytes", err, got.Len())
	}
}

// TestReaderNoticesAChange: an object that is replaced while it is read isn't mixed with the new one.
func TestReaderNoticesAChange(t *testing.T) {
	s := newSite(t, 20_000_000)
	_, o := openObject(t, s)
	r := o.NewReader(t.Context())
	defer r.Close()
	p := make([]byte, 1000)
	if _, err := io.ReadFull(r, p); err != nil {
		t.Fatal(err)
	}
	random(t, s.path, 20_000_000)
	s.restart(t)
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrChanged) || !errors.Is(r.Err(), ErrChanged) {
		t.Errorf("%v, want %v", err, ErrChanged)
	}
}

func TestReaderEnds(t *testing.T) {
	s := newSite(t, 20_000_000)
	_, o := openObject(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	r := o.NewReader(ctx)
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v, want %v", err, ErrInterrupted)
	}
	r.Close()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v, want %v", err, fs.ErrClosed)
	}
}

func TestReaderCopies(t *testing.T) {
	s := newSite(t, 3_000_000)
	n, o := openObject(t, s)
	r := o.NewReader(t.Context())
	defer r.Close()
	p := make([]byte, 1000)
	if _, err := io.ReadFull(r, p); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if n, err := r.CopyN(&got, 1_000_000); n != 1_000_000 || err != nil || !bytes.Equal(got.Bytes(), s.content[1000:1_001_000]) {
		t.Errorf("%d bytes copied, or others: %v", n, err)
	}
	if _, err := r.Seek(2_900_000, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	before := contentIn(t, n)
	got.Reset()
	if n, err := r.CopyN(&got, 10); n != 10 || err != nil || !bytes.Equal(got.Bytes(), s.content[2_900_000:2_900_010]) {
		t.Errorf("%d bytes copied, or others: %v", n, err)
	}
	if fetched := contentIn(t, n) - before; fetched > 3*8000 {
		t.Errorf("10 bytes cost %d bytes of content", fetched)
	}
	if n, err := r.CopyN(io.Discard, 1<<40); n != 99_990 || err != nil {
		t.Errorf("%d bytes to the end: %v", n, err)
	}
	if n, err := r.CopyN(io.Discard, 1); n != 0 || err != nil {
		t.Errorf("%d bytes behind the end: %v", n, err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := r.CopyN(brokenWriter{broken}, 10); !errors.Is(err, broken) || r.Err() != nil {
		t.Errorf("a writer that fails: %v, and the reader says %v", err, r.Err())
	}
}

// TestOpenTrusts: an object is opened if who signed it may.
func TestOpenTrusts(t *testing.T) {
	dir := t.TempDir()
	random(t, filepath.Join(dir, "object"), 1000)
	producer := run(t, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	n := run(t, &Config{
		Faces:  []FaceConfig{{Name: "up", To: local(producer.Addrs()[0].Port())}},
		Routes: []RouteConfig{{Prefix: "/", Via: "up"}},
	})
	o, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: Signers{Keys: []PublicKey{producer.Key()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Signer() != producer.Key() {
		t.Errorf("signed by %v", o.Signer())
	}
	for what, s := range map[string]Signers{"nothing said": {}, "another key": {Keys: []PublicKey{n.Key()}}} {
		if _, err := n.Open(t.Context(), OpenOptions{Name: "/site/object", Signers: s}); !errors.Is(err, ErrUntrusted) {
			t.Errorf("%s: %v, want %v", what, err, ErrUntrusted)
		}
	}
}
