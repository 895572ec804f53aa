package route

import (
	"cmp"
	"slices"

	"mars/internal/machine"
)

// A face goes through
//
//	        any message           a message that hears our session
//	silent ─────────────▶ heard ────────────────────────────────────▶ linked
//	   ▲                   │ ▲                                         │ │
//	   │ Dead of silence   │ └── another life of the neighbour speaks ─┘ │
//	   └───────────────────┴── Dead of silence, FaceDown, not heard ─────┘
//
// Sessions number the lives of a face: a new one begins whenever the face becomes silent. A neighbour that sees a new
// session knows that we have forgotten what it told us, even if it never lost us.
type face struct {
	id      machine.FaceID
	up      bool // false: kept until its withdrawals are reported
	session uint32

	heard       bool // a neighbour speaks, described below
	peer        uint64
	boot        uint32
	peerSession uint32
	latest      uint32 // number of the newest message in that session
	former      uint32 // boot nonce of the peer's former life
	restarted   bool   // former is set
	linked      *neighbour

	helloAt machine.Time // when the next hello is due
	deadAt  machine.Time // heard: when silence means death
	askAt   machine.Time // heard: when to ask for a sign of life
	due     bool         // a message must leave now, if only a hello
	ask     bool         // and it asks for an answer

	found   bool // the other end made it: nothing is said before a message came
	owed    int  // found: bytes that may be said before we know that the other end hears us
	unheard int  // hellos in a row that nobody answered

	reported []uint16 // hops as last reported, by prefix
}

// Of Dead, how long a face may be silent before it is asked for a sign of life, and how often. Four questions fit,
// so that it takes seven losses in a row or more to take a living face for dead.
const (
	askAfter = 2
	askEvery = 8
)

func (r *Router) face(id machine.FaceID) (i int, ok bool) {
	return slices.BinarySearchFunc(r.faces, id, func(f *face, id machine.FaceID) int { return cmp.Compare(f.id, id) })
}

// liveFace is the face called id, nil unless it is up.
func (r *Router) liveFace(id machine.FaceID) *face {
	if i, ok := r.face(id); ok && r.faces[i].up {
		return r.faces[i]
	}
	return nil
}

// begin starts a new session of f, in which nobody has been heard.
func (r *Router) begin(f *face) {
	r.unlink(f)
	if f.found {
		f.session++
	} else {
		r.sessions++
		f.session = r.sessions
	}
	f.heard = false
	f.due, f.ask, f.owed = !f.found, false, 0
}

// unproven tells whether the other end may be somebody who knows nothing of us.
func (f *face) unproven() bool { return f.found && f.linked == nil }

// speaks tells whether hellos are due on f from time to time.
func (f *face) speaks() bool { return !f.found || f.heard }

// hear takes in the header of a message on f; false when the message is to be dropped.
func (r *Router) hear(f *face, h header) bool {
	if h.id == r.cfg.ID {
		if h.boot == r.cfg.Boot {
			r.drop(OwnMessage)
		} else {
			r.drop(Impostor)
		}
		return false
	}
	same := f.heard && h.id == f.peer
	if same && (h.boot == f.boot && h.session < f.peerSession || f.restarted && h.boot == f.former) {
		r.drop(Stale)
		return false
	}
	if !same || h.boot != f.boot || h.session != f.peerSession {
		r.unlink(f)
		f.restarted = same && h.boot != f.boot
		f.former = f.boot
		f.heard, f.peer, f.boot, f.peerSession, f.latest = true, h.id, h.boot, h.session, h.number-1
		f.due = true // the sooner it knows that we hear it, the sooner there is a link
	}
	f.unheard = 0
	f.deadAt = r.now + r.cfg.Dead
	f.askAt = r.now + r.cfg.Dead/askAfter
	f.due = f.due || h.ask
	if int32(h.number-f.latest) <= 0 {
		return true // overtaken on the way: what it says of us is no longer so
	}
	f.latest = h.number
	both := h.heardSession == f.session && h.heardBoot == r.cfg.Boot
	switch {
	case both && f.linked == nil:
		r.link(f)
	case !both && f.linked != nil:
		r.begin(f) // so that the neighbour, too, forgets what it knows of us
	}
	return true
}

// link makes f a way to its neighbour.
func (r *Router) link(f *face) {
	f.due = true
	i, ok := r.neighbour(f.peer, f.boot)
	if !ok {
		r.neighbours = slices.Insert(r.neighbours, i, &neighbour{id: f.peer, boot: f.boot})
		r.neighbours[i].tellAll(r)
		r.reissue()
		r.recompute()
	}
	n := r.neighbours[i]
	at, _ := slices.BinarySearchFunc(n.faces, f.id, func(o *face, id machine.FaceID) int { return cmp.Compare(o.id, id) })
	n.faces = slices.Insert(n.faces, at, f)
	f.linked = n
	n.summarise(everything)
	r.changed = true
}

// unlink takes f from its neighbour, if it has one.
func (r *Router) unlink(f *face) {
	n := f.linked
	if n == nil {
		return
	}
	f.linked = nil
	r.changed = true
	if n.faces = slices.DeleteFunc(n.faces, func(o *face) bool { return o == f }); len(n.faces) == 0 {
		i, _ := r.neighbour(n.id, n.boot)
		r.neighbours = slices.Delete(r.neighbours, i, i+1)
		r.reissue()
		r.recompute()
	}
}

// advanceFace fires the timers of f.
func (r *Router) advanceFace(f *face) {
	if !f.up {
		return
	}
	if f.heard && r.now >= f.deadAt {
		r.count.Lost++
		r.begin(f)
		return
	}
	if r.now >= f.helloAt && f.speaks() {
		f.due = true
		if !f.heard {
			f.unheard++
		}
		f.helloAt = r.now + r.pause(f)
	}
	if f.heard && r.now >= f.askAt {
		f.due, f.ask = true, true
		f.askAt = r.now + r.cfg.Dead/askEvery
	}
}

// interval is the time to the next hello: up to a quarter early, so that nodes don't keep in step and three hellos
// fit into Dead.
func (r *Router) interval() machine.Time {
	return r.cfg.Hello - machine.Time(r.random.Int64N(int64(r.cfg.Hello/4)+1))
}

// Where nobody answers, hellos become rarer after eagerFor of them, until maxPause of intervals lies between two.
const (
	eagerFor = 20
	maxPause = 4
)

// pause is the time to the next hello on f.
func (r *Router) pause(f *face) machine.Time {
	return r.interval() * machine.Time(min(max(f.unheard/eagerFor, 1), maxPause))
}

// deadline is when f has a timer to fire.
func (f *face) deadline() machine.Time {
	if !f.up {
		return machine.Never
	}
	if f.heard {
		return min(f.helloAt, f.deadAt, f.askAt)
	}
	if !f.speaks() {
		return machine.Never
	}
	return f.helloAt
}

// head is the header of the next message on f.
func (r *Router) head(f *face) header {
	h := header{ask: f.ask, id: r.cfg.ID, boot: r.cfg.Boot, session: f.session}
	if f.heard {
		h.heardBoot, h.heardSession = f.boot, f.peerSession
	}
	return h
}
