package sim

import (
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// notePaths makes a flow keep where its requests may go when its discovery has ended; without discovery, when the run has.
func (w *world) notePaths(f *flow, sf *scenario.Flow) {
	f.follow = func() {
		if f.graph == nil {
			f.graph = w.paths(f, sf)
		}
	}
	f.then = append(f.then, func(machine.Time) { f.follow() })
}

// paths follows the requests of a flow from its consumer over every face that may be taken, and lists all faces met.
func (w *world) paths(f *flow, sf *scenario.Flow) (all []scenario.Hop) {
	seen := make([]bool, len(w.net.hosts))
	seen[sf.Consumer] = true
	queue := []int{sf.Consumer}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == sf.Producer {
			continue
		}
		for _, h := range w.hopsAt(at, f, sf) {
			next := int(w.net.links[w.net.hosts[at].ports[h.face-1].link].to)
			h.From, h.To = w.net.hosts[at].name, w.net.hosts[next].name
			all = append(all, h.Hop)
			if !h.Used {
				continue
			}
			for router := w.net.hosts[next].router; router != nil; router = w.net.hosts[next].router {
				link := router.table[w.net.hosts[at].ports[h.face-1].addr]
				if link < 0 {
					break
				}
				to := int(w.net.links[link].to)
				hop := scenario.Hop{From: w.net.hosts[next].name, To: w.net.hosts[to].name, State: "route", Used: true}
				if !seen[next] {
					all = append(all, hop)
				}
				seen[next] = true
				next = to
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return all
}

// faceHop is a Hop by the face that it leaves by.
type faceHop struct {
	scenario.Hop
	face machine.FaceID
}

// hopsAt lists the ways on from a host: what discovery found, or the routes of those who don't discover.
func (w *world) hopsAt(at int, f *flow, sf *scenario.Flow) (all []faceHop) {
	r := &w.recipes[at]
	if r.config.Strategy == forward.Mars && !w.system.plain {
		s, ok := w.nodes[at].Forwarder().Flow(f.path)
		if !ok || len(s.Epochs) == 0 {
			return nil
		}
		e := &s.Epochs[0]
		if !s.Source {
			e = &s.Epochs[len(s.Epochs)-1]
		}
		for _, p := range e.Faces {
			if !p.Local {
				all = append(all, faceHop{scenario.Hop{Tier: p.Tier, State: p.State, Used: p.Valid && p.Why == "", Why: p.Why}, p.Face})
			}
		}
		return all
	}
	best := forward.NextHop{}
	for _, route := range r.routes {
		if route.dest != sf.Producer {
			continue
		}
		if r.config.Strategy != forward.BestRoute {
			all = append(all, faceHop{scenario.Hop{State: "route", Used: true}, route.hop.Face})
			continue
		}
		if h := route.hop; best.Face == 0 || h.Hops < best.Hops || h.Hops == best.Hops && h.Face < best.Face {
			best = h
		}
	}
	if best.Face != 0 {
		all = append(all, faceHop{scenario.Hop{State: "route", Used: true}, best.Face})
	}
	return all
}
