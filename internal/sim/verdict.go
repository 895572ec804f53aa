package sim

import (
	"fmt"
	"runtime/debug"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// Kind says in which way a run is wrong: a smaller plan that fails likewise shows the same bug.
type Kind string

// The kinds.
const (
	Fine      Kind = ""
	Invariant Kind = "invariant" // something that must never be was
	Stuck     Kind = "stuck"     // after everything was healed nothing moved any more
	Leftover  Kind = "leftover"  // all flows were over, and a node still waited for something
	Crash     Kind = "crash"     // the code stopped with a panic
	Books     Kind = "books"     // bytes or packets were made or lost
)

// Verdict is what a watched run came to.
type Verdict struct {
	Kind Kind
	Why  string // in words
	At   machine.Time
	Run  scenario.Run

	Stack string // of a crash
}

const (
	// patience is how long a healed network may go without a new byte: longer than suspensions, retries and refreshed
	// discoveries together.
	patience = 40 * machine.Second
	// settling is how long nodes may take to forget what they waited for after the last flow is over: lifetimes of Interests.
	settling = 8 * machine.Second
	glance   = 100 * machine.Millisecond
)

// Watch plays one world as Run does, with its invariants checked after every event; it then waits until every flow is over and
// nothing is pending. What is wrong with the world itself comes as an error, what is wrong with the protocol in the verdict.
func Watch(w *scenario.World, systemName string, seed uint64) (v Verdict, err error) {
	s, err := findSystem(systemName)
	if err != nil {
		return v, err
	}
	world, err := s.build(w, seed, Options{})
	if err != nil {
		return v, err
	}
	eye := newWatch(world)
	defer func() {
		if p := recover(); p != nil { // a broken local invariant (house.md: panic only on those)
			v, err = Verdict{Kind: Crash, Why: fmt.Sprint(p), At: world.net.now, Stack: string(debug.Stack())}, nil
		}
	}()
	v.Kind, v.Why = eye.play()
	v.At = world.net.now
	if v.Kind == Fine {
		if err := world.audit(); err != nil {
			v.Kind, v.Why = Books, err.Error()
		}
	}
	v.Run = world.result(Options{})
	return v, nil
}

// play runs to the end or to the first thing that is wrong.
func (v *watch) play() (Kind, string) {
	w := v.w
	over := func() bool {
		for ; w.left < len(w.flows); w.left++ {
			f := w.flows[w.left]
			if !f.over() {
				return false
			}
			v.whole(f)
		}
		return true
	}
	w.net.done = func() bool { return v.violated != "" || over() }
	for !over() && v.violated == "" {
		w.net.run(w.net.now + glance)
		if v.violated == "" && !over() && v.stalls() {
			return Stuck, v.why()
		}
	}
	if v.violated != "" {
		return Invariant, v.violated
	}
	w.net.done = func() bool { return v.violated != "" }
	for end := w.net.now + settling; ; {
		left := v.left()
		switch {
		case v.violated != "":
			return Invariant, v.violated
		case left == "":
			return Fine, ""
		case w.net.now >= end:
			return Leftover, left
		}
		w.net.run(w.net.now + glance)
	}
}

// stalls tells whether nothing has moved for long though nothing is broken any more. Before that nobody may complain.
func (v *watch) stalls() bool {
	received := int64(0)
	for _, f := range v.w.flows {
		received += f.received
	}
	now := v.w.net.now
	if waits := v.w.pending(); received != v.received || waits {
		v.received, v.moved = received, now
	}
	return now-v.moved > patience
}

// pending tells whether faults or flows are still to begin.
func (w *world) pending() bool { return len(w.net.plan) > 0 }

// why says what is stuck.
func (v *watch) why() string {
	for _, f := range v.w.flows {
		if f.over() {
			continue
		}
		what := fmt.Sprintf("%s has %d bytes of %d", f.name, f.received, f.size)
		if f.discovered < 0 {
			what += ", and its discovery hasn't ended"
		}
		if left := v.left(); left != "" {
			what += "; " + left
		}
		return what
	}
	return "nothing is left to do"
}

// left says what a node still waits for; "": nothing.
func (v *watch) left() string {
	for i, n := range v.w.nodes {
		if n == nil {
			continue
		}
		if s := n.Forwarder().Stuck(); s != "" {
			return v.w.net.hosts[i].name + ": " + s
		}
	}
	return ""
}
