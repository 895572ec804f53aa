package sim

import (
	"math"
	"math/bits"

	"mars/internal/machine"
)

// idle is the key of a leaf for which nothing is pending.
const idle = math.MaxUint64

// tree is a winner tree: for each leaf the time of its next event, and at the root the earliest of all. A key is
// time<<bits | leaf, so that keys are unique and events at one instant have a fixed order.
type tree struct {
	keys  []uint64 // 1: the root; size+i: leaf i
	size  int      // leaves, a power of two
	bits  uint
	limit machine.Time // times from here on don't fit
}

// newTree has room for leaves 0…n−1, all idle.
func newTree(n int) tree {
	b := uint(bits.Len(uint(max(n, 2) - 1)))
	t := tree{keys: make([]uint64, 2<<b), size: 1 << b, bits: b, limit: 1 << (63 - b)}
	for i := range t.keys {
		t.keys[i] = idle
	}
	return t
}

// set makes at the time of leaf i's next event; machine.Never: none.
func (t *tree) set(i int, at machine.Time) {
	key := uint64(idle)
	if at < t.limit {
		key = uint64(at)<<t.bits | uint64(i)
	}
	keys := t.keys
	p := t.size + i
	if keys[p] == key {
		return
	}
	keys[p] = key
	for p > 1 {
		key = min(key, keys[p^1])
		p >>= 1
		if keys[p] == key {
			return // the winner above was neither this leaf before nor is it now
		}
		keys[p] = key
	}
}

// next is the earliest event: its time and leaf; machine.Never when there is none.
func (t *tree) next() (machine.Time, int) {
	key := t.keys[1]
	if key == idle {
		return machine.Never, 0
	}
	return machine.Time(key >> t.bits), int(key & uint64(t.size-1))
}
