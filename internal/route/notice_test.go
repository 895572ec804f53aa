package route

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// note is a notice of tests: its content says its topic and number, and is size bytes long.
func note(topic, number uint64, size int) Notice {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte("note"), topic), number)
	return Notice{topic, number, append(b, make([]byte, max(0, size-len(b)))...)}
}

func readNote(b []byte) (topic, number uint64, ok bool) {
	if len(b) < 20 || string(b[:4]) != "note" {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:]), true
}

func notes(list ...Notice) (records []byte) {
	for _, n := range list {
		records = append(appendRecord(records, recordNotice, len(n.Content)), n.Content...)
	}
	return records
}

// numbers are those of the notices in messages.
func numbers(list []message) (all []uint64) {
	for _, m := range list {
		for _, c := range m.notices {
			_, number, _ := readNote(c)
			all = append(all, number)
		}
	}
	return all
}

func noticeRig(t *testing.T) *rig {
	return newRig(t, Config{ID: 1, Boot: 1, Relay: true, Notice: readNote})
}

// TestNotice: the newest of a topic is told once, to all but who brought it, until it is acknowledged.
func TestNotice(t *testing.T) {
	r := noticeRig(t)
	a, b := r.linked(1, 2), r.linked(2, 3)
	a.send(notes(note(7, 5, 100)))
	if got := numbers(a.drain()); len(got) != 0 {
		t.Errorf("a is told what it brought: %v", got)
	}
	first := b.drain()
	if got := numbers(first); !slices.Equal(got, []uint64{5}) {
		t.Errorf("b is told %v", got)
	}
	r.run(2 * machine.Second) // b doesn't acknowledge
	b.hear()
	r.r.FaceUp(r.now, 2)
	b = &script{rig: r, face: 2, header: header{id: 3, boot: 7, session: 9}}
	b.hear()
	b.send()
	again := b.drain()
	if got := numbers(again); !slices.Equal(got, []uint64{5}) {
		t.Errorf("b is told again: %v", got)
	}
	b.thank(again...)
	b.send(notes(note(7, 4, 100))) // older: it has crossed ours
	if got := numbers(b.drain()); len(got) != 0 {
		t.Errorf("b has acknowledged it, and is told %v", got)
	}
}

// TestNoticeLost: what isn't acknowledged is told again.
func TestNoticeLost(t *testing.T) {
	r := noticeRig(t)
	a := r.linked(1, 2)
	r.r.Tell(r.now, note(7, 5, 5000))
	if got := numbers(a.drain()); !slices.Equal(got, []uint64{5}) {
		t.Fatalf("%v", got)
	}
	r.run(600 * ms)
	list := a.drain()
	if got := numbers(list); !slices.Equal(got, []uint64{5}) {
		t.Fatalf("again: %v", got)
	}
	r.r.Tell(r.now, note(7, 6, 10)) // overtakes it
	a.thank(list...)
	if got := numbers(a.drain()); !slices.Equal(got, []uint64{6}) {
		t.Errorf("then %v", got)
	}
}

// TestOldNotice: who brings an old one is told the new one.
func TestOldNotice(t *testing.T) {
	r := noticeRig(t)
	r.r.Tell(r.now, note(7, 5, 0))
	s := r.stranger(1, 2, 7)
	s.hear()
	s.send(notes(note(7, 4, 0)))
	if got := numbers(s.drain()); !slices.Equal(got, []uint64{5}) {
		t.Errorf("%v", got)
	}
}

func TestNoticeBounds(t *testing.T) {
	r := noticeRig(t)
	a := r.linked(1, 2)
	a.send(notes(Notice{Content: []byte("nonsense")}))
	if r.dropped(BadNotice) != 1 {
		t.Error("nonsense is taken")
	}
	r.r.Tell(r.now, note(1, 1, MaxNotice+1))
	r.r.Tell(r.now, note(1, 0, 0))
	if len(r.r.notices) != 0 {
		t.Errorf("%d are held", len(r.r.notices))
	}
	for i := range uint64(MaxNotices + 3) {
		r.r.Tell(r.now, note(i, 1, MaxNotice))
	}
	if len(r.r.notices) != MaxNotices || r.dropped(TooManyNotices) != 3 {
		t.Errorf("%d are held, %d dropped", len(r.r.notices), r.dropped(TooManyNotices))
	}
	var got []uint64
	for range MaxNotices {
		list := a.drain()
		got = append(got, numbers(list)...)
		a.thank(list...)
	}
	if len(got) != MaxNotices {
		t.Errorf("%d of %d are told", len(got), MaxNotices)
	}
	// With acknowledgements to say, the longest still gets through.
	for range maxOwed {
		a.send(notes(note(0, 1, MaxNotice)))
	}
	r.r.Tell(r.now, note(3, 2, MaxNotice))
	r.run(ackDelay)
	if got := numbers(a.drain()); !slices.Equal(got, []uint64{2}) {
		t.Errorf("beside acknowledgements %v", got)
	}
}

// TestNoticesSpread: whatever happens to faces and packets, every node ends with the newest notice of each topic.
func TestNoticesSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(t, "seed"))
		w.loss = float64(rapid.IntRange(0, 20).Draw(t, "loss, %")) / 100
		n := rapid.IntRange(2, 8).Draw(t, "nodes")
		for i := range n {
			h := w.plain(i%3 > 0)
			h.cfg.Notice = readNote
			h.start()
			if i > 0 {
				w.join(w.hosts[rapid.IntRange(0, i-1).Draw(t, "parent")], h)
			}
		}
		newest := map[uint64]uint64{}
		for number := range rapid.Uint64Range(1, 6).Draw(t, "notices") {
			h := w.hosts[rapid.IntRange(0, n-1).Draw(t, "teller")]
			topic := rapid.Uint64Range(0, 2).Draw(t, "topic")
			newest[topic] = number + 1
			h.router.Tell(w.now, note(topic, number+1, rapid.SampledFrom([]int{20, 3000, MaxNotice}).Draw(t, "bytes")))
			h.pump()
			c := w.wires[rapid.IntRange(0, len(w.wires)-1).Draw(t, "cable")]
			c.setCut(rapid.Bool().Draw(t, "cut"))
			w.run(machine.Time(rapid.IntRange(0, 1500).Draw(t, "pause, ms")) * ms)
		}
		for _, c := range w.wires {
			c.setCut(false)
		}
		agreed := func() bool {
			for _, h := range w.hosts {
				for topic, number := range newest {
					i, held := h.router.notice(topic)
					if !held || h.router.notices[i].Number != number || !bytes.HasPrefix(h.router.notices[i].Content, []byte("note")) {
						return false
					}
				}
			}
			return true
		}
		if took := w.until(100*ms, 20*machine.Second, agreed); took < 0 {
			t.Fatal("no agreement")
		}
	})
}
