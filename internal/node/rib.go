package node

import (
	"cmp"
	"maps"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// maxRoutes bounds the routes of a node that applications may still add one to.
const maxRoutes = 1 << 16

// A ribRoute is one reason to forward a prefix by a face. There may be several for a pair, of different origins.
type ribRoute struct {
	face    machine.FaceID
	origin  uint64 // wire.OriginApp, …
	cost    int    // routed hops; 0: an application here
	flags   uint64
	expires machine.Time // Never: not by itself
}

// rib holds the routes of all origins; the FIB has the best of each prefix and face.
type rib struct {
	byPrefix map[string][]ribRoute // routes by face, then origin
	n        int
	timed    []timedRoute // those that expire, soonest first
}

type timedRoute struct {
	at     machine.Time
	prefix string
	face   machine.FaceID
	origin uint64
}

func newRIB() rib { return rib{byPrefix: make(map[string][]ribRoute)} }

func (r ribRoute) compare(o ribRoute) int {
	return cmp.Or(cmp.Compare(r.face, o.face), cmp.Compare(r.origin, o.origin))
}

// set adds a route or replaces the one of the same face and origin.
func (b *rib) set(prefix wire.Name, r ribRoute) {
	b.unset(prefix, r.face, r.origin)
	routes := b.byPrefix[string(prefix)]
	i, _ := slices.BinarySearchFunc(routes, r, ribRoute.compare)
	b.byPrefix[string(prefix)] = slices.Insert(routes, i, r)
	b.n++
	if r.expires != machine.Never {
		t := timedRoute{r.expires, string(prefix), r.face, r.origin}
		b.timed = slices.Insert(b.timed, b.firstAt(t.at), t)
	}
}

// firstAt is where the routes that expire at a time begin in timed.
func (b *rib) firstAt(at machine.Time) int {
	i, _ := slices.BinarySearchFunc(b.timed, at, func(t timedRoute, at machine.Time) int { return cmp.Compare(t.at, at) })
	return i
}

// unset removes a route, if it is there.
func (b *rib) unset(prefix wire.Name, face machine.FaceID, origin uint64) {
	routes := b.byPrefix[string(prefix)]
	i, found := slices.BinarySearchFunc(routes, ribRoute{face: face, origin: origin}, ribRoute.compare)
	if !found {
		return
	}
	b.n--
	if at := routes[i].expires; at != machine.Never {
		k := b.firstAt(at)
		for b.timed[k] != (timedRoute{at, string(prefix), face, origin}) {
			k++
		}
		b.timed = slices.Delete(b.timed, k, k+1)
	}
	if routes = slices.Delete(routes, i, i+1); len(routes) == 0 {
		delete(b.byPrefix, string(prefix))
		return
	}
	b.byPrefix[string(prefix)] = routes
}

// has tells whether a route is there.
func (b *rib) has(prefix wire.Name, face machine.FaceID, origin uint64) bool {
	_, found := slices.BinarySearchFunc(b.byPrefix[string(prefix)], ribRoute{face: face, origin: origin}, ribRoute.compare)
	return found
}

// best is the route that the FIB gets for a prefix and face: a static one, else the cheapest.
func (b *rib) best(prefix wire.Name, face machine.FaceID) (best ribRoute, ok bool) {
	for _, r := range b.byPrefix[string(prefix)] {
		if r.face != face {
			continue
		}
		static, bestStatic := r.origin == wire.OriginStatic, best.origin == wire.OriginStatic
		if !ok || static || !bestStatic && r.cost < best.cost {
			best, ok = r, true
		}
	}
	return best, ok
}

// expired takes the next route that is due by now out; false: none is.
func (b *rib) expired(now machine.Time) (prefix wire.Name, face machine.FaceID, ok bool) {
	if len(b.timed) == 0 || b.timed[0].at > now {
		return nil, 0, false
	}
	t := b.timed[0]
	b.unset(wire.Name(t.prefix), t.face, t.origin)
	return wire.Name(t.prefix), t.face, true
}

// deadline is when the next route expires.
func (b *rib) deadline() machine.Time {
	if len(b.timed) == 0 {
		return machine.Never
	}
	return b.timed[0].at
}

// prefixes lists the prefixes in canonical order.
func (b *rib) prefixes() []wire.Name {
	all := make([]wire.Name, 0, len(b.byPrefix))
	for _, p := range slices.Sorted(maps.Keys(b.byPrefix)) {
		all = append(all, wire.Name(p))
	}
	return all
}

// of lists the prefixes that have a route by face.
func (b *rib) of(face machine.FaceID) (all []wire.Name) {
	for _, p := range b.prefixes() {
		if _, ok := b.best(p, face); ok {
			all = append(all, p)
		}
	}
	return all
}
