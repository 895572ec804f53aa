package foreign

import (
	"mars/cc"
	"mars/internal/machine"
)

// slot is a segment between the first one that isn't handed out and the last one asked for.
type slot struct {
	state   slotState
	sent    machine.Time
	seq     uint64 // order of sending
	tries   int
	corrupt int // how often it came wrong
	data    []byte
}

type slotState uint8

const (
	unasked slotState = iota
	inFlight
	lost
	here
)

// flight is one Interest in the order of sending. It is stale when its segment was sent again, or came.
type flight struct {
	segment, seq uint64
}

// window is what is asked for, and how much may be.
type window struct {
	slots    []slot // by segment number modulo their number
	lowest   uint64 // first segment not handed out
	highest  uint64 // first one never asked for
	settled  uint64 // segments that the application has stored
	inflight int
	losses   int // slots in state lost

	ctrl    controller
	pcon    bool // what PCON's consumer leaves out
	rtt     rtt
	flights []flight
	nextSeq uint64
	recover uint64       // what was sent before belongs to the last congestion event (RFC 6675, RecoveryPoint)
	top     uint64       // last of those sent once that came
	came    machine.Time // when something last came
	paused  machine.Time // nothing is sent before

	resent, decreases uint64
}

const (
	// initialWindow is that of ndncatchunks; two segments are as many bytes as RFC 6928 lets TCP begin with.
	initialWindow = 2
	// reordering is how many later Interests must have been answered for one to count as lost (RFC 9002 §6.1.1).
	reordering = 3
)

// controller is a window algorithm.
type controller interface {
	Window() float64
	OnRTT(rtt machine.Time)
	OnAck(now machine.Time, acked float64)
	OnLoss(now machine.Time)
	OnECN(now machine.Time)
	OnTimeout(now machine.Time)
}

func newWindow(size int, c Control) window {
	w := window{slots: make([]slot, size), pcon: c == PCON}
	if w.pcon {
		bic := cc.NewBic(initialWindow)
		w.ctrl = &bic
	} else {
		cubic := cc.NewCubic(initialWindow)
		w.ctrl = &cubic
	}
	return w
}

func (w *window) slot(n uint64) *slot { return &w.slots[n%uint64(len(w.slots))] }

// wanted tells whether segment n is between those handed out and those never asked for.
func (w *window) wanted(n uint64) bool { return n >= w.lowest && n < w.highest }

// room tells whether an Interest may leave now; last is the last segment.
func (w *window) room(now machine.Time, last uint64) bool {
	if now < w.paused || float64(w.inflight+1) > w.ctrl.Window() {
		return false
	}
	return w.losses > 0 || w.highest <= last && w.highest-w.settled < uint64(len(w.slots))
}

// take is the segment to ask for now: a lost one first.
func (w *window) take(now machine.Time) uint64 {
	n := w.highest
	if w.losses > 0 {
		for n = w.lowest; w.slot(n).state != lost; {
			n++
		}
		w.losses--
		w.resent++
	} else {
		w.highest++
		*w.slot(n) = slot{}
	}
	w.nextSeq++
	s := w.slot(n)
	s.state, s.sent, s.seq = inFlight, now, w.nextSeq
	s.tries++
	w.inflight++
	w.flights = append(w.flights, flight{n, w.nextSeq})
	return n
}

// first is the oldest Interest that may still be answered; nil: there is none.
func (w *window) first() *slot {
	for len(w.flights) > 0 {
		f := w.flights[0]
		if s := w.slot(f.segment); w.wanted(f.segment) && s.state == inFlight && s.seq == f.seq {
			return s
		}
		w.flights = w.flights[1:]
	}
	w.flights = nil
	return nil
}

// detect finds what is lost by now: overtaken, or unanswered for too long.
func (w *window) detect(now machine.Time) {
	for s := w.first(); s != nil; s = w.first() {
		late := now-s.sent >= w.rtt.timeout()
		switch {
		case !w.pcon && s.seq+reordering <= w.top:
			w.congested(s.seq, func() { w.ctrl.OnLoss(now) })
		case !late:
			return
		case now-w.came >= w.rtt.timeout(): // nothing comes at all
			w.congested(s.seq, func() { w.ctrl.OnTimeout(now); w.rtt.backoff++ })
		default:
			w.congested(s.seq, func() { w.ctrl.OnLoss(now) })
		}
		w.lose(s)
	}
}

// congested lets the window react to what happened to the Interest seq, once per round trip.
func (w *window) congested(seq uint64, react func()) {
	if seq > w.recover {
		w.recover = w.nextSeq
		w.decreases++
		react()
	}
}

// lose has a segment sent again.
func (w *window) lose(s *slot) {
	if s.state == inFlight {
		w.inflight--
		s.state = lost
		w.losses++
	}
}

// arrived accounts for a segment that came.
func (w *window) arrived(now machine.Time, s *slot, marked bool) {
	busy := w.inflight
	w.came = now
	switch s.state {
	case inFlight:
		w.inflight--
	case lost:
		w.losses--
	}
	s.state = here
	if s.tries == 1 {
		w.top = max(w.top, s.seq)
		w.rtt.add(now - s.sent)
		w.ctrl.OnRTT(w.rtt.smoothed)
	}
	switch {
	case marked && w.pcon: // forwarders space marks out
		w.decreases++
		w.ctrl.OnECN(now)
	case marked:
		w.congested(s.seq, func() { w.ctrl.OnECN(now) })
	case float64(2*busy) >= w.ctrl.Window(): // else the window isn't what limits the rate (RFC 9438 §5.8)
		w.ctrl.OnAck(now, 1)
	}
}

// cut forgets what was asked for past the last segment.
func (w *window) cut(last uint64) {
	for ; w.highest > w.lowest && w.highest-1 > last; w.highest-- {
		switch s := w.slot(w.highest - 1); s.state {
		case inFlight:
			w.inflight--
		case lost:
			w.losses--
		}
		*w.slot(w.highest - 1) = slot{}
	}
}

// deadline is when detect finds something if nothing comes.
func (w *window) deadline() machine.Time {
	if s := w.first(); s != nil {
		return s.sent + w.rtt.timeout()
	}
	return machine.Never
}
