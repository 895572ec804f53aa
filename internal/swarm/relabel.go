package swarm

import (
	"fmt"

	"mars/internal/sim"
)

// Relabelled is the way in which a plan fails whose nodes' numbers or names matter.
const Relabelled sim.Kind = "relabelled"

// relabelled holds a run to those of the same plan with other labels. Numbers of nodes mean nothing: with others the very same must
// happen, to the last packet. Names do: they decide the order of nodes at equal distance (protocol.md §5.2), and with it which paths
// a flow has and when it ends. What may not depend on them is that everything is delivered and no invariant breaks.
func relabelled(p *Plan, trace string) (sim.Kind, string) {
	again := renumbered(p)
	v, err := sim.Watch(&again.World, again.System, again.Seed)
	switch {
	case err != nil:
		return Relabelled, "with its nodes renumbered the plan can't be run: " + err.Error()
	case v.Kind != sim.Fine:
		return Relabelled, fmt.Sprintf("with its nodes renumbered: %s: %s", v.Kind, v.Why)
	case v.Run.TraceHash != trace:
		return Relabelled, fmt.Sprintf("its trace was %s, and with its nodes renumbered %s", trace, v.Run.TraceHash)
	}
	again = renamed(p)
	switch v, err = sim.Watch(&again.World, again.System, again.Seed); {
	case err != nil:
		return Relabelled, "with its nodes renamed the plan can't be run: " + err.Error()
	case v.Kind != sim.Fine:
		return Relabelled, fmt.Sprintf("with its nodes renamed: %s: %s", v.Kind, v.Why)
	}
	return sim.Fine, ""
}

// renumbered is the plan with the order of its nodes reversed. Links keep their order: it is that of a node's faces.
func renumbered(p *Plan) Plan {
	again := clone(*p)
	w := &again.World
	last := len(w.Nodes) - 1
	for i := range w.Nodes {
		w.Nodes[i] = p.World.Nodes[last-i]
	}
	for i := range w.Links {
		w.Links[i].A, w.Links[i].B = last-w.Links[i].A, last-w.Links[i].B
	}
	for i := range w.Flows {
		w.Flows[i].Consumer, w.Flows[i].Producer = last-w.Flows[i].Consumer, last-w.Flows[i].Producer
	}
	for i := range w.Faults {
		if f := &w.Faults[i]; f.Node >= 0 {
			f.Node = last - f.Node
		}
	}
	return again
}

// renamed is the plan with other names, of the same length, for its nodes: digits are turned around. Links keep theirs, and with them
// their losses.
func renamed(p *Plan) Plan {
	again := clone(*p)
	for i := range again.World.Nodes {
		name := []byte(again.World.Nodes[i].Name)
		for k, c := range name {
			if '0' <= c && c <= '9' {
				name[k] = '0' + '9' - c
			}
		}
		again.World.Nodes[i].Name = string(name)
	}
	return again
}
