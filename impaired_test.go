package mars

import (
	"path/filepath"
	"testing"

	"mars/internal/impair"
)

// TestFetchImpaired fetches over two paths at once, all of whose hops do harm:
//
//	consumer ─ harm ─────────────────── producer
//	       └── harm ─ relay ─ harm ───────┘
//
// UDP checksums don't notice the flipped bits: the proxy sends anew what it has changed.
func TestFetchImpaired(t *testing.T) {
	for _, c := range []struct {
		name string
		harm impair.Config
		done func(impair.Counts) uint64
	}{
		{"drop", impair.Config{Drop: 0.01}, func(c impair.Counts) uint64 { return c.Dropped }},
		{"duplicate", impair.Config{Duplicate: 0.05}, func(c impair.Counts) uint64 { return c.Duplicated }},
		{"reorder", impair.Config{Reorder: 0.05}, func(c impair.Counts) uint64 { return c.Reordered }},
		{"corrupt", impair.Config{Corrupt: 0.01}, func(c impair.Counts) uint64 { return c.Corrupted }},
		{"all", impair.Config{Drop: 0.01, Duplicate: 0.05, Reorder: 0.05, Corrupt: 0.01}, func(c impair.Counts) uint64 {
			return min(c.Dropped, c.Duplicated, c.Reordered, c.Corrupted)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, 2<<20)
			harm := c.harm
			proxies := make([]*impair.Proxy, 3)
			harm.Seed = 1
			proxies[0] = proxyTo(t, s.addr, harm)
			harm.Seed = 2
			proxies[1] = proxyTo(t, s.addr, harm)
			relay, _ := relayTo(t, proxies[1].Addr())
			harm.Seed = 3
			proxies[2] = proxyTo(t, relay, harm)
			n, _ := consumerVia(t, proxies[0].Addr(), proxies[2].Addr())
			dest := filepath.Join(t.TempDir(), "copy")
			stopWatch := watch(t, dest, s.content)
			res, err := startFetch(n, dest).wait()
			if err != nil {
				t.Fatal(err)
			}
			stopWatch()
			want(t, dest, s.content)
			t.Logf("%d bytes in %v, %d Interests sent again, %d chunks with wrong bytes", res.Bytes, res.Elapsed, res.Resent, res.Corrupt)
			var all impair.Counts
			for i, p := range proxies {
				n := p.Counts()
				t.Logf("proxy %d: %+v", i, n)
				all.Dropped += n.Dropped
				all.Duplicated += n.Duplicated
				all.Reordered += n.Reordered
				all.Corrupted += n.Corrupted
			}
			if c.done(all) == 0 {
				t.Error("the proxies did no harm")
			}
			for _, f := range res.Faces {
				if f.ContentIn == 0 {
					t.Errorf("face %s carried nothing", f.Name)
				}
			}
		})
	}
}

// TestFetchBesideLiar: one path flips bits in most chunks that it brings; the other one's are right.
func TestFetchBesideLiar(t *testing.T) {
	s := newSite(t, 2<<20)
	liar := proxyTo(t, s.addr, impair.Config{Corrupt: 0.25, Seed: 1})
	n, _ := consumerVia(t, s.addr, liar.Addr())
	dest := filepath.Join(t.TempDir(), "copy")
	stopWatch := watch(t, dest, s.content)
	res, err := startFetch(n, dest).wait()
	if err != nil {
		t.Fatal(err)
	}
	stopWatch()
	want(t, dest, s.content)
	t.Logf("%v, %d chunks with wrong bytes, %+v", res.Elapsed, res.Corrupt, liar.Counts())
	if res.Corrupt == 0 {
		t.Error("no chunk came with wrong bytes")
	}
}
