package fetch

import (
	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// What profile `paper` leaves open at consumers, decided here and nowhere else.
const (
	// initialRate is the first rate, bytes of Data per second: 20 Mbit/s, as at forwarders.
	initialRate = 2.5e6
	// minRate keeps about ten chunks a second coming.
	minRate = 80e3
	// initialWindow is the first W, chunks. The rate is what adapts; W only bounds what may be lost in silence, so it
	// must not be what limits a continental path at 200 Mbit/s.
	initialWindow = 256
	// maxWindow bounds W, chunks.
	maxWindow = 8192
	// rateBurst is how much credit an idle flow may save up. It covers coarse timers and busy processors; a burst of Interests
	// only reaches the Interest queue of the own node.
	rateBurst = 10 * machine.Millisecond

	// Fast retransmit: unresolved for this long, and this many later chunks have come (MARS paper §III-E).
	fastAge   = 350 * machine.Millisecond
	fastLater = 8

	// scanLimit bounds how many pending Interests one look at the clock examines.
	scanLimit = 64
)

// kind says what a pending Interest asks for.
type kind uint8

const (
	metadata kind = iota + 1
	segment       // of the manifest
	chunk
)

// pending is an Interest that waits for its Data. Its slot and generation are its PitToken.
type pending struct {
	slot  uint32
	gen   uint16
	live  bool
	t     *transfer
	kind  kind
	index int64

	sent       machine.Time
	seq        uint64 // order of sending within the flow
	tries      int
	lost       bool         // waits to be sent again
	notBefore  machine.Time // lost: not sent again before
	prev, next *pending     // in flight, in order of seq
}

// flow is all that one consumer fetches from one producer prefix.
type flow struct {
	dest      wire.Name
	ctrl      cc.Paper // Algorithm 1, per flow
	window    float64  // W, chunks
	rtt       rttWindow
	tokens    float64 // bytes of Data that may be asked for now
	tokenAt   machine.Time
	inflight  int
	first     *pending // oldest in flight
	last      *pending
	lost      []*pending
	seq       uint64
	top       [fastLater]uint64 // the highest sequences that came back, highest first
	transfers []*transfer
	turn      int
}

func newFlow(now machine.Time, dest wire.Name) *flow {
	return &flow{
		dest: dest.Clone(), window: initialWindow, tokenAt: now, tokens: wire.ChunkSize,
		ctrl: cc.NewPaper(cc.PaperConfig{
			GammaMax: cc.PaperGammaConsumer, Initial: initialRate, Min: minRate, Consumer: true,
		}),
	}
}

// link appends p to the Interests in flight.
func (f *flow) link(p *pending) {
	f.seq++
	p.seq = f.seq
	p.prev, p.next = f.last, nil
	if f.last != nil {
		f.last.next = p
	} else {
		f.first = p
	}
	f.last = p
	f.inflight++
}

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

// returned records that the Interest with sequence seq was answered.
func (f *flow) returned(seq uint64) {
	for i := range f.top {
		if seq > f.top[i] {
			f.top[i], seq = seq, f.top[i]
		}
	}
}

// onData updates rate, window and timers for the Data that answers p.
func (f *flow) onData(now machine.Time, p *pending, size int, fb *wire.Feedback) {
	if p.tries == 1 { // of an Interest sent twice nobody knows which one was answered (Karn)
		f.rtt.add(now - p.sent)
		f.ctrl.OnRTT(now - p.sent)
	}
	f.returned(p.seq)
	f.window = min(f.window+1/f.window, maxWindow)
	f.ctrl.OnDelivered(now, float64(size))
	if fb != nil && fb.InterestCapacity > 0 {
		// The Data queue of the local connection stays empty: only the Interest queue counts (§III-C).
		f.ctrl.OnFeedback(now, float64(fb.InterestItems)/float64(fb.InterestCapacity), 0)
	}
	if p.lost {
		f.dropLost(p)
	} else {
		f.unlink(p)
	}
}

func (f *flow) dropLost(p *pending) {
	for i := range f.lost {
		if f.lost[i] == p {
			f.lost = append(f.lost[:i], f.lost[i+1:]...)
			return
		}
	}
}

// lose takes p out of flight to be sent again, not before at.
func (f *flow) lose(p *pending, at machine.Time) {
	if p.lost {
		return
	}
	f.unlink(p)
	p.lost, p.notBefore = true, at
	f.lost = append(f.lost, p)
}

// timeout is when p counts as lost for its age alone. It doesn't back off: retransmissions are paced by a rate that knows
// the queues upstream, and with a doubling timeout a few unlucky chunks held up whole objects at 1% loss.
func (f *flow) timeout(p *pending) machine.Time { return p.sent + f.rtt.rto() }

// overtaken tells whether eight later Interests were answered.
func (f *flow) overtaken(p *pending) bool { return p.seq < f.top[fastLater-1] }

// detect finds the Interests that are lost by now.
func (f *flow) detect(now machine.Time) {
	n := 0
	for p := f.first; p != nil && n < scanLimit; n++ {
		next := p.next
		if now-p.sent < fastAge {
			return // and all after it are younger
		}
		if f.overtaken(p) || now >= f.timeout(p) {
			f.lose(p, now)
		}
		p = next
	}
}

// lossDeadline is when detect may find something.
func (f *flow) lossDeadline(now machine.Time) machine.Time {
	at := machine.Never
	n := 0
	for p := f.first; p != nil && n < scanLimit; p = p.next {
		d := f.timeout(p)
		if f.overtaken(p) {
			d = p.sent + fastAge
		}
		at = min(at, max(d, now))
		n++
	}
	return at
}

// affords tells whether the rate allows an Interest now, and if not, when.
func (f *flow) affords(now machine.Time) (bool, machine.Time) {
	f.ctrl.Advance(now)
	rate := f.ctrl.Rate()
	f.tokens = min(f.tokens+float64(rate*(now-f.tokenAt).Seconds()), max(float64(rate*rateBurst.Seconds()), wire.ChunkSize))
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

// due returns a lost Interest that may be sent again now, and if there is none, when there will be.
func (f *flow) due(now machine.Time) (*pending, machine.Time) {
	at := machine.Never
	for i, p := range f.lost {
		if p.notBefore <= now {
			f.lost = append(f.lost[:i], f.lost[i+1:]...)
			return p, 0
		}
		at = min(at, p.notBefore)
	}
	return nil, at
}
