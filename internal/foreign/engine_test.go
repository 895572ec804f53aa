package foreign

import (
	"bytes"
	"errors"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestQuestion has the bytes of the first Interest: /a/32=metadata, CanBePrefix, MustBeFresh, Nonce, HopLimit.
func TestQuestion(t *testing.T) {
	e := New(Config{Seed: 1})
	e.Start(0, Request{Name: wire.MustParseName("/a")})
	buf := make([]byte, 200)
	n, _ := e.Transmit(0, Face, buf)
	want := []byte{
		100, 40, 98, 6, 0, 0, 0, 1, 0, 0,
		80, 30, 5, 28, 7, 13, 8, 1, 'a', 32, 8, 'm', 'e', 't', 'a', 'd', 'a', 't', 'a', 33, 0, 18, 0, 10, 4, 0, 0, 0, 0, 34, 1, 64,
	}
	if n != len(want) {
		t.Fatalf("sent %x, want %x", buf[:n], want)
	}
	copy(want[35:39], buf[35:39]) // the Nonce is random
	if !bytes.Equal(buf[:n], want) {
		t.Fatalf("sent %x, want %x", buf[:n], want)
	}
}

func TestDiscovery(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*producer)
		ask    func(*producer) wire.Name
	}{
		{"metadata", func(p *producer) { p.prefix = false }, nil},
		{"no metadata", func(p *producer) { p.metadata = false }, nil},
		{"name with a version", func(p *producer) { p.metadata, p.prefix = false, false }, (*producer).base},
		{"one segment", func(p *producer) { p.segments = p.segments[:1] }, nil},
		{"empty", func(p *producer) { p.segments = [][]byte{{}} }, nil},
		{"other signatures", func(p *producer) { p.sign = wire.SignatureECDSA }, nil},
		{"FinalBlockId in the last segment alone", func(p *producer) {
			p.finals = func(n int) int {
				if n == len(p.segments)-1 {
					return n
				}
				return -1
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProducer("/other/file", 40, 1000)
			c.change(p)
			w, name := newWorld(t, p), p.name
			if c.ask != nil {
				name = c.ask(p)
			}
			s := w.fetch(name)
			if !w.found.Equal(p.base()) {
				t.Errorf("found %v, want %v", w.found, p.base())
			}
			unsigned := int64(0)
			if p.sign != wire.SignatureSHA256 {
				unsigned = int64(len(p.segments))
			}
			if s.Unsigned != unsigned || s.Bytes != int64(w.got.Len()) || s.Segments != int64(len(p.segments)) {
				t.Errorf("statistics %+v", s)
			}
		})
	}
}

// TestPastTheEnd: a producer may refuse what comes after the last segment, in either way, before the last one is known.
func TestPastTheEnd(t *testing.T) {
	for _, content := range []bool{false, true} {
		p := newProducer("/f", 1, 10)
		w := newWorld(t, p)
		n := 0
		w.change = func(i *wire.Interest, out *wire.Packet, d *wire.Data) bool {
			_, _, segment, ok := i.Name.SplitChunk()
			switch {
			case !ok:
			case segment > 0 && content:
				w.p.segments = append(w.p.segments, []byte("no"))
				d = w.p.answer(i)
				w.p.segments = w.p.segments[:1]
				d.ContentType, d.SignatureType, d.SignatureValue = wire.ContentNack, wire.SignatureNull, nil
				*out = wire.Packet{PitToken: out.PitToken, Fragment: d.Append(nil)}
				w.e.Receive(w.now, Face, 0, out.Append(nil)) // overtakes all
				return false
			case segment > 0:
				return nack(wire.NackNoRoute)(i, out, d)
			default:
				n++
				return n > 2 // the one that is there is lost at first
			}
			return true
		}
		w.fetch(p.name)
	}
}

// TestOnePacket: an object that is no segment at all.
func TestOnePacket(t *testing.T) {
	p := newProducer("/one", 1, 100)
	w := newWorld(t, p)
	w.change = func(i *wire.Interest, _ *wire.Packet, d *wire.Data) bool {
		if !i.Name.Equal(p.name) {
			return false
		}
		*d = *p.data(p.name, p.segments[0], -1)
		return true
	}
	w.fetch(p.name)
}

func nack(reason wire.NackReason) func(*wire.Interest, *wire.Packet, *wire.Data) bool {
	return func(_ *wire.Interest, out *wire.Packet, _ *wire.Data) bool {
		out.Nack, out.NackReason = true, reason
		return true
	}
}

func TestFailures(t *testing.T) {
	content := func(typ uint64, text string) func(*wire.Interest, *wire.Packet, *wire.Data) bool {
		return func(_ *wire.Interest, _ *wire.Packet, d *wire.Data) bool {
			p := newProducer("/f", 1, 1)
			if d == nil {
				return false
			}
			*d = *p.data(d.Name, []byte(text), -1)
			d.ContentType, d.SignatureType, d.SignatureValue = typ, wire.SignatureNull, nil
			return true
		}
	}
	for _, c := range []struct {
		name   string
		change func(*wire.Interest, *wire.Packet, *wire.Data) bool
		want   error
		within machine.Time
	}{
		{"no answer", func(*wire.Interest, *wire.Packet, *wire.Data) bool { return false }, ErrTimeout, 31 * machine.Second},
		{"no route", nack(wire.NackNoRoute), ErrNoRoute, 5 * machine.Second},
		{"the producer says no", content(wire.ContentNack, "not found"), ErrNotFound, machine.Second},
		{"digest always wrong", func(i *wire.Interest, _ *wire.Packet, d *wire.Data) bool {
			if _, _, _, ok := i.Name.SplitChunk(); ok && d != nil {
				d.SignatureValue = make([]byte, 32)
			}
			return true
		}, ErrIntegrity, 10 * machine.Second},
		{"a last segment before what came", func(i *wire.Interest, _ *wire.Packet, d *wire.Data) bool {
			if _, _, n, ok := i.Name.SplitChunk(); ok && n == 5 {
				d.FinalBlock = wire.Name(nil).AppendNumber(wire.TypeSegment, 2)
				d.SignatureType, d.SignatureValue = wire.SignatureNull, nil
			}
			return true
		}, ErrIntegrity, 10 * machine.Second},
		{"another object below the name", func(i *wire.Interest, _ *wire.Packet, d *wire.Data) bool {
			if c, ok := i.Name.At(1); d == nil || ok && c.Type == wire.TypeKeyword {
				return false
			}
			d.Name = wire.MustParseName("/f/deeper/object/v=1/seg=0")
			d.SignatureType, d.SignatureValue = wire.SignatureNull, nil
			return true
		}, ErrNotFound, 10 * machine.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newProducer("/f", 20, 100))
			w.change = c.change
			if err := w.run(w.e.Start(0, Request{Name: w.p.name})); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if w.now > c.within {
				t.Fatalf("told after %.1f s", w.now.Seconds())
			}
		})
	}
}
