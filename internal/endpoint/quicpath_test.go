package endpoint

import (
	"testing"

	"mars/internal/machine"
)

func twoQUICPaths() (a, b *quicLink) {
	return &quicLink{rate: 2e6, delay: 10 * quicMS, queue: 40 * quicMS}, &quicLink{rate: 2e6, delay: 20 * quicMS, queue: 40 * quicMS}
}

// TestQUICDeath: a path that dies without a word is given up after two probe timeouts; its data go by the other at once. When it is
// back, it is noticed within a second and carries data again.
func TestQUICDeath(t *testing.T) {
	for dead := range 2 {
		a, b := twoQUICPaths()
		links := []*quicLink{a, b}
		l := links[dead]
		w := newQUICWorld(t, 1, quicHow(t, "cubic"), 30_000_000, a, b)
		w.at(1000*quicMS, func() { l.hole = true })
		w.run(1000 * quicMS)
		p := w.server().all[dead]
		pto := p.out.pto()
		for !p.failed && w.step(5*machine.Second) {
		}
		if took := w.now - 1000*quicMS; took > 3*pto+50*quicMS || took < pto {
			t.Errorf("path %d given up after %d ms; its probe timeout is %d ms", dead, took/quicMS, pto/quicMS)
		}
		gave := w.now
		got := w.got
		w.run(gave + 500*quicMS)
		if rate := float64(w.got-got) / 0.5; rate < 1.6e6 { // what was under way on the dead path has come, and what waited for it
			t.Errorf("path %d dead: %.0f bytes per second", dead, rate)
		}
		w.run(8000 * quicMS)
		if !p.failed {
			t.Errorf("path %d counts as back", dead)
		}
		l.hole = false
		for p.failed && w.step(14*machine.Second) {
		}
		if took := w.now - 8000*quicMS; took > probeEvery+100*quicMS {
			t.Errorf("path %d noticed as back after %d ms", dead, took/quicMS)
		}
		before := p.sentBytes
		w.run(60 * machine.Second).whole()
		if p.sentBytes < before+1_000_000 {
			t.Errorf("path %d carried %d bytes after it was back", dead, p.sentBytes-before)
		}
	}
}

// TestQUICFaceDown: what the driver knows needs no timeout, both ways.
func TestQUICFaceDown(t *testing.T) {
	a, b := twoQUICPaths()
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 20_000_000, a, b)
	w.run(machine.Second)
	p := w.server().all[1]
	w.hosts[toClient].FaceDown(w.now, 2)
	w.pump()
	if !p.failed {
		t.Error("a path without a face is in use")
	}
	sent := b.sent[toClient]
	w.run(2 * machine.Second)
	if b.sent[toClient] != sent {
		t.Error("packets by a face that is down")
	}
	w.hosts[toClient].FaceUp(w.now, 2, machine.Face{MTU: quicMTU})
	w.pump()
	for p.failed && w.step(9*machine.Second) {
	}
	if took := w.now - 2*machine.Second; took > 100*quicMS {
		t.Errorf("in use again after %d ms", took/quicMS)
	}
	w.run(60 * machine.Second).whole()
}

// TestQUICAllDead: with every path dead the transfer waits, and goes on when one is back.
func TestQUICAllDead(t *testing.T) {
	a, b := twoQUICPaths()
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 20_000_000, a, b)
	w.at(machine.Second, func() { a.hole, b.hole = true, true })
	w.at(6*machine.Second, func() { b.hole = false })
	w.run(60 * machine.Second).whole()
	if s := w.done.Seconds(); s > 20 {
		t.Errorf("%.1f s", s)
	}
}

// TestQUICValidation: no data go by a path before the client has answered there (RFC 9000 §8.2), and a challenge that is lost is repeated.
func TestQUICValidation(t *testing.T) {
	a, b := twoQUICPaths()
	var got, sent, count int
	b.drop = nthTo(toServer, 1) // the first PATH_RESPONSE
	b.saw = func(way int, data []byte) {
		if way == toServer {
			got += len(data)
		} else if count++; count < 3 {
			if sent += len(data); sent > 3*got {
				t.Errorf("%d bytes to an address that sent %d", sent, got)
			}
		}
	}
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 10_000_000, a, b)
	for len(w.hosts[toClient].served) == 0 && w.step(machine.Second) {
	}
	for s := w.server(); (len(s.all) < 2 || s.all[1].state != pathStanding) && w.step(5*machine.Second); {
		if len(s.all) == 2 && s.all[1].state != pathStanding && s.all[1].sentBytes > 0 {
			t.Fatal("data before validation")
		}
	}
	if ms := w.now / quicMS; ms < 300 || ms > 1500 { // the client's timer is that of a path without a sample
		t.Errorf("validated at %d ms", ms)
	}
	w.run(20 * machine.Second).whole()
	if w.server().all[1].sentBytes < 1_000_000 {
		t.Error("the path carries little")
	}
}

// TestQUICUnanswered: a challenge that was acknowledged, but whose answer was lost, is repeated.
func TestQUICUnanswered(t *testing.T) {
	a, b := twoQUICPaths()
	lost := 0
	var w *quicWorld
	b.drop = func(way, _ int, data []byte) bool {
		if way == toServer && lost < 2 && holds(data, frameResponse) {
			lost++
			return true
		}
		return false
	}
	w = newQUICWorld(t, 1, quicHow(t, "cubic"), 10_000_000, a, b)
	w.run(20 * machine.Second).whole()
	if lost != 2 || w.server().all[1].sentBytes < 1_000_000 {
		t.Errorf("%d answers lost, %d bytes by the path", lost, w.server().all[1].sentBytes)
	}
}

// TestQUICLatePath: a path on which nothing came through at first is opened soon after something does.
func TestQUICLatePath(t *testing.T) {
	a, b := twoQUICPaths()
	b.hole = true
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 40_000_000, a, b)
	w.at(9*machine.Second, func() { b.hole = false })
	w.run(9 * machine.Second)
	for (len(w.server().all) < 2 || w.server().all[1].state != pathStanding) && w.step(20*machine.Second) {
	}
	if took := w.now - 9*machine.Second; took > probeEvery+200*quicMS {
		t.Errorf("open after %d ms", took/quicMS)
	}
	w.run(60 * machine.Second).whole()
}

// TestQUICStranger: packets to a connection ID that was never given out open no path.
func TestQUICStranger(t *testing.T) {
	a, _ := twoQUICPaths()
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 1_000_000, a)
	w.run(200 * quicMS)
	h := w.hosts[toClient]
	h.FaceUp(w.now, 2, machine.Face{MTU: quicMTU})
	h.Listen(2, &w.how)
	head := quicHeader{numBytes: 1, dest: w.server().ids[0].own}
	b := append(head.append(nil, 40), make([]byte, 40)...)
	h.Receive(w.now, 2, machine.NotECT, b) // that of path 0, which has its face
	head.dest[0]++
	h.Receive(w.now, 2, machine.NotECT, append(head.append(nil, 40), make([]byte, 40)...))
	if n := len(w.server().all); n != 1 || h.faces[1].conn != nil {
		t.Errorf("%d paths", n)
	}
	w.run(60 * machine.Second).whole()
}

// TestQUICSchedule: data go by the path with the least round-trip time that has room, or by each in turn; by another at once where the
// socket of the chosen one is full.
func TestQUICSchedule(t *testing.T) {
	share := func(how Transport, full func(machine.Time) bool) float64 {
		a, b := &quicLink{rate: 1e6, delay: 10 * quicMS, full: full}, &quicLink{rate: 1e6, delay: 40 * quicMS}
		w := newQUICWorld(t, 1, how, 3_000_000, a, b).run(20 * machine.Second)
		w.whole()
		return float64(w.server().all[0].sentBytes) / 3_000_000
	}
	how := quicHow(t, "reno")
	how.Buffer = 20_000 // less than a window: there is always room
	if s := share(how, nil); s < 0.95 {
		t.Errorf("%.2f by the faster path", s)
	}
	if s := share(how, func(now machine.Time) bool { return now > 500*quicMS }); s > 0.3 {
		t.Errorf("%.2f by a path whose socket is full", s)
	}
	how.Scheduler = RoundRobin
	if s := share(how, nil); s < 0.45 || s > 0.65 {
		t.Errorf("%.2f by the faster path in turns", s)
	}
}
