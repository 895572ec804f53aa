package forward

import (
	"cmp"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// NextHop is one way to a prefix: a face and the routed hop count through it (0: an application on this node).
type NextHop struct {
	Face machine.FaceID
	Hops int
	// Static: it was configured, and stays a candidate for names below its prefix that longer prefixes lead elsewhere.
	Static bool
}

func (h NextHop) compare(o NextHop) int {
	return cmp.Or(cmp.Compare(h.Hops, o.Hops), cmp.Compare(h.Face, o.Face))
}

// fib maps prefixes to next hops. Lookup is by longest prefix.
type fib struct {
	byName  map[string][]NextHop // by hop count, then face
	deepest int                  // components of the longest prefix
	version uint64               // changes whenever a route or the state of a face does
	statics int                  // next hops that are Static
	scratch []NextHop            // of lookup
}

func newFIB() fib { return fib{byName: make(map[string][]NextHop)} }

// add installs or replaces the route to prefix through h.Face.
func (f *fib) add(prefix wire.Name, h NextHop) {
	hops := f.cut(f.byName[string(prefix)], h.Face)
	i, _ := slices.BinarySearchFunc(hops, h, NextHop.compare)
	f.byName[string(prefix)] = slices.Insert(hops, i, h)
	if h.Static {
		f.statics++
	}
	f.version++
	f.deepest = max(f.deepest, prefix.Len())
}

// remove withdraws the route to prefix through face, if there is one.
func (f *fib) remove(prefix wire.Name, face machine.FaceID) {
	f.version++
	if hops := f.cut(f.byName[string(prefix)], face); len(hops) > 0 {
		f.byName[string(prefix)] = hops
	} else {
		delete(f.byName, string(prefix))
	}
}

// cut takes the next hop by face out of hops, in place.
func (f *fib) cut(hops []NextHop, face machine.FaceID) []NextHop {
	i := slices.IndexFunc(hops, func(o NextHop) bool { return o.Face == face })
	if i < 0 {
		return hops
	}
	if hops[i].Static {
		f.statics--
	}
	return slices.Delete(hops, i, i+1)
}

// lookup returns the next hops of the longest matching prefix, and behind them the configured ones of shorter prefixes, of unknown
// length: what an operator configured isn't lost when routing learns of another way. nil: no route. The result holds until the
// next call. Prefixes of applications here have no other way.
func (f *fib) lookup(name wire.Name) []NextHop {
	var hops []NextHop
	k := min(name.Len(), f.deepest)
	for ; k >= 0 && len(hops) == 0; k-- {
		hops = f.byName[string(name.Prefix(k))]
	}
	if f.statics == 0 || len(hops) == 0 || hops[0].Hops == 0 {
		return hops
	}
	f.scratch = append(f.scratch[:0], hops...)
	for ; k >= 0; k-- {
		for _, h := range f.byName[string(name.Prefix(k))] {
			if h.Static && !slices.ContainsFunc(f.scratch, func(o NextHop) bool { return o.Face == h.Face }) {
				f.scratch = append(f.scratch, NextHop{h.Face, unknownHops, true})
			}
		}
	}
	return f.scratch
}

// match returns the longest matching prefix and its next hops; nil: no route.
func (f *fib) match(name wire.Name) (wire.Name, []NextHop) {
	for k := min(name.Len(), f.deepest); k >= 0; k-- {
		prefix := name.Prefix(k)
		if hops := f.byName[string(prefix)]; len(hops) > 0 {
			return prefix, hops
		}
	}
	return nil, nil
}
