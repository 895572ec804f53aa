package foreign

import (
	"slices"

	"mars/cc"
	"mars/internal/machine"
)

// slot is a segment between the first one that isn't handed out and the last one asked for.
type slot struct {
	state   slotState
	sent    machine.Time
	by      *lane  // that it was last asked for over
	seq     uint64 // order of sending there
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

// window is what is asked for, over all lanes.
type window struct {
	slots   []slot // by segment number modulo their number
	lowest  uint64 // first segment not handed out
	highest uint64 // first one never asked for
	settled uint64 // segments that the application has stored
	losses  int    // slots in state lost

	lanes  []*lane
	turn   int          // lane whose turn it was last
	pcon   bool         // what PCON's consumer leaves out
	paused machine.Time // nothing is sent before

	resent, decreases uint64
}

const (
	// initialWindow is that of ndncatchunks; two segments are as many bytes as RFC 6928 lets TCP begin with.
	initialWindow = 2
	// reordering is how many later Interests must have been answered for one to count as lost (RFC 9002 §6.1.1).
	reordering = 3
)

func newWindow(now machine.Time, size int, c Control, r *Request) window {
	w := window{slots: make([]slot, size), pcon: c == PCON}
	switch {
	case r.Coupled != nil:
		for i, f := range r.Faces {
			w.lanes = append(w.lanes, &lane{index: uint64(i), face: f, pilot: coupled{r.Coupled, r.Coupled.AddSubflow(now)}})
		}
	case w.pcon:
		bic := cc.NewBic(initialWindow)
		w.lanes = []*lane{{pilot: alone{&bic}}}
	default:
		cubic := cc.NewCubic(initialWindow)
		w.lanes = []*lane{{pilot: alone{&cubic}}}
	}
	return w
}

func (w *window) slot(n uint64) *slot { return &w.slots[n%uint64(len(w.slots))] }

// wanted tells whether segment n is between those handed out and those never asked for.
func (w *window) wanted(n uint64) bool { return n >= w.lowest && n < w.highest }

// more tells whether there is a segment to ask for; last is the last one.
func (w *window) more(last uint64) bool {
	return w.losses > 0 || w.highest <= last && w.highest-w.settled < uint64(len(w.slots))
}

// silent tells whether nothing came over l for so long that no segment should wait for it. It is asked for what is here already
// until it answers. When all lanes are silent, none counts as it: then any may be the first to answer.
func (w *window) silent(l *lane) bool {
	return l.rtt.backoff > 0 && slices.ContainsFunc(w.lanes, func(o *lane) bool { return o.rtt.backoff == 0 })
}

// may tells whether an Interest may leave over l.
func (w *window) may(now machine.Time, l *lane, last uint64) bool {
	switch {
	case now < w.paused || now < l.opens:
		return false
	case w.silent(l):
		return !l.probing && w.lowest > l.index
	}
	return l.room() && w.more(last)
}

// room tells whether an Interest may leave now.
func (w *window) room(now machine.Time, last uint64) bool {
	for _, l := range w.lanes {
		if w.may(now, l, last) {
			return true
		}
	}
	return false
}

// take is the segment to ask for now, where room, and the lane to ask over; the lanes take turns.
func (w *window) take(now machine.Time, last uint64) (uint64, *lane) {
	w.turn = (w.turn + 1) % len(w.lanes)
	for !w.may(now, w.lanes[w.turn], last) {
		w.turn = (w.turn + 1) % len(w.lanes)
	}
	l := w.lanes[w.turn]
	l.paced(now)
	if w.silent(l) { // another segment for each lane: answers are told apart by their names
		l.probing, l.probe, l.probed = true, w.lowest-1-l.index, now
		w.resent++
		return l.probe, l
	}
	return w.next(now, l), l
}

// next is the segment to ask for over l: a lost one first.
func (w *window) next(now machine.Time, l *lane) uint64 {
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
	l.nextSeq++
	s := w.slot(n)
	s.state, s.sent, s.by, s.seq = inFlight, now, l, l.nextSeq
	s.tries++
	l.inflight++
	l.flights = append(l.flights, flight{n, l.nextSeq})
	return n
}

// first is the oldest Interest over l that may still be answered; nil: there is none.
func (w *window) first(l *lane) *slot {
	for len(l.flights) > 0 {
		f := l.flights[0]
		if s := w.slot(f.segment); w.wanted(f.segment) && s.state == inFlight && s.by == l && s.seq == f.seq {
			return s
		}
		l.flights = l.flights[1:]
	}
	l.flights = nil
	return nil
}

// detect finds what is lost by now: overtaken, or unanswered for too long.
func (w *window) detect(now machine.Time) {
	for _, l := range w.lanes {
		w.detectIn(now, l)
		if l.probing && now-l.probed >= l.rtt.timeout() {
			l.probing = false
			l.rtt.backoff++
		}
	}
}

func (w *window) detectIn(now machine.Time, l *lane) {
	for s := w.first(l); s != nil; s = w.first(l) {
		late := now-s.sent >= l.rtt.timeout()
		switch {
		case !w.pcon && s.seq+reordering <= l.top:
			w.congested(s, func() { l.onLoss(now, s.sent) })
		case !late && !w.silent(l): // over another lane it comes sooner
			return
		case now-l.came >= l.rtt.timeout(): // nothing comes at all
			if s.seq > l.recover {
				w.congested(s, func() { l.onTimeout(now); l.rtt.backoff++ })
			}
		case late:
			w.congested(s, func() { l.onLoss(now, s.sent) })
		}
		w.lose(s)
	}
}

// congested lets the lane's window react to what happened to s.
func (w *window) congested(s *slot, react func()) {
	if s.by.congested(s.seq, react) {
		w.decreases++
	}
}

// lose has a segment sent again.
func (w *window) lose(s *slot) {
	if s.state == inFlight {
		s.by.inflight--
		s.state = lost
		w.losses++
	}
}

// arrived accounts for a segment that came.
func (w *window) arrived(now machine.Time, s *slot, marked bool) {
	l := s.by
	busy := l.inflight
	l.came = now
	switch s.state {
	case inFlight:
		l.inflight--
	case lost:
		w.losses--
	}
	s.state = here
	a := arrival{sent: s.sent, inflight: l.inflight, limited: float64(2*busy) >= l.window()} // RFC 9438 §5.8
	if s.tries == 1 {
		l.top = max(l.top, s.seq)
		a.rtt = now - s.sent
		l.rtt.add(a.rtt)
		a.smoothed = l.rtt.smoothed
	}
	switch {
	case marked && w.pcon: // forwarders space marks out
		w.decreases++
		l.onMark(now, a)
	case marked:
		w.congested(s, func() { l.onMark(now, a) })
	default:
		l.onAck(now, a)
	}
}

// answered takes a segment that was asked for to see whether a silent lane lives.
func (w *window) answered(now machine.Time, n uint64) {
	for _, l := range w.lanes {
		if l.probing && l.probe == n {
			l.probing, l.came = false, now
			l.rtt.add(now - l.probed)
			l.onAck(now, arrival{sent: l.probed, rtt: now - l.probed, smoothed: l.rtt.smoothed})
		}
	}
}

// cut forgets what was asked for past the last segment.
func (w *window) cut(last uint64) {
	for ; w.highest > w.lowest && w.highest-1 > last; w.highest-- {
		switch s := w.slot(w.highest - 1); s.state {
		case inFlight:
			s.by.inflight--
		case lost:
			w.losses--
		}
		*w.slot(w.highest - 1) = slot{}
	}
}

// deadline is when detect finds something, or a lane opens, if nothing comes.
func (w *window) deadline(now machine.Time) machine.Time {
	at := machine.Never
	for _, l := range w.lanes {
		if s := w.first(l); s != nil {
			at = min(at, s.sent+l.rtt.timeout())
		}
		if l.probing {
			at = min(at, l.probed+l.rtt.timeout())
		}
		if l.opens > now {
			at = min(at, l.opens)
		}
	}
	return at
}

// gauge sums up the lanes: window, segments in flight, and the least smoothed round-trip time.
func (w *window) gauge() (window float64, inflight int, rtt machine.Time) {
	for _, l := range w.lanes {
		window += l.window()
		inflight += l.inflight
		if s := l.rtt.smoothed; rtt == 0 || s > 0 && s < rtt {
			rtt = s
		}
	}
	return window, inflight, rtt
}
