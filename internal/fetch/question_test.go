package fetch

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// asked is an engine that has asked for /s/a, and the question.
func asked(t *testing.T) (*Engine, question) {
	t.Helper()
	e := New(Config{Src: source})
	e.Start(0, Request{Name: wire.MustParseName("/s/a")})
	var buf [wire.MaxPacket]byte
	n, _ := e.Transmit(0, Face, buf[:])
	if n <= 0 {
		t.Fatal("it doesn't ask")
	}
	return e, parse(buf[:n])
}

// TestMetadata is what the engine makes of answers to its question, honest and hostile.
func TestMetadata(t *testing.T) {
	honest := newObject("/s/a", 100_000, 0, 1)
	answer := func(change func(m *wire.Metadata)) wire.Data {
		var m wire.Metadata
		if err := m.Decode(honest.metadata()); err != nil {
			t.Fatal(err)
		}
		change(&m)
		return wire.Data{
			Name: wire.MustParseName("/s/a/32=metadata").AppendChunk(honest.manifest.Version(), 0), Content: m.Append(nil),
		}
	}
	same := func(*wire.Metadata) {}
	refusal := func(says string) wire.Data {
		return wire.Data{Name: wire.MustParseName("/s/a/32=metadata"), ContentType: wire.ContentNack, Content: []byte(says)}
	}
	for _, c := range []struct {
		say    string
		data   wire.Data
		signed bool
		want   error // nil: it goes on to the manifest; errIgnored: it asks again
	}{
		{"honest", answer(same), true, nil},
		{"not signed", answer(same), false, errIgnored},
		{"another name", func() wire.Data { d := answer(same); d.Name = wire.MustParseName("/s/b/32=metadata"); return d }(), true, errIgnored},
		{"the object's name only", func() wire.Data { d := answer(same); d.Name = wire.MustParseName("/s/a"); return d }(), true, errIgnored},
		{"no metadata marker", func() wire.Data { d := answer(same); d.Name = wire.MustParseName("/s/a/metadata"); return d }(), true, errIgnored},
		{"a stranger's", answer(func(m *wire.Metadata) { m.HasMARS = false }), true, ErrForeign},
		{"a stranger's, signed with a key", answer(func(m *wire.Metadata) { m.HasMARS = false }), false, ErrForeign},
		{"nothing in it", wire.Data{Name: answer(same).Name, Content: []byte{}}, true, ErrForeign},
		{"not metadata", wire.Data{Name: answer(same).Name, Content: []byte("metadata")}, true, ErrForeign},
		{"of another object", answer(func(m *wire.Metadata) {
			m.Name = wire.MustParseName("/s/b").AppendNumber(wire.TypeVersion, honest.manifest.Version())
		}), true, ErrIntegrity},
		{"of an object below it", answer(func(m *wire.Metadata) {
			m.Name = wire.MustParseName("/s/a/b").AppendNumber(wire.TypeVersion, honest.manifest.Version())
		}), true, ErrIntegrity},
		{"of the greatest object there can be", answer(func(m *wire.Metadata) { m.Size, m.ChunkSize = math.MaxInt64, 1 }), true, ErrTooLarge},
		{"of 3 TB", answer(func(m *wire.Metadata) { m.Size = 3e12 }), true, ErrTooLarge},
		{"of 2 TB", answer(func(m *wire.Metadata) { m.Size = 2e12 }), true, nil},
		{"not found", refusal(saysNotFound), true, ErrNotFound},
		{"not found, but not signed", refusal(saysNotFound), false, errIgnored},
		{"not found, by the name of an answer", func() wire.Data { d := refusal(saysNotFound); d.Name = answer(same).Name; return d }(), true, errIgnored},
		{"metadata by the name of the question", func() wire.Data { d := answer(same); d.Name = refusal("").Name; return d }(), true, errIgnored},
		{"metadata with something behind it", func() wire.Data { d := answer(same); d.Name = d.Name.AppendNumber(wire.TypeSegment, 0); return d }(), true, errIgnored},
		{"metadata, segment 1", func() wire.Data { d := answer(same); d.Name = refusal("").Name.AppendChunk(1, 1); return d }(), true, errIgnored},
		{"metadata without a version", func() wire.Data {
			d := answer(same)
			d.Name = refusal("").Name.AppendNumber(wire.TypeSegment, 0)
			return d
		}(), true, errIgnored},
		{"busy", refusal(saysBusy), true, errIgnored},
		{"an unknown refusal", refusal("no"), true, errIgnored},
	} {
		t.Run(c.say, func(t *testing.T) {
			e, q := asked(t)
			var p producer
			if !c.signed {
				c.data.SignatureType, c.data.SignatureValue = wire.SignatureEd25519, make([]byte, 64)
				h := wire.Packet{PitToken: q.token, Fragment: c.data.Append(nil)}
				e.Receive(ms, Face, machine.NotECT, h.Append(nil))
			} else {
				e.Receive(ms, Face, machine.NotECT, p.data(q, c.data, true))
			}
			if got := outcome(e); !errors.Is(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

var errIgnored = errors.New("the question is asked again")

// outcome is how an engine with one transfer stands: nil when it fetches the manifest.
func outcome(e *Engine) error {
	if events := e.Events(nil); len(events) > 0 {
		return events[0].Err
	}
	var buf [wire.MaxPacket]byte
	now := 260 * ms
	e.Advance(now)
	n, _ := e.Transmit(now, Face, buf[:])
	if n <= 0 {
		return errors.New("it does nothing")
	}
	if q := parse(buf[:n]); q.kind == metadata {
		return errIgnored
	}
	return nil
}

// TestBusyForEver: a producer that says nothing but "busy" keeps a transfer alive for long, but not for ever.
func TestBusyForEver(t *testing.T) {
	const stall = 10 * machine.Second
	e := New(Config{Src: source, Stall: stall})
	e.Start(0, Request{Name: wire.MustParseName("/s/a")})
	var p producer
	var buf [wire.MaxPacket]byte
	for now := machine.Time(0); now < 100*stall; now = e.Deadline() {
		e.Advance(now)
		if n, _ := e.Transmit(now, Face, buf[:]); n > 0 {
			e.Receive(now, Face, machine.NotECT, p.refuse(parse(buf[:n]), saysBusy))
		}
		for _, ev := range e.Events(nil) {
			if !errors.Is(ev.Err, ErrBusy) || now < 50*stall {
				t.Errorf("after %v s: %v", now.Seconds(), ev.Err)
			}
			return
		}
	}
	t.Error("it waits for ever")
}

// TestOnlyLeaf: digests that come with the metadata save the manifest's segments; false ones, of another object or torn, don't
// hurt.
func TestOnlyLeaf(t *testing.T) {
	honest, other := newObject("/s/a", 100_000, 0, 1), newObject("/s/a", 100_000, 0, 2)
	leaf := honest.manifest.Segment(1)
	for _, c := range []struct {
		say   string
		leaf  []byte
		saves bool
	}{{"the right one", leaf, true}, {"another object's", other.manifest.Segment(1), false}, {"torn", leaf[:32], false}, {"empty", []byte{}, false}} {
		var m wire.Metadata
		if err := m.Decode(honest.metadata()); err != nil {
			t.Fatal(err)
		}
		m.Leaf, m.MTime = c.leaf, 77
		e, q := asked(t)
		p := producer{objects: []*object{honest}}
		name := wire.MustParseName("/s/a/32=metadata").AppendChunk(honest.manifest.Version(), 0)
		e.Receive(ms, Face, machine.NotECT, p.data(q, wire.Data{Name: name, Content: m.Append(nil)}, true))
		events := e.Events(nil)
		if got := len(events) == 1 && events[0].Kind == Resolved && events[0].Object.MTime == 77; got != c.saves {
			t.Errorf("%s: %v", c.say, events)
		}
		if c.saves {
			e.Accept(ms, 1, nil)
		}
		var buf [wire.MaxPacket]byte
		n, _ := e.Transmit(ms, Face, buf[:])
		if n <= 0 {
			t.Fatalf("%s: it asks for nothing", c.say)
		}
		if q := parse(buf[:n]); (q.kind == chunk) != c.saves {
			t.Errorf("%s: it asks for %v", c.say, q.name)
		}
	}
}

// TestMemoryOfLargeObjects: what metadata claims costs nothing before it is confirmed.
func TestMemoryOfLargeObjects(t *testing.T) {
	large := newObject("/s/a", 100, 0, 1)
	large.size = 2e12
	e, q := asked(t)
	p := producer{objects: []*object{large}}
	allocated := testing.AllocsPerRun(1, func() { e.Receive(ms, Face, machine.NotECT, p.answer(q)) })
	if tr := e.transfers[1]; tr.done != nil || tr.leafState != nil || tr.out != nil || allocated > 100 {
		t.Errorf("%v allocations before anything came", allocated)
	}
}

// TestQuestionsAreBounded: as many transfers as there are, so many questions at once; those without an answer let others
// go before they ask again.
func TestQuestionsAreBounded(t *testing.T) {
	w := newWorld(t, Config{})
	w.dead = true
	var objects []*object
	for i := range 3 * maxOpen {
		o := newObject(fmt.Sprintf("/s/o%d", i), 1, 0, uint64(i))
		objects = append(objects, o)
		w.start(o, Request{Stall: 5 * sec})
	}
	w.p.objects = objects
	if len(w.sent) != maxOpen {
		t.Errorf("%d questions at once, want %d", len(w.sent), maxOpen)
	}
	w.until(250 * ms)
	if len(w.sent) != 2*maxOpen {
		t.Errorf("%d asked after 250 ms, want %d", len(w.sent), 2*maxOpen)
	}
	w.until(500 * ms)
	if len(w.sent) != 3*maxOpen {
		t.Errorf("%d asked after 500 ms, want all", len(w.sent))
	}
	w.finish()
	for id, a := range w.apps {
		if !errors.Is(a.err, ErrTimeout) || a.ended != 5*sec {
			t.Fatalf("transfer %d: %v at %v", id, a.err, a.ended)
		}
	}
	w.clean()
}

// TestBusyAnswerInLine: who is told to ask later, while others keep it from asking again, asks later.
func TestBusyAnswerInLine(t *testing.T) {
	o := newObject("/s/first", 1, 0, 1)
	w := newWorld(t, Config{}, o)
	w.dead = true
	w.start(o, Request{})
	first := w.e.pendings.slots[0]
	q := question{token: tokenOf(first), name: wire.MustParseName("/s/first/32=metadata"), kind: metadata}
	for i := range 2*maxOpen - 1 {
		w.start(newObject(fmt.Sprintf("/s/o%d", i), 1, 0, 2), Request{})
	}
	w.until(260 * ms) // the others have been asked about, and it waits to ask again
	w.e.Receive(w.now, Face, machine.NotECT, w.p.refuse(q, saysBusy))
	w.drain()
	w.until(505 * ms)
	if n := w.sent["first/meta"]; n != 1 {
		t.Errorf("asked %d times after 245 ms", n)
	}
	w.until(1000 * ms) // the others' turn, and then its own
	if n := w.sent["first/meta"]; n != 2 {
		t.Errorf("asked %d times after 740 ms", n)
	}
}

// TestQuestionBackoff bounds the wait between questions.
func TestQuestionBackoff(t *testing.T) {
	for asked, want := range map[int]machine.Time{0: 250 * ms, 1: 500 * ms, 2: sec, 3: 2 * sec, 4: 2 * sec, 1 << 30: 2 * sec} {
		if got := backoff(asked); got != want {
			t.Errorf("after %d: %v, want %v", asked, got, want)
		}
	}
}
