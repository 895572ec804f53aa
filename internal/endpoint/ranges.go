package endpoint

import "slices"

// ranges are the parts of a stream that have come: all before next, and later ones.
type ranges struct {
	next  int64
	later []gap // beyond next, in order, apart from each other
}

type gap struct{ from, to int64 }

// add takes [from, to) in.
func (r *ranges) add(from, to int64) {
	if from = max(from, r.next); from >= to {
		return
	}
	if from == r.next && (len(r.later) == 0 || to < r.later[0].from) {
		r.next = to
		return
	}
	i := len(r.later)
	for i > 0 && r.later[i-1].to >= from { // most are added at the end
		i--
	}
	j := i
	for j < len(r.later) && r.later[j].from <= to {
		from, to = min(from, r.later[j].from), max(to, r.later[j].to)
		j++
	}
	if from <= r.next {
		r.next = to
		r.later = slices.Delete(r.later, 0, j)
		return
	}
	if i == j {
		r.later = slices.Insert(r.later, i, gap{from, to})
		return
	}
	r.later[i] = gap{from, to}
	r.later = slices.Delete(r.later, i+1, j)
}

// around is the later range that has at in it.
func (r *ranges) around(at int64) gap {
	for i := len(r.later) - 1; i >= 0; i-- {
		if r.later[i].from <= at {
			return r.later[i]
		}
	}
	return gap{at, at}
}
