package fetch

import (
	"errors"
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// midway is a world in the middle of a transfer of 20 chunks, all in flight with their leaf.
func midway(t testing.TB) (*world, ID, *object) {
	o := newObject("/s/a", 2000, 100, 1)
	w := newWorld(t, Config{}, o)
	id := w.start(o, Request{})
	w.until(50 * ms)
	return w, id, o
}

// TestHostileData: Data and Nacks that answer nothing change nothing.
func TestHostileData(t *testing.T) {
	w, id, o := midway(t)
	var target *pending
	for _, p := range w.e.pendings.slots {
		if p.t != nil && p.kind == chunk {
			target = p
		}
	}
	q := question{token: tokenOf(target), name: target.appendName(nil), index: target.index}
	other := func(n wire.Name) wire.Data { return wire.Data{Name: n, Content: o.chunk(target.index)} }
	prefix := w.e.transfers[id].chunks
	free := q
	free.token = []byte{0, 0, 255, 255, 0, 0}
	stale := q
	stale.token = clone(q.token)
	stale.token[5]++
	short := q
	short.token = q.token[:4]
	nack := q
	i := wire.Interest{Name: q.name, Nonce: target.nonce + 1, HasNonce: true}
	nack.raw = i.Append(nil)
	data := other(q.name)
	for say, datagram := range map[string][]byte{
		"nothing":                  {},
		"noise":                    []byte("not a packet"),
		"an idle packet":           (&wire.Packet{PitToken: q.token}).Append(nil),
		"a fragment":               (&wire.Packet{PitToken: q.token, HasSequence: true, FragCount: 2, Fragment: data.Append(nil)}).Append(nil),
		"an Interest":              (&wire.Packet{PitToken: q.token, Fragment: i.Append(nil)}).Append(nil),
		"without a token":          w.p.data(question{}, data, false),
		"a token of no slot":       w.p.data(free, data, false),
		"a token of long ago":      w.p.data(stale, data, false),
		"a token of another form":  w.p.data(short, data, false),
		"another chunk's name":     w.p.data(q, other(prefix.Clone().AppendNumber(wire.TypeSegment, uint64(target.index+1))), false),
		"the version's name":       w.p.data(q, other(prefix), false),
		"a longer name":            w.p.data(q, other(q.name.Clone().AppendNumber(wire.TypeSegment, 0)), false),
		"a huge number":            w.p.data(q, other(prefix.Clone().AppendNumber(wire.TypeSegment, 1<<63)), false),
		"no number":                w.p.data(q, other(prefix.Clone().Append(wire.TypeSegment, []byte{1, 2, 3})), false),
		"a Nack of earlier":        w.p.nack(nack, wire.NackCongestion),
		"a Nack of what isn't one": w.p.nack(question{token: q.token, raw: data.Append(nil)}, wire.NackNoRoute),
	} {
		before := w.e.Stats(id)
		w.e.Receive(w.now, Face, machine.NotECT, datagram)
		if events := w.e.Events(nil); len(events) != 0 || w.e.Stats(id) != before || target.t == nil || target.lost {
			t.Errorf("%s: %v, %+v", say, events, w.e.Stats(id))
		}
	}
	w.e.Receive(w.now, Face, machine.NotECT, w.p.data(q, data, false))
	if tr := w.e.transfers[id]; tr.kept != 1 || len(tr.held[0]) != 1 || tr.held[0][0].index != q.index {
		t.Errorf("the true one isn't held for its leaf: %d", tr.kept)
	}
}

func tokenOf(p *pending) []byte {
	return []byte{byte(p.slot >> 24), byte(p.slot >> 16), byte(p.slot >> 8), byte(p.slot), byte(p.gen >> 8), byte(p.gen)}
}

// FuzzReceive: nothing that a stranger sends makes the engine panic or spin, or gets past a digest. What arrives carries
// a token that is good, or none of ours.
func FuzzReceive(f *testing.F) {
	w, _, o := midway(f)
	for i, q := range []question{
		{name: o.name.Clone().AppendString(wire.TypeKeyword, wire.KeywordMetadata), kind: metadata, object: o.name},
		{name: wire.MustParseName("/s/x"), kind: chunk, object: o.name, vers: o.manifest.Version()},
		{name: wire.MustParseName("/s/x"), kind: segment, object: o.name, vers: o.manifest.Version(), index: 1},
	} {
		f.Add(uint16(i), w.p.answer(q))
		f.Add(uint16(i), w.p.refuse(q, "version gone"))
	}
	f.Fuzz(func(t *testing.T, slot uint16, datagram []byte) {
		w, _, _ := midway(t)
		for _, phase := range []machine.Time{0, 5 * ms} {
			w.until(w.now + phase)
			var p wire.Packet
			if p.Decode(datagram) == nil && len(w.e.pendings.slots) > 0 {
				target := w.e.pendings.slots[int(slot)%len(w.e.pendings.slots)]
				p.PitToken = tokenOf(target)
				var d wire.Data
				if target.t != nil && target.kind != metadata && !p.Nack && d.Decode(p.Fragment) == nil {
					d.Name = target.appendName(nil)
					p.Fragment = d.Append(nil)
				}
				w.e.Receive(w.now, Face, machine.NotECT, p.Append(nil))
			}
			w.e.Receive(w.now, Face, machine.NotECT, datagram)
			w.drain()
		}
		w.finish()
		for _, a := range w.apps {
			if a.err == nil && string(a.got) != string(a.o.content) {
				t.Fatal("other bytes")
			}
		}
	})
}

// TestTopPieces: of a top list in several pieces, one of the wrong length is fetched again by itself.
func TestTopPieces(t *testing.T) {
	o := newObject("/s/a", 5*62_500, 1, 1)
	if n := o.manifest.TopSegments(); n != 6 {
		t.Fatalf("%d pieces", n)
	}
	for wrong := range int64(6) {
		w := newWorld(t, Config{}, o)
		w.delay = 100 * machine.Microsecond // one piece comes before the next is asked for
		id := w.start(o, Request{})
		for w.e.transfers[id].state != active {
			for i := range w.queue {
				f := &w.queue[i]
				if label := fmt.Sprintf("a/top%d", wrong); f.data != nil && w.sent[label] == 1 && !f.spoilt && w.labelOf(f.data) == label {
					var p wire.Packet
					var d wire.Data
					if p.Decode(f.data) != nil || d.Decode(p.Fragment) != nil {
						t.Fatal("no Data")
					}
					d.Content = append(d.Content, 0)
					p.Fragment = d.Append(nil)
					f.data, f.spoilt = p.Append(nil), true
				}
			}
			w.step()
		}
		for i := range int64(6) {
			want := 1
			if i == wrong {
				want = 2
			}
			if n := w.sent[fmt.Sprintf("a/top%d", i)]; n != want {
				t.Errorf("piece %d wrong: piece %d was asked for %d times", wrong, i, n)
			}
		}
	}
}

// TestLyingMetadata: a manifest that isn't the one promised is not believed, however often it comes.
func TestLyingMetadata(t *testing.T) {
	for _, c := range []struct {
		say  string
		lie  func(o *object)
		tops int // times that the top list is fetched
	}{
		{"another size", func(o *object) { o.size = o.manifest.Size - 1 }, 1},
		{"another digest", func(o *object) { o.digest[0] = 1 }, maxBad + 1},
	} {
		o := newObject("/s/a", 80_000, 0, 1)
		c.lie(o)
		w := newWorld(t, Config{}, o)
		w.p.anyVersion = true
		id := w.start(o, Request{})
		w.finish()
		if err := w.apps[id].err; !errors.Is(err, ErrIntegrity) || w.sent["a/top0"] != c.tops {
			t.Errorf("%s: %v after %d top lists", c.say, err, w.sent["a/top0"])
		}
	}
}
