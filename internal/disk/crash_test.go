package disk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The crash oracle: a session at random is recorded change by change, and a kill in its midst is what the two files hold after some
// of these, the last one in part. Whoever opens them must not be told of a chunk that isn't there.

// session is what one schedule wrote, in order, and what it was about.
type session struct {
	ids     []Identity
	data    [][]byte
	changes []change
}

// record plays a schedule: chunks of two contents in any order, some of zeros, flushes, resets, closes and opens.
func record(t *testing.T, r *rand.Rand) *session {
	t.Helper()
	s := &session{}
	size, chunk := 1+r.IntN(6000), 64+r.IntN(200)
	for k := range 2 {
		data := content(int(r.Uint32()), size)
		clear(data[min(size, 2*chunk):min(size, 4*chunk)])
		id, _ := identityOf(t, fmt.Sprintf("/crash/%d", k), data, chunk)
		s.ids, s.data = append(s.ids, id), append(s.data, data)
	}
	dest := filepath.Join(t.TempDir(), "file")
	tap := func(c change) {
		c.bytes = slices.Clone(c.bytes)
		s.changes = append(s.changes, c)
	}
	for range 1 + r.IntN(3) {
		which := r.IntN(2)
		p, err := OpenPartial(dest, s.ids[which])
		check(t, err)
		// What opening did can't be recorded from outside; the files as they are now begin the record anew.
		s.changes = s.changes[:0]
		for _, name := range []string{p.at.part(), p.at.journal()} {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(dest), name))
			check(t, err)
			s.changes = append(s.changes, change{name == p.at.journal(), 0, b})
		}
		p.tap = tap
		for range r.IntN(60) {
			switch i := r.Int64N(p.chunks); r.IntN(20) {
			case 0:
				check(t, p.Reset())
			case 1, 2, 3:
				check(t, p.Flush())
			default:
				check(t, p.WriteChunk(i, chunkOf(s.data[which], s.ids[which].Layout, i)))
			}
		}
		if r.IntN(2) == 0 {
			check(t, p.Close())
		} else {
			p.abandon()
		}
	}
	return s
}

// crash makes the files that a kill leaves after n changes and cut bytes of the next.
func (s *session) crash(t *testing.T, n, cut int) (dest string) {
	t.Helper()
	dest = filepath.Join(t.TempDir(), "file")
	for k, c := range s.changes[:min(n+1, len(s.changes))] {
		name := dest + ".mars-part"
		if c.journal {
			name = dest + ".mars-journal"
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		check(t, err)
		switch {
		case k < n && c.bytes == nil:
			check(t, f.Truncate(c.at))
		case k < n:
			_, err = f.WriteAt(c.bytes, c.at)
			check(t, err)
		case len(c.bytes) > 0:
			_, err = f.WriteAt(c.bytes[:cut%len(c.bytes)], c.at)
			check(t, err)
		}
		check(t, f.Close())
	}
	return dest
}

// resume opens what a crash left and returns what is wrong with its claims, "" if nothing is; then it must come to its end.
func (s *session) resume(t *testing.T, dest string, which int) string {
	t.Helper()
	id, data := s.ids[which], s.data[which]
	p, err := OpenPartial(dest, id)
	check(t, err)
	defer p.Close()
	for i := range p.chunks {
		if !p.Claimed(i) {
			continue
		}
		if got, err := p.ReadChunk(nil, i); err != nil || !bytes.Equal(got, chunkOf(data, id.Layout, i)) {
			return fmt.Sprintf("chunk %d of %d is claimed and not there (%v)", i, p.chunks, err)
		}
	}
	for i := range p.chunks {
		check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
	}
	check(t, p.Finish())
	wantFile(t, dest, data)
	return ""
}

// crashes plays one schedule and some of its crashes; it returns the first false claim.
func crashes(t *testing.T, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x6372617368))
	s := record(t, r)
	for range 6 {
		n, cut := 2+r.IntN(len(s.changes)-1), r.IntN(1<<16) // the first two are the files as they were
		if wrong := s.resume(t, s.crash(t, n, cut), r.IntN(2)); wrong != "" {
			return fmt.Sprintf("schedule %d, killed in change %d of %d: %s", seed, n, len(s.changes), wrong)
		}
	}
	return ""
}

// TestCrashes: a kill at any moment leaves no claim of a chunk that was not written.
func TestCrashes(t *testing.T) {
	for seed := range uint64(200) {
		if wrong := crashes(t, seed); wrong != "" {
			t.Fatal(wrong)
		}
	}
}
