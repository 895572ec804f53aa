package forward

import (
	"math/bits"

	"mars/internal/machine"
)

// The timing wheel holds the expiries of pending Interests: constant time to arm, move and disarm one of 10⁵ timers
// that nearly never fire. Entries further away than the horizon wait in its last bucket and are put back.
const (
	wheelTick    = 8 * machine.Millisecond
	wheelBuckets = 1024 // power of two; horizon 8.2 s
)

// wheel is a hashed timing wheel over PIT entries. Expiry is up to one tick late, never early.
type wheel struct {
	now    int64 // ticks: every bucket before it is empty
	n      int
	soon   int64 // tick of the first filled bucket, if known
	known  bool
	filled [wheelBuckets / 64]uint64
	bucket [wheelBuckets]*entry
}

func (w *wheel) arm(e *entry) {
	w.disarm(e)
	tick := int64(e.expiry/wheelTick) + 1
	tick = min(max(tick, w.now), w.now+wheelBuckets-2) // one less: advance re-arms while it empties a bucket
	b := int(tick & (wheelBuckets - 1))
	e.bucket, e.armed = b, true
	e.prev, e.later = nil, w.bucket[b]
	if e.later != nil {
		e.later.prev = e
	}
	w.bucket[b] = e
	if w.n == 0 || w.known && tick < w.soon {
		w.soon, w.known = tick, true
	}
	w.filled[b/64] |= 1 << (b % 64)
	w.n++
}

func (w *wheel) disarm(e *entry) {
	if !e.armed {
		return
	}
	if e.prev != nil {
		e.prev.later = e.later
	} else {
		w.bucket[e.bucket] = e.later
		if e.later == nil {
			w.filled[e.bucket/64] &^= 1 << (e.bucket % 64)
			w.known = w.known && w.soon&(wheelBuckets-1) != int64(e.bucket)
		}
	}
	if e.later != nil {
		e.later.prev = e.prev
	}
	e.prev, e.later, e.armed = nil, nil, false
	w.n--
}

// advance calls expire for every entry due by now, in a fixed order.
func (w *wheel) advance(now machine.Time, expire func(*entry)) {
	target := int64(now / wheelTick)
	for w.n > 0 {
		t, ok := w.first()
		if !ok || t > target {
			break
		}
		w.now = t
		b := int(t & (wheelBuckets - 1))
		for e := w.bucket[b]; e != nil; e = w.bucket[b] {
			w.disarm(e)
			if e.expiry > now { // beyond the horizon when it was armed
				w.now = t + 1
				w.arm(e)
				w.now = t
				continue
			}
			expire(e)
		}
	}
	w.now = max(w.now, target)
}

// first is the tick of the first filled bucket; false: there is none.
func (w *wheel) first() (int64, bool) {
	if w.n > 0 && !w.known {
		w.soon, w.known = w.scan(), true
	}
	return w.soon, w.n > 0
}

// scan finds the first filled bucket, which there must be.
func (w *wheel) scan() int64 {
	start := int(w.now & (wheelBuckets - 1))
	for i := 0; i <= len(w.filled); i++ {
		word := (start/64 + i) % len(w.filled)
		v := w.filled[word]
		if i == 0 {
			v &= ^uint64(0) << (start % 64)
		} else if i == len(w.filled) {
			v &= 1<<(start%64) - 1
		}
		if v != 0 {
			b := word*64 + bits.TrailingZeros64(v)
			return w.now + int64((b-start)&(wheelBuckets-1))
		}
	}
	return w.now
}

func (w *wheel) deadline() machine.Time {
	if w.n == 0 {
		return machine.Never
	}
	t, _ := w.first()
	return machine.Time(t) * wheelTick
}
