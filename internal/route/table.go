package route

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Change is one change of the routing table.
type Change struct {
	Prefix wire.Name
	Face   machine.FaceID
	Hops   int // to the nearest origin of Prefix through Face, the neighbour there included; 0: no way any more
}

// prefix is one prefix that somebody announces, or did.
type prefix struct {
	name    wire.Name
	used    bool    // false: the number is free
	origins []int32 // slots
}

// table numbers prefixes. A number is used again once nobody announces its prefix and that is reported.
type table struct {
	prefixes []prefix
	numbers  map[string]int32
	free     []int32
	orphans  []int32 // without origins since the last computation
	dead     []int32 // without origins before it: no hop count is left
}

// number returns the number of p, a new one if need be.
func (t *table) number(p wire.Name) int32 {
	if i, ok := t.numbers[string(p)]; ok {
		return i
	}
	i := int32(len(t.prefixes))
	if k := len(t.free); k > 0 {
		i, t.free = t.free[k-1], t.free[:k-1]
	} else {
		t.prefixes = append(t.prefixes, prefix{})
	}
	t.prefixes[i] = prefix{name: p.Clone(), used: true}
	t.numbers[string(p)] = i
	return i
}

// replace makes the node in slot at an origin of the prefixes now, and no longer of those that only old has. Both
// ascend.
func (t *table) replace(at int32, old, now []int32) {
	for _, i := range now {
		if _, ok := slices.BinarySearch(old, i); !ok {
			t.prefixes[i].origins = append(t.prefixes[i].origins, at)
		}
	}
	for _, i := range old {
		if _, ok := slices.BinarySearch(now, i); ok {
			continue
		}
		p := &t.prefixes[i]
		p.origins = slices.DeleteFunc(p.origins, func(o int32) bool { return o == at })
		if len(p.origins) == 0 {
			t.orphans = append(t.orphans, i)
		}
	}
}

// hops returns the hop counts, by prefix, through a neighbour from which the nodes are as far as dist says.
func (t *table) hops(dist []int32) []uint16 {
	hops := make([]uint16, len(t.prefixes))
	for i := range t.prefixes {
		best := int32(-1)
		for _, o := range t.prefixes[i].origins {
			if d := dist[o]; d >= 0 && (best < 0 || d < best) {
				best = d
			}
		}
		hops[i] = uint16(best + 1)
	}
	return hops
}

// computed says that hop counts are as the origins are.
func (t *table) computed() {
	t.dead = append(t.dead, t.orphans...)
	t.orphans = t.orphans[:0]
}

// bury frees the numbers of prefixes that are gone and reported so.
func (t *table) bury() {
	for _, i := range t.dead {
		p := &t.prefixes[i]
		if len(p.origins) > 0 || !p.used {
			continue
		}
		delete(t.numbers, string(p.name))
		*p = prefix{}
		t.free = append(t.free, i)
	}
	t.dead = t.dead[:0]
}

// Changes appends to dst what has changed in the routing table since the last call, by face and each at most once.
// Call it after Receive, Advance and FaceDown. The names may be kept.
func (r *Router) Changes(dst []Change) []Change {
	if !r.changed {
		return dst
	}
	r.changed = false
	for _, f := range r.faces {
		var hops []uint16
		if f.linked != nil {
			hops = f.linked.hops
		}
		for i := range max(len(hops), len(f.reported)) {
			if now := at(hops, i); now != at(f.reported, i) {
				dst = append(dst, Change{r.table.prefixes[i].name, f.id, int(now)})
			}
		}
		f.reported = hops
	}
	r.faces = slices.DeleteFunc(r.faces, func(f *face) bool { return !f.up })
	r.table.bury()
	return dst
}

// at is element i; 0 when there are fewer.
func at(hops []uint16, i int) uint16 {
	if i < len(hops) {
		return hops[i]
	}
	return 0
}
