package swarm

import (
	"fmt"
	"strings"

	"mars/internal/bound"
	"mars/internal/scenario"
	"mars/internal/sim"
)

// The ways in which a plan may fail beside those of a watched run.
const (
	TooFast    sim.Kind = "too-fast"   // faster than the network can carry
	TooSlow    sim.Kind = "too-slow"   // alone on one undisturbed path, and far from its rate
	Changing   sim.Kind = "changing"   // another run of the same plan did something else
	Impossible sim.Kind = "impossible" // the plan can't be run
)

// Judge runs a plan and says what is wrong; sim.Fine: nothing. twice: it is run again, which must not differ, and with other labels.
func Judge(p *Plan, twice bool) sim.Verdict {
	v, err := sim.Watch(&p.World, p.System, p.Seed)
	if err != nil {
		return sim.Verdict{Kind: Impossible, Why: err.Error()}
	}
	if v.Kind == sim.Fine {
		v.Kind, v.Why = compare(p, &v.Run)
	}
	if twice && v.Kind == sim.Fine {
		again, err := sim.Watch(&p.World, p.System, p.Seed)
		if err != nil || again.Run.TraceHash != v.Run.TraceHash {
			v.Kind, v.Why = Changing, fmt.Sprintf("its trace was %s, and then %s", v.Run.TraceHash, again.Run.TraceHash)
		}
	}
	if twice && v.Kind == sim.Fine {
		v.Kind, v.Why = relabelled(p, v.Run.TraceHash)
	}
	return v
}

// compare holds a run to the limits of physics, and a flow that is alone and undisturbed on a single path to its rate.
func compare(p *Plan, r *scenario.Run) (sim.Kind, string) {
	b, err := bound.Of(&p.World, bound.Options{})
	if err != nil {
		return Impossible, err.Error()
	}
	if err := bound.Check(&p.World, b, *r); err != nil {
		return TooFast, err.Error()
	}
	if !p.alone() {
		return sim.Fine, ""
	}
	if least := b.PayloadT100[0]; least >= 0 && r.Flows[0].T100 > float64(headers*least)+p.start() {
		return TooSlow, fmt.Sprintf("the flow took %.2f s alone on its path; its bytes need %.2f s", r.Flows[0].T100, least)
	}
	return sim.Fine, ""
}

// headers is what a flow may take at its path's rate, as a multiple of what its bytes need: 40,000 seeds need 1.2 and 1.5 s to start.
const headers = 1.2

// start is what discovery, the first round trips and the first losses may take, seconds. Routers tell nothing of their queues: a first
// flight that crowds itself out of a short one is only known after three timeouts (seed 5360).
func (p *Plan) start() float64 {
	if strings.HasPrefix(p.System, "MARS-IP") {
		return 4
	}
	return 2
}

// alone tells whether there is one flow, one path, and nothing to disturb it.
func (p *Plan) alone() bool {
	w := &p.World
	if len(w.Flows) != 1 || len(w.Faults) > 0 || len(w.Links) != len(w.Nodes)-1 {
		return false
	}
	for i := range w.Links {
		if l := &w.Links[i]; l.AB.Loss.Random > 0 || l.BA.Loss.Random > 0 {
			return false
		}
	}
	return true
}
