package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// NextHop is one way to a prefix: a face and the routed hop count through it (0: an application on this node).
type NextHop struct {
	Face machine.FaceID
	Hops int
}

// fib maps prefixes to next hops. Lookup is by longest prefix.
type fib struct {
	byName  map[string][]NextHop
	deepest int    // components of the longest prefix
	version uint64 // changes whenever a route or the state of a face does
}

func newFIB() fib { return fib{byName: make(map[string][]NextHop)} }

// add installs or replaces the route to prefix through h.Face. Next hops are kept by hop count, then face.
func (f *fib) add(prefix wire.Name, h NextHop) {
	f.version++
	hops := f.byName[string(prefix)]
	hops = slices.DeleteFunc(slices.Clone(hops), func(o NextHop) bool { return o.Face == h.Face })
	hops = append(hops, h)
	slices.SortFunc(hops, func(a, b NextHop) int {
		if a.Hops != b.Hops {
			return a.Hops - b.Hops
		}
		return int(a.Face) - int(b.Face)
	})
	f.byName[string(prefix)] = hops
	f.deepest = max(f.deepest, prefix.Len())
}

// remove withdraws the route to prefix through face, if there is one.
func (f *fib) remove(prefix wire.Name, face machine.FaceID) {
	hops := slices.DeleteFunc(slices.Clone(f.byName[string(prefix)]), func(o NextHop) bool { return o.Face == face })
	f.version++
	if len(hops) == 0 {
		delete(f.byName, string(prefix))
		return
	}
	f.byName[string(prefix)] = hops
}

// lookup returns the next hops of the longest matching prefix; nil: no route.
func (f *fib) lookup(name wire.Name) []NextHop {
	for k := min(name.Len(), f.deepest); k >= 0; k-- {
		if hops := f.byName[string(name.Prefix(k))]; len(hops) > 0 {
			return hops
		}
	}
	return nil
}
