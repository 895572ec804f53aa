package endpoint

import (
	"slices"

	"mars/internal/machine"
)

// outStream is a stream of bytes that is sent in pieces over any path, each again until one of them has come. CRYPTO data are one too.
type outStream struct {
	size  int64  // −1: not known yet
	next  int64  // the first byte that was never sent
	limit int64  // the peer takes bytes before it
	again ranges // lost; nothing is before its first
	acked ranges // what the peer has
}

func newOutStream(size, limit int64) outStream {
	return outStream{size: size, limit: limit, again: ranges{next: -1}}
}

// wants tells whether there is something to send now.
func (s *outStream) wants() bool { return len(s.again.later) > 0 || s.fresh() }

// fresh tells whether there is something that was never sent, and that the peer takes.
func (s *outStream) fresh() bool { return s.next < min(s.size, s.limit) }

// complete tells that the peer has all.
func (s *outStream) complete() bool { return s.size >= 0 && s.acked.next >= s.size }

// take chooses at most n bytes to send: lost ones first.
func (s *outStream) take(n int) gap {
	for lost := &s.again; len(lost.later) > 0; {
		a := &lost.later[0]
		g := s.acked.missing(*a)
		g.to = min(g.to, g.from+int64(n))
		if a.from = g.to; g.from >= g.to || a.from >= a.to {
			lost.later = slices.Delete(lost.later, 0, 1)
		}
		if g.from < g.to {
			return g
		}
	}
	g := gap{s.next, min(s.next+int64(n), s.size, s.limit)}
	if g.from >= g.to {
		return gap{}
	}
	s.next = g.to
	return g
}

// lose has bytes sent again, unless the peer has them.
func (s *outStream) lose(g gap) {
	for m := s.acked.missing(g); m.from < m.to; m = s.acked.missing(gap{m.to, g.to}) {
		s.again.add(m.from, m.to)
	}
}

func (s *outStream) ack(g gap) {
	if g.from < g.to {
		s.acked.add(g.from, g.to)
	}
}

// missing is the first part of g that hasn't come; empty or turned round: all has.
func (r *ranges) missing(g gap) gap {
	g.from = max(g.from, r.next)
	for _, k := range r.later {
		if k.from > g.from {
			g.to = min(g.to, k.from)
			break
		}
		g.from = max(g.from, k.to)
	}
	return g
}

const (
	// firstWindow is the flow-control window that a receiver begins with, bytes; it doubles as fast data need it, up to the buffer.
	firstWindow = 512 << 10
	// tuneRounds: a window that is used up in fewer round trips than this holds the sender back.
	tuneRounds = 4
)

// inWindow is one limit of flow control at the receiver, which grows by what is read (RFC 9000 §4.1).
type inWindow struct {
	size, most int64
	limit      int64 // told to the peer, or about to be
	mark       int64 // what had been read when the window was last tuned
	at         machine.Time
}

func newInWindow(most int64) inWindow {
	w := inWindow{size: min(firstWindow, most), most: most}
	w.limit = w.size
	return w
}

// read tells that the application has read all before a byte; it returns whether the peer should hear of a new limit.
func (w *inWindow) read(now machine.Time, before int64, rtt machine.Time) bool {
	if w.limit-before > w.size*3/4 {
		return false
	}
	if got := before - w.mark; got >= w.size/2 {
		if rtt > 0 && w.mark > 0 && now-w.at < tuneRounds*rtt*machine.Time(got)/machine.Time(w.size) {
			w.size = min(2*w.size, w.most)
		}
		w.mark, w.at = before, now
	} else if w.mark == 0 {
		w.mark, w.at = before, now
	}
	w.limit = max(w.limit, before+w.size)
	return true
}
