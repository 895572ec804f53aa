package fetch

import (
	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// What profile `paper` leaves open at consumers, decided here and nowhere else.
const (
	// initialRate is the first rate, bytes of Data per second: 40 Mbit/s, twice that of a face. A consumer's Interests only
	// reach the Interest queue of its own node.
	initialRate = 5e6
	// minRate keeps about ten chunks a second coming.
	minRate = 80e3
	// initialWindow is the first W, chunks. The rate is what adapts; W only bounds what may be lost in silence, so it
	// must not be what limits a continental path at 200 Mbit/s.
	initialWindow = 256
	// maxWindow bounds W, chunks.
	maxWindow = 8192
	// What is in flight is bounded by what the flow delivers in this time, and in what its RTT_base exceeds 50 ms, and at least
	// leastWindow chunks: W only grows, and a queue that no feedback tells of (of a node by best-route, of a plain router) would
	// hold all of it (ADR 0011).
	standing    = 250 * machine.Millisecond
	leastWindow = 16
	// rateBurst is how much credit an idle flow may save up. It covers coarse timers and busy processors; a burst of Interests
	// only reaches the Interest queue of the own node.
	rateBurst = 10 * machine.Millisecond

	// queueAhead is how many Interests a flow that follows back-pressure keeps waiting in its own node: enough for every face to find one
	// when its window opens.
	queueAhead = 32

	// What a flow has learned is kept while nothing is fetched, for the next object from the same producer: for a
	// minute, since paths change, and for so many producers.
	flowMemory = 60 * machine.Second
	maxIdle    = 64
)

// flow is all that one consumer fetches from one producer prefix.
type flow struct {
	heard   machine.Time // when Data came last
	dest    wire.Name
	ctrl    cc.Paper // Algorithm 1, per flow
	window  float64  // W, chunks
	tokens  float64  // bytes of Data that may be asked for now
	tokenAt machine.Time

	seq         uint64 // of the last transmission
	inflight    int    // Interests sent and neither answered nor lost
	recent      recent // deliveries
	standing    machine.Time
	credit      int      // of a flow that follows back-pressure: new Interests that it may send
	follows     bool     // back-pressure
	first, last *pending // of these, in order of seq
	rtt         rttWindow
	top         [fastLater]uint64 // the highest first sequences that were answered, highest first
	lost        agenda[*pending]  // to be sent again

	transfers int
	hungry    ring[*transfer] // those that may have something to ask for, in turn
	idleAt    machine.Time    // when the last one left

	wake   machine.Time // when to look at it again
	served uint64       // number of its last transmission among all flows'
	heap   int
}

func (f *flow) due() (machine.Time, uint64) { return f.wake, f.served }
func (f *flow) place() *int                 { return &f.heap }

// flows are the flows of an engine.
type flows struct {
	byDest   map[string]*flow
	window   float64 // first W of a new one
	follows  bool    // back-pressure
	standing machine.Time
	agenda   agenda[*flow] // those with transfers
	idle     []*flow       // those without, longest idle first
	served   uint64
}

// join returns the flow to dest, with one transfer more.
func (s *flows) join(now machine.Time, dest wire.Name) *flow {
	f := s.byDest[string(dest)]
	if f != nil && f.transfers == 0 {
		s.unidle(f)
		if now-f.idleAt > flowMemory {
			f = nil
		}
	}
	if f == nil {
		f = newFlow(now, dest, s.window, s.standing)
		f.follows = s.follows
		s.byDest[string(f.dest)] = f
	}
	if f.transfers++; f.inflight == 0 {
		f.credit = queueAhead
	}
	return f
}

// leave takes one transfer out of f.
func (s *flows) leave(now machine.Time, f *flow) {
	f.transfers--
	if f.transfers > 0 {
		return
	}
	s.agenda.remove(f)
	f.hungry, f.idleAt = ring[*transfer]{}, now
	s.idle = append(s.idle, f)
	if len(s.idle) > maxIdle {
		delete(s.byDest, string(s.idle[0].dest))
		s.unidle(s.idle[0])
	}
}

func (s *flows) unidle(f *flow) {
	for i := range s.idle {
		if s.idle[i] == f {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			return
		}
	}
}

// stir has f looked at now: something came or may be sent.
func (s *flows) stir(now machine.Time, f *flow) {
	if *f.place() == 0 || f.wake > now {
		f.wake = now
		s.agenda.put(f)
	}
}

func newFlow(now machine.Time, dest wire.Name, window float64, standing machine.Time) *flow {
	return &flow{
		dest: dest.Clone(), window: window, standing: standing, tokenAt: now, tokens: wire.ChunkSize,
		ctrl: cc.NewPaper(cc.PaperConfig{
			GammaMax: cc.PaperGammaConsumer, Initial: initialRate, Min: minRate, Consumer: true,
		}),
	}
}

// link appends p, which is sent now, to the Interests in flight.
func (f *flow) link(now machine.Time, p *pending) {
	f.seq++
	p.seq, p.sent, p.lost = f.seq, now, false
	if p.tries++; p.tries == 1 {
		p.born, p.asked = p.seq, now
	}
	p.prev, p.next = f.last, nil
	if f.last != nil {
		f.last.next = p
	} else {
		f.first = p
	}
	f.last = p
	f.inflight++
}

// unlink takes p out of them.
func (f *flow) unlink(p *pending) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		f.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		f.last = p.prev
	}
	p.prev, p.next = nil, nil
	f.inflight--
}

// open tells whether W has room for a new Interest. Retransmissions don't ask (MARS paper §III-E).
func (f *flow) open(now machine.Time) bool {
	if f.follows {
		return f.credit > 0
	}
	w := f.window
	if n, ok := f.recent.within(now, f.standing+max(0, f.ctrl.BaseRTT()-50*machine.Millisecond)); ok {
		w = min(w, max(n, leastWindow))
	}
	return float64(f.inflight) < w
}

// onData updates rate, window and loss detection for the Data that answers p.
func (f *flow) onData(now machine.Time, p *pending, size int, fb *wire.Feedback) {
	switch { // of an Interest sent twice nobody knows which one was answered (Karn)
	case p.tries == 1:
		f.rtt.add(now - p.sent)
		f.ctrl.OnRTT(now - p.sent)
	case f.rtt.n == 0: // and if all are, the timeout is too short: begin with what the round trip is at most
		f.rtt.add(now - p.asked)
	}
	f.returned(p)
	f.heard = now
	f.recent.add(now)
	if f.follows {
		if fb != nil && fb.InterestCapacity > 0 {
			f.credit = max(0, queueAhead-int(fb.InterestItems))
		} else {
			f.credit++
		}
		return
	}
	f.window = min(f.window+1/f.window, maxWindow)
	f.ctrl.OnDelivered(now, float64(size))
	if fb != nil && fb.InterestCapacity > 0 {
		// The Data queue of the local connection stays empty: only the Interest queue counts (§III-C).
		f.ctrl.OnFeedback(now, float64(fb.InterestItems)/float64(fb.InterestCapacity), 0)
	}
}

// affords tells whether the rate allows an Interest now, and if not, when.
func (f *flow) affords(now machine.Time) (bool, machine.Time) {
	if f.follows {
		return true, 0
	}
	f.ctrl.Advance(now)
	rate := f.ctrl.Rate()
	most := max(float64(rate*rateBurst.Seconds()), wire.ChunkSize)
	f.tokens = min(f.tokens+float64(rate*(now-f.tokenAt).Seconds()), most)
	f.tokenAt = now
	if f.tokens > 0 {
		return true, 0
	}
	return false, now + machine.Time((1-f.tokens)/rate*1e9) + 1
}

// interval is the pacing interval of one chunk.
func (f *flow) interval() machine.Time {
	return machine.Time(wire.ChunkSize / f.ctrl.Rate() * 1e9)
}
