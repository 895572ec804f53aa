package swarm

import (
	"slices"
	"time"

	"mars/internal/scenario"
	"mars/internal/sim"
)

// Shrink makes a plan that fails smaller while it still fails in the same way: fewer faults, flows, nodes and links, less to
// fetch, shorter. tries bounds the runs that this takes.
func Shrink(p Plan, kind sim.Kind, tries int) (Plan, sim.Verdict) {
	s := &shrinker{kind: kind, left: tries}
	best, verdict := p, Judge(&p, again(kind))
	for smaller := true; smaller && s.left > 0; {
		smaller = false
		for _, step := range steps {
			for i := 0; s.left > 0; {
				next, more := step(best, i)
				if !more {
					break
				}
				if v, fails := s.fails(&next); fails {
					best, verdict, smaller = next, v, true
				} else {
					i++
				}
			}
		}
	}
	return best, verdict
}

// again tells whether a kind of failure takes more than one run to see.
func again(kind sim.Kind) bool { return kind == Changing || kind == Relabelled }

type shrinker struct {
	kind sim.Kind
	left int
}

// fails tells whether a smaller plan still fails likewise.
func (s *shrinker) fails(p *Plan) (v sim.Verdict, fails bool) {
	if !p.sound() {
		return v, false
	}
	s.left--
	v = Judge(p, again(s.kind))
	return v, v.Kind == s.kind
}

// A step returns the plan with its i-th part of some kind gone or smaller; more: there was one.
type step func(p Plan, i int) (smaller Plan, more bool)

var steps = [...]step{withoutFault, withoutFlow, withoutNode, withoutLink, withLess, shorterFault, plainLink, earlierFlow}

func clone(p Plan) Plan {
	w := &p.World
	w.Nodes, w.Links, w.Flows, w.Faults = slices.Clone(w.Nodes), slices.Clone(w.Links), slices.Clone(w.Flows), slices.Clone(w.Faults)
	return p
}

func withoutFault(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Faults) || p.World.Faults[i].Kind == scenario.Heal && len(p.World.Faults) > 1 {
		return p, false
	}
	p = clone(p)
	p.World.Faults = slices.Delete(p.World.Faults, i, i+1)
	return p, true
}

func withoutFlow(p Plan, i int) (Plan, bool) {
	if len(p.World.Flows) < 2 || i >= len(p.World.Flows) {
		return p, false
	}
	p = clone(p)
	p.World.Flows = slices.Delete(p.World.Flows, i, i+1)
	return p, true
}

func withoutLink(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Links) {
		return p, false
	}
	p = clone(p)
	w := &p.World
	w.Links = slices.Delete(w.Links, i, i+1)
	w.Faults = slices.DeleteFunc(w.Faults, func(f scenario.Fault) bool { return f.Link == i })
	for k := range w.Faults {
		if w.Faults[k].Link > i {
			w.Faults[k].Link--
		}
	}
	return p, true
}

// withoutNode takes a node out, with its links, flows and faults.
func withoutNode(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Nodes) {
		return p, false
	}
	p = clone(p)
	w := &p.World
	for k := len(w.Links) - 1; k >= 0; k-- {
		if w.Links[k].A == i || w.Links[k].B == i {
			p, _ = withoutLink(p, k)
		}
	}
	w.Nodes = slices.Delete(w.Nodes, i, i+1)
	w.Flows = slices.DeleteFunc(w.Flows, func(f scenario.Flow) bool { return f.Consumer == i || f.Producer == i })
	w.Faults = slices.DeleteFunc(w.Faults, func(f scenario.Fault) bool { return f.Node == i })
	down := func(n *int) {
		if *n > i {
			*n--
		}
	}
	for k := range w.Links {
		down(&w.Links[k].A)
		down(&w.Links[k].B)
	}
	for k := range w.Flows {
		down(&w.Flows[k].Consumer)
		down(&w.Flows[k].Producer)
	}
	for k := range w.Faults {
		down(&w.Faults[k].Node)
	}
	return p, true
}

func withLess(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Flows) {
		return p, false
	}
	p = clone(p)
	p.World.Flows[i].Bytes /= 2
	return p, true
}

func shorterFault(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Faults) {
		return p, false
	}
	p = clone(p)
	f := &p.World.Faults[i]
	f.For = f.For / 2 / time.Millisecond * time.Millisecond
	return p, true
}

// plainLink takes jitter, losses and marks from a link.
func plainLink(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Links) {
		return p, false
	}
	p = clone(p)
	l := &p.World.Links[i]
	before := *l
	for _, d := range []*scenario.Direction{&l.AB, &l.BA} {
		d.Jitter, d.Loss, d.Discipline = 0, scenario.Loss{}, scenario.DropTail
	}
	if *l == before {
		p.World.Nodes = nil // nothing to try: not sound
	}
	return p, true
}

func earlierFlow(p Plan, i int) (Plan, bool) {
	if i >= len(p.World.Flows) {
		return p, false
	}
	p = clone(p)
	f := &p.World.Flows[i]
	f.Start = f.Start / 2 / time.Millisecond * time.Millisecond
	if p.World.Flows[i].Start == 0 {
		p.World.Nodes = nil
	}
	return p, true
}

// sound tells whether a plan can be run: every flow has a way, every fault something to strike, and nothing is empty.
func (p *Plan) sound() bool {
	w := &p.World
	if len(w.Nodes) == 0 || len(w.Flows) == 0 {
		return false
	}
	for _, f := range w.Flows {
		if f.Bytes < 1 || !reaches(w, f.Consumer, f.Producer) {
			return false
		}
	}
	for _, f := range w.Faults {
		if f.For == 0 && f.Kind != scenario.Heal && f.Kind != scenario.Restart {
			return false
		}
	}
	return true
}

// reaches tells whether there is a way between two nodes by relays.
func reaches(w *scenario.World, from, to int) bool {
	seen := make([]bool, len(w.Nodes))
	seen[from] = true
	for queue := []int{from}; len(queue) > 0; {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			return true
		}
		if at != from && w.Nodes[at].Role != scenario.Relay {
			continue
		}
		for i := range w.Links {
			for _, ends := range [2][2]int{{w.Links[i].A, w.Links[i].B}, {w.Links[i].B, w.Links[i].A}} {
				if ends[0] == at && !seen[ends[1]] {
					seen[ends[1]] = true
					queue = append(queue, ends[1])
				}
			}
		}
	}
	return false
}
