package disk

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/wire"
)

// decode reads a whole journal, as OpenPartial does.
func decode(b []byte) (id Identity, runs []run, good int64, err error) {
	r := bytes.NewReader(b)
	id, seed, n, err := readHeader(r)
	if err != nil {
		return id, nil, 0, err
	}
	good, err = readRecords(r, seed, id.Chunks(), func(r run) { runs = append(runs, r) })
	return id, runs, int64(n) + good, err
}

// encode is the inverse of decode.
func encode(id Identity, runs []run) []byte {
	b := appendHeader(nil, id)
	_, seed, _, _ := readHeader(bytes.NewReader(b))
	for _, r := range runs {
		b = appendRecord(b, seed, r)
	}
	return b
}

func sampleIdentity(t testing.TB) Identity {
	id, _ := identityOf(t, "/site/data/caf%C3%A9", content(1, 100_000), 100)
	return id
}

// TestJournalTorn cuts a journal at every byte: what is decoded is a prefix of what was written, and every whole record
// is kept.
func TestJournalTorn(t *testing.T) {
	id := sampleIdentity(t)
	runs := []run{{0, 3}, {999, 1}, {500, 256}, {3, 1}}
	header := len(encode(id, nil))
	whole := encode(id, runs)
	for cut := range len(whole) + 1 {
		got, have, good, err := decode(whole[:cut])
		switch {
		case cut == 0 && err == errNoJournal, cut > 0 && cut < header && err == errJournalHeader:
			continue
		case cut < header || err != nil:
			t.Fatalf("cut at %d: %v", cut, err)
		}
		n := (cut - header) / recordLen
		if !got.sameContent(id) || !got.Name.Equal(id.Name) || !slices.Equal(have, runs[:n]) || good != int64(header+n*recordLen) {
			t.Fatalf("cut at %d: %d records, %d good bytes", cut, len(have), good)
		}
	}
}

// TestJournalCorrupt flips every bit: nothing is claimed that was not written.
func TestJournalCorrupt(t *testing.T) {
	id := sampleIdentity(t)
	runs := []run{{0, 3}, {999, 1}}
	whole := encode(id, runs)
	for bit := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		got, have, _, err := decode(b)
		if bit/8 < len(whole)-2*recordLen {
			if err == nil {
				t.Fatalf("bit %d of the header: taken as %v", bit, got)
			}
			continue
		}
		if err != nil || !slices.Equal(have, runs[:(bit/8-(len(whole)-2*recordLen))/recordLen]) {
			t.Fatalf("bit %d: %v, %v", bit, have, err)
		}
	}
}

// TestJournalOfAnotherObject appends a valid record of another journal.
func TestJournalOfAnotherObject(t *testing.T) {
	id := sampleIdentity(t)
	other := id
	other.Version++
	foreign := encode(other, []run{{1, 1}})
	b := append(encode(id, []run{{0, 1}}), foreign[len(foreign)-recordLen:]...)
	if _, runs, _, err := decode(b); err != nil || len(runs) != 1 {
		t.Errorf("%v, %v", runs, err)
	}
}

// TestPartialTornJournal cuts and lengthens the journal at every byte between two sessions: OpenPartial claims the whole
// records, goes on after them, and a third session sees both sessions' chunks.
func TestPartialTornJournal(t *testing.T) {
	data := content(1, 1000)
	id, _ := identityOf(t, "/a", data, 100)
	dest := filepath.Join(t.TempDir(), "out")
	p, err := OpenPartial(dest, id)
	check(t, err)
	defer func() { p.Close() }()
	for _, i := range []int64{1, 4, 8} {
		check(t, p.WriteChunk(i, chunkOf(data, id.Layout, i)))
		check(t, p.Flush())
	}
	check(t, p.Close())
	whole, err := os.ReadFile(dest + journalSuffix)
	check(t, err)
	header := len(encode(id, nil))
	reopen := func() (claims []int64) {
		p, err = OpenPartial(dest, id)
		check(t, err)
		for i := range id.Chunks() {
			if p.Claimed(i) {
				claims = append(claims, i)
			}
		}
		return claims
	}
	for cut := range len(whole) + 1 {
		torn := append(bytes.Clone(whole[:cut]), bytes.Repeat([]byte{0}, cut%20)...) // what a power cut leaves
		check(t, os.WriteFile(dest+journalSuffix, torn, 0o600))
		want := []int64{1, 4, 8}[:max(0, cut-header)/recordLen]
		if got := reopen(); !slices.Equal(got, want) {
			t.Fatalf("cut at %d: claims %v, not %v", cut, got, want)
		}
		check(t, p.WriteChunk(6, chunkOf(data, id.Layout, 6)))
		check(t, p.Close())
		want = slices.Sorted(slices.Values(append(slices.Clone(want), 6)))
		if got := reopen(); !slices.Equal(got, want) {
			t.Fatalf("cut at %d, one more chunk: claims %v, not %v", cut, got, want)
		}
		check(t, p.Close())
	}
}

func TestMergeRuns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		runs := rapid.SliceOf(rapid.Custom(func(r *rapid.T) run {
			return run{rapid.Int64Range(0, 60).Draw(r, "first"), rapid.Int64Range(1, 9).Draw(r, "count")}
		})).Draw(r, "runs")
		want, got := map[int64]bool{}, map[int64]bool{}
		for _, u := range runs {
			for i := range u.count {
				want[u.first+i] = true
			}
		}
		last := int64(math.MinInt64)
		for _, u := range mergeRuns(runs) {
			if u.first <= last {
				r.Fatalf("run %v touches the one that ends at %d", u, last)
			}
			last = u.first + u.count
			for i := range u.count {
				got[u.first+i] = true
			}
		}
		if len(got) != len(want) {
			r.Fatalf("%d chunks became %d", len(want), len(got))
		}
	})
}

// FuzzJournal feeds arbitrary bytes to the decoder. What it accepts is in range and encodes to the accepted bytes.
func FuzzJournal(f *testing.F) {
	id := sampleIdentity(f)
	f.Add(encode(id, []run{{0, 3}, {999, 1}}))
	f.Add(encode(Identity{Layout: wire.Layout{Size: math.MaxInt64, ChunkSize: 1}}, nil))
	f.Add([]byte(journalMagic + "\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, runs, good, err := decode(b)
		if err != nil {
			return
		}
		for _, r := range runs {
			if r.first < 0 || r.count <= 0 || r.first+r.count > id.Chunks() {
				t.Fatalf("run %v of %d chunks", r, id.Chunks())
			}
		}
		if !bytes.Equal(encode(id, runs), b[:good]) {
			t.Fatal("the good prefix doesn't encode to itself")
		}
	})
}
