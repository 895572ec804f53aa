package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/wire"
)

func TestPartialWritesTheFile(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 25_003, 40_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "out")
			data := content(1, size)
			id, _ := identityOf(t, "/a/b", data, 100)
			p, err := OpenPartial(dest, id)
			check(t, err)
			for i := id.Chunks() - 1; i >= 0; i-- {
				if i == 0 {
					if err := p.Finish(); !errors.Is(err, ErrIncomplete) {
						t.Fatalf("Finish before the last chunk: %v", err)
					}
					wantMissing(t, dest)
				}
				check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
			}
			check(t, p.Finish())
			check(t, p.Close())
			wantFile(t, dest, data)
			wantMissing(t, dest+partSuffix, dest+journalSuffix)
		})
	}
}

func TestPartialRefusesBadChunks(t *testing.T) {
	data := content(1, 250)
	id, _ := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(filepath.Join(t.TempDir(), "out"), id)
	check(t, err)
	defer p.Close()
	for _, c := range []struct {
		i int64
		n int
	}{{-1, 100}, {3, 50}, {0, 99}, {0, 101}, {2, 100}, {2, 0}} {
		if err := p.WriteChunk(c.i, make([]byte, c.n)); err == nil {
			t.Errorf("chunk %d of %d bytes was taken", c.i, c.n)
		}
	}
	if p.Done(0) || p.Claimed(0) || p.Done(-1) || p.Claimed(99) {
		t.Error("a chunk counts that was not written")
	}
}

// TestPartialResumes kills a fetch after a flush: what was flushed is claimed, verified and not fetched again.
func TestPartialResumes(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	data := content(1, 1000)
	id, m := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(dest, id)
	check(t, err)
	for _, i := range []int64{7, 2, 3} {
		check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
	}
	check(t, p.Flush())
	check(t, p.WriteChunk(5, chunkOf(data, id.Layout, 5)))
	p.abandon()

	mirror := id
	mirror.Name = nameOf(t, "/mirror/a")
	p, err = OpenPartial(dest, mirror)
	check(t, err)
	if n, discarded := p.Resumed(); n != 3 || discarded != nil {
		t.Fatalf("resumed with %d chunks, discarded %v", n, discarded)
	}
	for i := range id.Chunks() {
		claimed := i == 7 || i == 2 || i == 3
		if p.Claimed(i) != claimed || p.Done(i) {
			t.Errorf("chunk %d: claimed %v, done %v", i, p.Claimed(i), p.Done(i))
		}
		if !claimed {
			check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
		}
	}
	if err := p.Finish(); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("Finish with unverified claims: %v", err)
	}
	for _, i := range []int64{2, 3, 7} {
		if ok, err := p.Verify(i, m.ChunkDigest(i)); err != nil || !ok {
			t.Fatalf("chunk %d: %v, %v", i, ok, err)
		}
	}
	check(t, p.Finish())
	wantFile(t, dest, data)
}

// TestPartialTrustsNoClaim edits, shortens and removes the partial file between sessions.
func TestPartialTrustsNoClaim(t *testing.T) {
	data := content(1, 1000)
	id, m := identityOf(t, "/a", data, 100)
	for name, tamper := range map[string]func(path string) error{
		"edited":    func(path string) error { return overwrite(path, 250, "X") },
		"shortened": func(path string) error { return os.Truncate(path, 230) },
		"longer":    func(path string) error { return os.Truncate(path, 5000) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "out")
			p, err := OpenPartial(dest, id)
			check(t, err)
			for i := range int64(5) {
				check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
			}
			check(t, p.Close())
			check(t, tamper(dest+partSuffix))
			p, err = OpenPartial(dest, id)
			check(t, err)
			fetched := 0
			for i := range id.Chunks() {
				ok := false
				if p.Claimed(i) {
					if ok, err = p.Verify(i, m.ChunkDigest(i)); err != nil {
						t.Fatal(err)
					}
				}
				if !ok {
					fetched++
					check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
				}
			}
			check(t, p.Finish())
			wantFile(t, dest, data)
			if want := map[string]int{"edited": 6, "shortened": 8, "longer": 5, "removed": 10}[name]; fetched != want {
				t.Errorf("%d chunks were fetched, not %d", fetched, want)
			}
		})
	}
}

func TestPartialDiscardsOtherContent(t *testing.T) {
	old, data := content(1, 1000), content(2, 1000)
	oldID, _ := identityOf(t, "/a", old, 100)
	id, _ := identityOf(t, "/a", data, 100)
	for name, c := range map[string]struct {
		spoil func(journal string) error
		want  string
	}{
		"other version": {nil, "/a version " + fmt.Sprintf("%016x", oldID.Version)},
		"other format":  {func(j string) error { return overwrite(j, int64(len(journalMagic)), "\x09") }, "another release"},
		"not a journal": {func(j string) error { return os.WriteFile(j, []byte(strings.Repeat("x", 500)), 0o600) }, "damaged"},
		"empty":         {func(j string) error { return os.Truncate(j, 0) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "out")
			p, err := OpenPartial(dest, oldID)
			check(t, err)
			check(t, p.WriteChunk(0, chunkOf(old, oldID.Layout, 0)))
			check(t, p.Close())
			if c.spoil != nil {
				check(t, c.spoil(dest+journalSuffix))
			}
			p, err = OpenPartial(dest, id)
			check(t, err)
			defer p.Close()
			n, discarded := p.Resumed()
			if n != 0 || (discarded != nil) != (c.want != "") || discarded != nil && !strings.Contains(discarded.Error(), c.want) {
				t.Errorf("resumed with %d chunks, discarded %v", n, discarded)
			}
			if b, err := p.ReadChunk(nil, 0); err != nil || !bytes.Equal(b, make([]byte, 100)) {
				t.Errorf("the old bytes are still there: %v", err)
			}
		})
	}
}

func TestPartialReset(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	data := content(1, 1000)
	id, _ := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(dest, id)
	check(t, err)
	check(t, p.WriteChunk(4, chunkOf(data, id.Layout, 4)))
	check(t, p.Reset())
	if p.Done(4) {
		t.Error("a chunk outlived Reset")
	}
	check(t, p.WriteChunk(5, chunkOf(data, id.Layout, 5)))
	check(t, p.Close())
	p, err = OpenPartial(dest, id)
	check(t, err)
	defer p.Close()
	if n, _ := p.Resumed(); n != 1 || !p.Claimed(5) {
		t.Errorf("%d claims after Reset", n)
	}
}

func TestPartialIsLocked(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(dest, id)
	check(t, err)
	if _, err := OpenPartial(dest, id); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second fetch: %v", err)
	}
	check(t, p.WriteChunk(0, data))
	check(t, p.Finish())
	p, err = OpenPartial(dest, id)
	check(t, err)
	check(t, p.Close())
	wantMissing(t, dest+partSuffix, dest+journalSuffix)
	wantFile(t, dest, data)
	for what, err := range map[string]error{"Flush": p.Flush(), "Finish": p.Finish(), "Reset": p.Reset()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

// TestPartialConcurrentWriters writes disjoint chunks from several goroutines, as hashing workers do.
func TestPartialConcurrentWriters(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	data := content(1, 100_000)
	id, _ := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(dest, id)
	check(t, err)
	var g sync.WaitGroup
	for w := range int64(4) {
		g.Go(func() {
			for i := w; i < id.Chunks(); i += 4 {
				if err := p.WriteChunk(i, chunkOf(data, id.Layout, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	check(t, p.Close())
	p, err = OpenPartial(dest, id)
	check(t, err)
	defer p.Close()
	if n, _ := p.Resumed(); n != id.Chunks() {
		t.Errorf("%d of %d chunks were journalled", n, id.Chunks())
	}
}

func TestPartialSurvivesAReplacedPart(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	data := content(1, 100)
	id, _ := identityOf(t, "/a", data, 100)
	p, err := OpenPartial(dest, id)
	check(t, err)
	defer p.Close()
	check(t, p.WriteChunk(0, data))
	check(t, os.Remove(dest+partSuffix))
	write(t, dest+partSuffix, []byte("something else"))
	if err := p.Finish(); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Fatalf("Finish: %v", err)
	}
	wantMissing(t, dest)
}

// TestPartialLosesItsJournal: the partial file is locked too, so a second fetch can't empty it under the first when somebody
// has removed the journal.
func TestPartialLosesItsJournal(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "file")
	data := content(1, 5000)
	id, m := identityOf(t, "/site/file", data, 1000)
	first, err := OpenPartial(dest, id)
	check(t, err)
	complete(t, first, m, data)
	check(t, os.Remove(dest+journalSuffix))
	other, _ := identityOf(t, "/site/file", content(2, 5000), 1000)
	if _, err := OpenPartial(dest, other); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second fetch got %v", err)
	}
	check(t, first.Finish())
	wantFile(t, dest, data)
}

// TestPartialProperty writes, flushes, verifies, kills and reopens in random order. Flushed chunks must be claimed after
// a kill, nothing unwritten may be, and the file at the end must be right.
func TestPartialProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		chunk := rapid.IntRange(1, 64).Draw(r, "chunk size")
		data := content(3, rapid.IntRange(0, 4000).Draw(r, "size"))
		id, m := identityOf(t, "/a/b", data, chunk)
		dest := filepath.Join(dir, "out")
		p, err := OpenPartial(dest, id)
		check(t, err)
		defer func() { p.Reset(); p.Close(); os.Remove(dest) }()

		written := map[int64]bool{} // ever: the bytes are on disk
		session := map[int64]bool{} // done since the last flush
		safe := map[int64]bool{}    // a kill may not lose these
		flushed := func() {
			maps.Copy(safe, session)
			clear(session)
		}
		pick := rapid.Int64Range(0, id.Chunks()-1)
		r.Repeat(map[string]func(*rapid.T){
			"write": func(r *rapid.T) {
				i := pick.Draw(r, "i")
				check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
				written[i], session[i] = true, true
			},
			"flush": func(*rapid.T) { check(t, p.Flush()); flushed() },
			"verify": func(r *rapid.T) {
				i := pick.Draw(r, "i")
				ok, err := p.Verify(i, m.ChunkDigest(i))
				if err != nil || ok != (written[i] || len(bytes.Trim(chunkOf(data, id.Layout, i), "\x00")) == 0) {
					r.Fatalf("verify %d: %v, %v", i, ok, err)
				}
				if ok {
					session[i] = true
				}
				written[i] = written[i] || ok
			},
			"close": func(*rapid.T) {
				check(t, p.Close())
				flushed()
				if len(safe) == 0 {
					clear(written) // nothing to resume: Close has removed the files
				}
				p, err = OpenPartial(dest, id)
				check(t, err)
			},
			"kill": func(*rapid.T) {
				p.abandon()
				clear(session)
				p, err = OpenPartial(dest, id)
				check(t, err)
			},
			"": func(r *rapid.T) {
				for i := range id.Chunks() {
					if known := p.Claimed(i) || p.Done(i); safe[i] && !known {
						r.Fatalf("chunk %d was lost", i)
					}
					if p.Claimed(i) && !written[i] {
						r.Fatalf("chunk %d is claimed and was not written", i)
					}
				}
			},
		})
		complete(t, p, m, data)
		check(t, p.Finish())
		wantFile(t, dest, data)
	})
}

// complete verifies or writes every chunk, as a fetch does.
func complete(t testing.TB, p *Partial, m *wire.Manifest, data []byte) {
	t.Helper()
	for i := range m.Chunks() {
		if ok, err := p.Verify(i, m.ChunkDigest(i)); err != nil || !ok {
			check(t, p.WriteChunk(i, chunkOf(data, m.Layout, i)))
		}
	}
}

// TestPartialDiskFull fills the file system of the destination. The fetch fails with ErrDiskFull, and resumes when there
// is room again.
func TestPartialDiskFull(t *testing.T) {
	dir := smallFS(t)
	data := content(1, 600_000)
	id, m := identityOf(t, "/a", data, 8000)
	dest, ballast := filepath.Join(dir, "out"), filepath.Join(dir, "ballast")
	write(t, ballast, make([]byte, 600_000))
	p, err := OpenPartial(dest, id)
	check(t, err)
	var full error
	wrote := int64(0)
	for ; wrote < id.Chunks() && full == nil; wrote++ {
		full = p.WriteChunk(wrote, chunkOf(data, id.Layout, wrote))
	}
	wrote--
	if !errors.Is(full, ErrDiskFull) || !errors.Is(full, syscall.ENOSPC) {
		t.Fatalf("writing to a full disk: %v", full)
	}
	if wrote == 0 || p.Done(wrote) {
		t.Fatalf("%d chunks fit; the one that didn't is done: %v", wrote, p.Done(wrote))
	}
	if err := p.Close(); err != nil && !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	check(t, os.Remove(ballast))

	p, err = OpenPartial(dest, id)
	check(t, err)
	claims, discarded := p.Resumed()
	t.Logf("%d chunks fit, %d were claimed", wrote, claims)
	if discarded != nil {
		t.Fatal(discarded)
	}
	complete(t, p, m, data)
	check(t, p.Finish())
	wantFile(t, dest, data)

	huge := id
	huge.Size = 1 << 40
	if _, err := OpenPartial(dest, huge); !errors.Is(err, ErrDiskFull) {
		t.Errorf("an object larger than the file system: %v", err)
	}
}

func BenchmarkWriteChunk(b *testing.B) {
	data := content(1, 64<<20)
	id, _ := identityOf(b, "/a", data, 8000)
	p, err := OpenPartial(filepath.Join(b.TempDir(), "out"), id)
	check(b, err)
	defer p.Close()
	b.SetBytes(8000)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if i == id.Chunks()-1 {
			i = 0
			check(b, p.Reset())
		}
		check(b, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
	}
}
