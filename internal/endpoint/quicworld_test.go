package endpoint

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"mars/cc"
	"mars/internal/machine"
)

const quicMTU = 1472 // a datagram in an IP packet of 1,500 bytes

// Ways of a quicLink: requests and acknowledgements go to the server, objects to the client.
const (
	toServer = iota
	toClient
)

// quicLink is one path, both ways alike.
type quicLink struct {
	rate  float64                            // bytes per second; 0: no queue
	delay machine.Time                       // one way
	queue machine.Time                       // what may wait, as a time; 0: no bound
	drop  func(way, n int, data []byte) bool // loses datagram n of a way, from 0
	mark  func(n int) bool                   // marks datagram n to the client, if it is ECN-capable
	late  func(way, n int) machine.Time      // holds it back
	saw   func(way int, data []byte)         // is told of what is sent
	full  func(now machine.Time) bool        // the server's socket takes nothing
	bleak bool                               // it clears ECN marks of what it carries
	twice bool                               // everything comes twice
	hole  bool                               // nothing comes through
	busy  [2]machine.Time                    // until when it is taken
	sent  [2]int                             // datagrams
	bytes [2]int64                           // and bytes
}

type quicArrival struct {
	at   machine.Time
	n    int
	way  int
	face machine.FaceID
	ecn  machine.ECN
	data []byte
	do   func()
}

// quicWorld is a client, a server of one object, and the paths between them.
type quicWorld struct {
	t       testing.TB
	now     machine.Time
	hosts   [2]*Host // the host that sends a way: toServer the client
	links   []*quicLink
	pending []quicArrival
	count   int
	id      ID
	how     Transport
	size    int64
	got     int64
	done    machine.Time
	err     error
	hash    uint64 // of all that arrived
}

// quicHow is a transport with the named controller.
func quicHow(t testing.TB, control string) Transport {
	t.Helper()
	a, err := cc.Lookup(control)
	if err != nil {
		t.Fatal(err)
	}
	return Transport{Protocol: MPQUIC, Control: a, Pace: true}
}

// newQUICWorld begins a transfer of size bytes over some paths.
func newQUICWorld(t testing.TB, seed uint64, how Transport, size int64, links ...*quicLink) *quicWorld {
	w := &quicWorld{t: t, how: how, size: size, links: links}
	w.hosts[toClient] = New(Config{Seed: seed, Size: func(object uint64) int64 {
		if object != 7 {
			return 0
		}
		return size
	}})
	w.hosts[toServer] = New(Config{Seed: seed + 1})
	var faces []machine.FaceID
	for i := range links {
		id := machine.FaceID(i + 1)
		faces = append(faces, id)
		for _, h := range w.hosts {
			h.FaceUp(0, id, machine.Face{MTU: quicMTU})
		}
		w.hosts[toClient].Listen(id, &w.how)
	}
	w.id = w.hosts[toServer].Fetch(0, Request{Object: 7, Faces: faces, Transport: &w.how})
	w.pump()
	return w
}

// at has something happen later.
func (w *quicWorld) at(when machine.Time, do func()) { w.add(quicArrival{at: when, do: do}) }

func (w *quicWorld) add(a quicArrival) {
	a.n = w.count
	w.count++
	i := len(w.pending)
	w.pending = append(w.pending, a)
	for ; i > 0 && w.pending[i-1].at > a.at; i-- {
		w.pending[i] = w.pending[i-1]
	}
	w.pending[i] = a
}

// run lets time pass until a moment, or until the transfer is over.
func (w *quicWorld) run(until machine.Time) *quicWorld {
	for w.done == 0 && w.err == nil && w.step(until) {
	}
	return w
}

// step lets the next thing happen; false: there is nothing before until.
func (w *quicWorld) step(until machine.Time) bool {
	at := machine.Never
	var due *Host
	for _, h := range w.hosts {
		if d := h.Deadline(); d < at {
			at, due = d, h
		}
	}
	if len(w.pending) > 0 && w.pending[0].at <= at {
		at, due = w.pending[0].at, nil
	}
	if at > until {
		w.now = until
		return false
	}
	w.now = max(w.now, at)
	if due != nil {
		due.Advance(w.now)
	} else {
		a := w.pending[0]
		w.pending = w.pending[1:]
		if a.do != nil {
			a.do()
		} else {
			h := fnv.New64a()
			h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, w.hash), uint64(a.at)))
			h.Write(a.data[:min(len(a.data), 40)])
			w.hash = h.Sum64()
			w.hosts[1-a.way].Receive(w.now, a.face, a.ecn, a.data)
		}
	}
	w.pump()
	return true
}

// pump moves what the hosts have to send to the paths.
func (w *quicWorld) pump() {
	for _, e := range w.hosts[toServer].Events(nil) {
		w.got += e.Bytes
		if e.Done && w.done == 0 {
			w.done = w.now
		}
		if e.Err != nil {
			w.err = e.Err
		}
	}
	for way, h := range w.hosts {
		for sent := true; sent; {
			sent = false
			for _, id := range h.Ready(nil) {
				for full := w.links[id-1].full; way != toClient || full == nil || !full(w.now); {
					buf := make([]byte, quicMTU)
					n, ecn := h.Transmit(w.now, id, buf)
					if n < 0 {
						w.t.Fatalf("%d bytes for a face of %d", -n, quicMTU)
					}
					if n == 0 {
						break
					}
					sent = true
					w.send(way, id, ecn, buf[:n])
				}
			}
		}
	}
}

// send puts a datagram on its path.
func (w *quicWorld) send(way int, id machine.FaceID, ecn machine.ECN, data []byte) {
	l := w.links[id-1]
	n := l.sent[way]
	l.sent[way]++
	l.bytes[way] += int64(len(data))
	if l.saw != nil {
		l.saw(way, data)
	}
	at := w.now
	if l.rate > 0 {
		if l.queue > 0 && l.busy[way] > w.now+l.queue {
			return
		}
		l.busy[way] = max(l.busy[way], w.now) + machine.Time(float64(len(data)+28)/l.rate*1e9)
		at = l.busy[way]
	}
	if l.hole || l.drop != nil && l.drop(way, n, data) {
		return
	}
	switch {
	case l.bleak:
		ecn = machine.NotECT
	case l.mark != nil && way == toClient && ecn != machine.NotECT && l.mark(n):
		ecn = machine.CE
	}
	if l.late != nil {
		at += l.late(way, n)
	}
	w.add(quicArrival{at: at + l.delay, way: way, face: id, ecn: ecn, data: data})
	if l.twice {
		w.add(quicArrival{at: at + l.delay + quicMS, way: way, face: id, ecn: ecn, data: data})
	}
}

// holds tells whether a datagram has a frame of a kind in it.
func holds(data []byte, kind uint64) bool {
	var h quicHeader
	rest, err := h.decode(data)
	if err != nil {
		return false
	}
	for b := h.open(rest, 0); len(b) > 0 && err == nil; {
		var f frame
		if b, err = f.next(b); err == nil && f.kind == kind {
			return true
		}
	}
	return false
}

// server and client are the two ends of the connection.
func (w *quicWorld) server() *quicConn { return w.hosts[toClient].served[0].conn.(*quicConn) }
func (w *quicWorld) client() *quicConn { return w.hosts[toServer].byID[0].(*quicConn) }

// whole fails unless the object has come, once.
func (w *quicWorld) whole() {
	w.t.Helper()
	if w.err != nil || w.done == 0 || w.got != w.size {
		w.t.Fatalf("%d of %d bytes have come by %v, done at %v, error %v", w.got, w.size, w.now, w.done, w.err)
	}
}

// lossy drops datagrams at random.
func lossy(seed uint64, chance float64) func(int, int, []byte) bool {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(int, int, []byte) bool { return r.Float64() < chance }
}

// nthTo drops the datagrams of these numbers that go a way.
func nthTo(way int, numbers ...int) func(int, int, []byte) bool {
	return func(dir, n int, _ []byte) bool {
		for _, k := range numbers {
			if dir == way && n == k {
				return true
			}
		}
		return false
	}
}
