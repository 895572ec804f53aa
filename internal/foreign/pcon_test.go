package foreign

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

func newPCONWorld(t *testing.T, segments int) *world {
	w := newWorld(t, newProducer("/f", segments, 100))
	w.e = New(Config{Seed: 1, Control: PCON})
	return w
}

// TestPCONReordering: what is overtaken isn't lost; only a timeout is a loss.
func TestPCONReordering(t *testing.T) {
	w := newPCONWorld(t, 300)
	w.service, w.queue = 0, 1000
	var at, again machine.Time
	w.change = func(i *wire.Interest, _ *wire.Packet, _ *wire.Data) bool {
		if _, _, n, ok := i.Name.SplitChunk(); ok && n == 50 {
			if at == 0 {
				at = w.now
				return false
			}
			again = w.now
		}
		return true
	}
	s := w.fetch(w.p.name)
	if s.Resent != 1 || again-at < minRTO {
		t.Fatalf("sent again after %.3f s: %+v", (again - at).Seconds(), s)
	}
}

// TestPCONMarks: every mark shrinks the window, and timeouts once per window.
func TestPCONMarks(t *testing.T) {
	w := newPCONWorld(t, 2000)
	w.queue, w.mark = 400, 20
	s := w.fetch(w.p.name)
	if s.Marked < 2 || s.Decreases != s.Marked {
		t.Fatalf("%d marks, %d decreases", s.Marked, s.Decreases)
	}
	w = newPCONWorld(t, 400)
	w.queue = 1000
	lost := map[uint64]bool{}
	w.change = func(i *wire.Interest, _ *wire.Packet, _ *wire.Data) bool {
		if _, _, n, ok := i.Name.SplitChunk(); ok && n >= 200 && n < 240 && n%4 == 0 && !lost[n] {
			lost[n] = true
			return false
		}
		return true
	}
	if s = w.fetch(w.p.name); len(lost) != 10 || s.Resent != 10 || s.Decreases > 2 {
		t.Fatalf("%d lost: %+v", len(lost), s)
	}
}

// TestPCONNacks: a Nack is not heard: what it refuses comes after a timeout.
func TestPCONNacks(t *testing.T) {
	w := newPCONWorld(t, 300)
	w.queue = 1000
	n := 0
	w.change = func(i *wire.Interest, out *wire.Packet, _ *wire.Data) bool {
		if _, _, segment, ok := i.Name.SplitChunk(); ok && segment == 99 && n == 0 {
			n++
			return nack(wire.NackDuplicate)(i, out, nil)
		}
		return true
	}
	if s := w.fetch(w.p.name); s.Resent != 1 || s.Decreases != 1 || s.Received != s.Bytes {
		t.Fatalf("%+v", s)
	}
}
