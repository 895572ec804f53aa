package sim

import (
	"fmt"

	"mars/internal/channel"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/scenario"
)

// plan puts the faults of the scenario into the network's plan. Those that count from the end of a flow's discovery are put
// there when it has ended.
func (w *world) schedule() error {
	for i := range w.w.Faults {
		f := &w.w.Faults[i]
		if (f.Kind == scenario.Restart || f.Kind == scenario.Skew) && w.consumers[f.Node] != nil {
			return fmt.Errorf("fault %d: %s is a consumer: its transfers would end with it, and their times are told by its clock; name a relay or producer", i+1, w.w.Nodes[f.Node].Name)
		}
		if f.After == "" {
			w.net.at(machine.Time(f.At), func(now machine.Time) { w.strike(now, f) })
			continue
		}
		flow := w.w.FlowIndex(f.After)
		if flow < 0 {
			return fmt.Errorf("fault %d: there is no flow %q", i+1, f.After)
		}
		w.flows[flow].then = append(w.flows[flow].then, func(now machine.Time) {
			w.net.at(now+machine.Time(f.At), func(now machine.Time) { w.strike(now, f) })
		})
	}
	return nil
}

// strike begins a fault, and plans its end.
func (w *world) strike(now machine.Time, f *scenario.Fault) {
	if w.healed {
		return
	}
	end := w.inflict(now, f)
	if f.For > 0 && end != nil {
		w.net.at(now+machine.Time(f.For), func(now machine.Time) {
			if !w.healed {
				end(now)
			}
		})
	}
}

// inflict does what a fault does and returns what ends it; nil: nothing can.
func (w *world) inflict(now machine.Time, f *scenario.Fault) func(now machine.Time) {
	switch f.Kind {
	case scenario.Restart:
		w.restart(now, f.Node)
		return nil
	case scenario.Skew:
		w.skew(now, f.Node, f.Value)
		return func(now machine.Time) { w.skew(now, f.Node, 0) }
	case scenario.Heal:
		w.heal(now)
		return nil
	}
	ab, ba := &w.net.links[2*f.Link], &w.net.links[2*f.Link+1]
	l := &w.w.Links[f.Link]
	both := func(do func(l *link, d *scenario.Direction)) {
		do(ab, &l.AB)
		do(ba, &l.BA)
		w.rearm(ab)
		w.rearm(ba)
	}
	switch f.Kind {
	case scenario.Blackhole:
		both(func(l *link, _ *scenario.Direction) { l.hole = true; l.swallow(now) })
		return func(machine.Time) { both(func(l *link, _ *scenario.Direction) { l.hole = false }) }
	case scenario.LinkDown:
		both(func(l *link, _ *scenario.Direction) { l.down = true; l.swallow(now) })
		w.faces(now, f.Link, false, true)
		return func(now machine.Time) {
			both(func(l *link, _ *scenario.Direction) { l.down = false })
			w.faces(now, f.Link, true, true)
		}
	case scenario.Exclude:
		w.faces(now, f.Link, false, false)
		return func(now machine.Time) { w.faces(now, f.Link, true, false) }
	case scenario.Deaf:
		l := ab
		if int(ab.to) != f.Node {
			l = ba
		}
		l.deaf = true
		return func(machine.Time) { l.deaf = false }
	case scenario.SetBurst:
		both(func(l *link, _ *scenario.Direction) {
			l.burst = channel.FaultBurst(f.Value)
		})
		return func(machine.Time) {
			both(func(l *link, d *scenario.Direction) { l.burst = channel.NewBurst(d.Loss) })
		}
	case scenario.Reorder, scenario.Duplicate, scenario.Corrupt, scenario.SetMTU, scenario.Stale:
		both(func(l *link, _ *scenario.Direction) { w.net.mischief(l).begin(f) })
		return func(machine.Time) { both(func(l *link, _ *scenario.Direction) { l.mischief.end(f.Kind) }) }
	case scenario.SetRate:
		both(func(l *link, _ *scenario.Direction) { l.changeRate(now, f.Value) })
		return func(now machine.Time) {
			both(func(l *link, d *scenario.Direction) { l.changeRate(now, d.Rate) })
		}
	case scenario.SetDelay:
		both(func(l *link, _ *scenario.Direction) { l.delay = machine.Time(f.Value * 1e9) })
		return func(machine.Time) { both(func(l *link, d *scenario.Direction) { l.delay = machine.Time(d.Delay) }) }
	case scenario.SetLoss:
		both(func(l *link, _ *scenario.Direction) { l.loss = channel.NewChance(f.Value) })
		return func(machine.Time) {
			both(func(l *link, d *scenario.Direction) { l.loss = channel.NewChance(d.Loss.Random) })
		}
	}
	panic("sim: unknown fault " + string(f.Kind))
}

func (w *world) rearm(l *link) { w.net.tree.set(int(l.id), l.next()) }

// faces takes the faces that leave by a link out of service, or brings them back; peers: at both ends, else only where
// fetching is done.
func (w *world) faces(now machine.Time, link int, up, peers bool) {
	l := &w.w.Links[link]
	for _, i := range [2]int{l.A, l.B} {
		h := &w.net.hosts[i]
		if h.m == nil || !peers && w.consumers[i] == nil {
			continue
		}
		now := h.local(now)
		for p := range h.ports {
			if int(h.ports[p].link)/2 != link {
				continue
			}
			if face := machine.FaceID(p + 1); up {
				h.m.FaceUp(now, face, h.ports[p].config)
			} else {
				h.m.FaceDown(now, face)
			}
		}
		w.net.pump(i)
	}
}

// recipe is how a node was made: what a restart does again.
type recipe struct {
	config forward.Config
	routes []staticRoute
	apps   func(now machine.Time, n *node.Node) turner
}

type staticRoute struct {
	dest int // producer
	hop  forward.NextHop
}

// restart has a node forget everything and begin again, with another seed: so do its random numbers.
func (w *world) restart(now machine.Time, i int) {
	if w.nodes[i] == nil {
		return // a router: it has no state
	}
	now = w.net.hosts[i].local(now)
	r := &w.recipes[i]
	r.config.Seed = r.config.Seed*0x9e3779b97f4a7c15 + 1
	n := node.New(r.config)
	w.nodes[i] = n
	h := &w.net.hosts[i]
	h.run(n)
	h.app = nil
	if r.apps != nil {
		h.app = r.apps(now, n)
	}
	for p := range h.ports {
		n.FaceUp(now, machine.FaceID(p+1), h.ports[p].config)
	}
	for _, s := range r.routes {
		n.AddRoute(now, w.producers[s.dest].prefix, s.hop)
	}
	w.net.pump(i)
}
