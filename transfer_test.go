package mars

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mars/internal/disk"
	"mars/internal/impair"
	"mars/internal/wire"
)

func TestFetchSizes(t *testing.T) {
	s := newSite(t, 1)
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, size := range []int{0, 1, wire.ChunkSize, wire.ChunkSize + 1} {
		name := fmt.Sprintf("%d", size)
		content := random(t, filepath.Join(s.dir, name), size)
		dest := filepath.Join(t.TempDir(), name)
		res, err := n.Fetch(ctx, FetchOptions{Name: "/site/" + name, File: dest})
		if err != nil {
			t.Errorf("%d bytes to a file: %v", size, err)
			continue
		}
		if res.Size != int64(size) || res.Bytes != int64(size) || res.Resumed != 0 {
			t.Errorf("%d bytes: the result says %d of %d, %d resumed", size, res.Bytes, res.Size, res.Resumed)
		}
		want(t, dest, content)
		left, err := os.ReadDir(filepath.Dir(dest))
		if err != nil || len(left) != 1 {
			t.Errorf("%d bytes: %v is left beside the file (%v)", size, left, err)
		}
		var out bytes.Buffer
		if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/" + name, Writer: &out}); err != nil || !bytes.Equal(out.Bytes(), content) {
			t.Errorf("%d bytes to a writer: got %d (%v)", size, out.Len(), err)
		}
	}
}

// TestFetchInterrupted cancels a fetch again and again; each further one, by a new node, goes on where the one before ended.
func TestFetchInterrupted(t *testing.T) {
	s := newSite(t, 4<<20)
	id, ok := identity(t, s.content)
	if !ok {
		t.FailNow()
	}
	p := proxyTo(t, s.addr, impair.Config{})
	dest := filepath.Join(t.TempDir(), "copy")
	stopWatch := watch(t, dest, s.content)
	whole := uint64(len(s.content)) / 1400 // datagrams, about
	for round := range 4 {
		n, stop := consumerVia(t, p.Addr())
		f := startFetch(n, dest)
		middle := f.freeze(p, rand.Uint64N(whole/4)+1)
		f.cancel()
		if res, err := f.wait(); middle && (!errors.Is(err, ErrInterrupted) || ExitCode(err) != 130) {
			t.Errorf("a cancelled fetch gave %+v, %v", res, err)
		}
		stop()
		p.Block(false)
		t.Logf("round %d: %d of %d chunks claimed", round, claims(t, dest, id, s.content), id.Chunks())
	}
	claimed := claims(t, dest, id, s.content)
	n, _ := consumerVia(t, p.Addr())
	res, err := startFetch(n, dest).wait()
	if err != nil {
		t.Fatal(err)
	}
	stopWatch()
	want(t, dest, s.content)
	if res.Resumed == 0 || res.Resumed < (claimed-1)*int64(id.ChunkSize) {
		t.Errorf("%d bytes resumed of %d chunks claimed", res.Resumed, claimed)
	}
	came := int64(0)
	for _, f := range res.Faces {
		came += int64(f.ContentIn)
	}
	t.Logf("%d bytes resumed, %d came", res.Resumed, came)
	if missing := res.Size - res.Resumed; came < missing || came > missing+res.Size/4 {
		t.Errorf("%d bytes were missing and %d came", missing, came)
	}
}

// TestFetchContinues tells exactly what it found of use: a claimed chunk that is wrong is fetched like a missing one.
func TestFetchContinues(t *testing.T) {
	s := newSite(t, 800_000)
	id, ok := identity(t, s.content)
	if !ok {
		t.FailNow()
	}
	dest := filepath.Join(t.TempDir(), "copy")
	p, err := disk.OpenPartial(dest, id)
	if err != nil {
		t.Fatal(err)
	}
	const there, wrong = 99, 17 // of 100 chunks
	for i := range int64(there) {
		data := bytes.Clone(s.content[i*wire.ChunkSize:][:wire.ChunkSize])
		if i == wrong {
			data[4000] ^= 1
		}
		if err := p.WriteChunk(i, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	n, _ := consumerVia(t, s.addr)
	res, err := startFetch(n, dest).wait()
	if err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
	if res.Resumed != (there-1)*wire.ChunkSize || res.Corrupt != 0 {
		t.Errorf("%d bytes resumed, %d chunks corrupt", res.Resumed, res.Corrupt)
	}
}

// TestFetchesAtOnce: fetches of one node share its faces and one flow, even those of one object.
func TestFetchesAtOnce(t *testing.T) {
	s := newSite(t, 1<<20)
	n, _ := consumerVia(t, s.addr)
	dir := t.TempDir()
	var all []*fetching
	for i := range 4 {
		all = append(all, startFetch(n, filepath.Join(dir, fmt.Sprint(i))))
	}
	for _, f := range all {
		if res, err := f.wait(); err != nil {
			t.Error(err)
		} else {
			want(t, f.dest, s.content)
			t.Logf("%v, %d Interests sent again", res.Elapsed, res.Resent)
		}
	}
}

// TestFileReplaced: a fetch under way gets the old file to its end, a new one the new file.
func TestFileReplaced(t *testing.T) {
	s := newSite(t, 3<<20)
	p := proxyTo(t, s.addr, impair.Config{})
	n, _ := consumerVia(t, p.Addr())
	dest := filepath.Join(t.TempDir(), "old")
	watch(t, dest, s.content)
	f := startFetch(n, dest)
	if !f.freeze(p, 600) {
		t.Fatalf("the fetch ended too early: %v", f.err)
	}
	next := filepath.Join(t.TempDir(), "next")
	replacement := random(t, next, 2<<20)
	if err := os.Rename(next, s.path); err != nil {
		t.Fatal(err)
	}
	direct, _ := consumerVia(t, s.addr)
	fresh := filepath.Join(t.TempDir(), "new")
	if _, err := startFetch(direct, fresh).wait(); err != nil {
		t.Fatal(err)
	}
	want(t, fresh, replacement)
	p.Block(false)
	if _, err := f.wait(); err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
}

// TestFileModified: bytes changed in place end the fetch, and neither old nor new ones are passed off as the object.
func TestFileModified(t *testing.T) {
	s := newSite(t, 3<<20)
	p := proxyTo(t, s.addr, impair.Config{})
	n, _ := consumerVia(t, p.Addr())
	dest := filepath.Join(t.TempDir(), "copy")
	stopWatch := watch(t, dest, s.content)
	f := startFetch(n, dest)
	if !f.freeze(p, 600) {
		t.Fatalf("the fetch ended too early: %v", f.err)
	}
	file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	modified := bytes.Clone(s.content)
	for at := 0; at < len(modified); at += wire.ChunkSize {
		modified[at]++
	}
	if _, err := file.WriteAt(modified, 0); err != nil {
		t.Fatal(err)
	}
	file.Close()
	p.Block(false)
	if res, err := f.wait(); !errors.Is(err, ErrChanged) || ExitCode(err) != 5 {
		t.Fatalf("the fetch of a modified file gave %+v, %v", res, err)
	}
	stopWatch()
	nothingAt(t, dest)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var told error
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, Discarded: func(why error) { told = why }}); err != nil {
		t.Fatal(err)
	}
	want(t, dest, modified)
	if told == nil {
		t.Error("the chunks of the old version were discarded in silence")
	}
}

// TestProducerRestart: a producer that comes back with the same file goes on where it was.
func TestProducerRestart(t *testing.T) {
	s := newSite(t, 3<<20)
	p := proxyTo(t, s.addr, impair.Config{})
	n, _ := consumerVia(t, p.Addr())
	dest := filepath.Join(t.TempDir(), "copy")
	watch(t, dest, s.content)
	f := startFetch(n, dest)
	if !f.freeze(p, 600) {
		t.Fatalf("the fetch ended too early: %v", f.err)
	}
	s.restart(t)
	p.Block(false)
	if _, err := f.wait(); err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
}

// TestProducerStops: a fetch that nobody answers any more ends by itself and can be resumed; so does one whose node ends.
func TestProducerStops(t *testing.T) {
	s := newSite(t, 2<<20)
	p := proxyTo(t, s.addr, impair.Config{})
	n, stop := consumerVia(t, p.Addr())
	if err := n.LimitRate(16e6); err != nil { // or it may be over before it is looked at
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "copy")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, Stall: time.Second, Progress: func(g Progress) {
		p.Block(g.Bytes > 0)
	}})
	if !errors.Is(err, ErrTimeout) || ExitCode(err) != 5 {
		t.Errorf("silence gave %v", err)
	}
	f := startFetch(n, dest)
	stop()
	if _, err := f.wait(); err == nil || ExitCode(err) == 0 {
		t.Errorf("a fetch outlived its node: %v", err)
	}
	p.Block(false)
	n, _ = consumerVia(t, p.Addr())
	res, err := startFetch(n, dest).wait()
	if err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
	if res.Resumed == 0 {
		t.Error("nothing was resumed")
	}
}

// TestDeadPath: a path that is dead from the start, or whose relay has lost its producer, costs time at most.
func TestDeadPath(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths func(dead, alive, relay netip.AddrPort) []netip.AddrPort
	}{
		{"first", func(dead, alive, _ netip.AddrPort) []netip.AddrPort { return []netip.AddrPort{dead, alive} }},
		{"second", func(dead, alive, _ netip.AddrPort) []netip.AddrPort { return []netip.AddrPort{alive, dead} }},
		{"behind", func(_, alive, relay netip.AddrPort) []netip.AddrPort { return []netip.AddrPort{relay, alive} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, 2<<20)
			hole := proxyTo(t, s.addr, impair.Config{})
			hole.Block(true)
			relay, _ := relayTo(t, hole.Addr())
			n, _ := consumerVia(t, c.paths(hole.Addr(), s.addr, relay)...)
			dest := filepath.Join(t.TempDir(), "copy")
			watch(t, dest, s.content)
			res, err := startFetch(n, dest).wait()
			if err != nil {
				t.Fatal(err)
			}
			want(t, dest, s.content)
			t.Logf("%v, %d Interests sent again", res.Elapsed, res.Resent)
		})
	}
}

// TestRelayDies: another path carries on, whether the relay's host refuses from then on or nothing comes back at all.
func TestRelayDies(t *testing.T) {
	for _, silent := range []bool{false, true} {
		name := map[bool]string{false: "refused", true: "silent"}[silent]
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 4<<20)
			relay, stop := relayTo(t, s.addr)
			p := proxyTo(t, relay, impair.Config{})
			via := relay
			if silent {
				via = p.Addr()
			}
			n, _ := consumerVia(t, s.addr, via)
			if err := n.LimitRate(80e6); err != nil { // or it may be over before it is looked at
				t.Fatal(err)
			}
			dest := filepath.Join(t.TempDir(), "copy")
			watch(t, dest, s.content)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			died := int64(-1)
			res, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, Progress: func(g Progress) {
				if died < 0 && len(g.Faces) == 2 && g.Faces[1].ContentIn > 0 && g.Bytes > g.Size/8 {
					died = g.Bytes
					p.Block(true)
					if !silent {
						stop()
					}
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			want(t, dest, s.content)
			if died < 0 || died >= res.Size {
				t.Fatalf("the relay didn't die in the middle but at %d", died)
			}
			t.Logf("died at %d of %d bytes, %d Interests sent again, %v", died, res.Size, res.Resent, res.Elapsed)
		})
	}
}

// TestDestinationBusy: two fetches don't share a destination.
func TestDestinationBusy(t *testing.T) {
	s := newSite(t, 2<<20)
	p := proxyTo(t, s.addr, impair.Config{})
	n, _ := consumerVia(t, p.Addr())
	dest := filepath.Join(t.TempDir(), "copy")
	watch(t, dest, s.content)
	f := startFetch(n, dest)
	if !f.freeze(p, 400) {
		t.Fatalf("the fetch ended too early: %v", f.err)
	}
	other, _ := consumerVia(t, s.addr)
	if _, err := startFetch(other, dest).wait(); !errors.Is(err, ErrBusy) || ExitCode(err) != 5 {
		t.Errorf("the second fetch gave %v", err)
	}
	p.Block(false)
	if _, err := f.wait(); err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
}

// TestWriterFails: the fetch ends with the writer's error, and the node goes on.
func TestWriterFails(t *testing.T) {
	s := newSite(t, 3<<20)
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	broken := errors.New("broken pipe")
	w := writerFunc(func(b []byte) (int, error) { return 0, broken })
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", Writer: w}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var out strings.Builder
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", Writer: &out}); err != nil || out.String() != string(s.content) {
		t.Errorf("the next fetch gave %d bytes, %v", out.Len(), err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
