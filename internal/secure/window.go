package secure

// window remembers which counters have come, so that none counts twice (RFC 6479): all of the newest windowBits.
type window struct {
	next uint64 // one more than the newest counter
	bits [windowBits / 64]uint64
}

// windowBits is how far behind the newest a datagram may come: the trains of several cores' queues overtake each other.
const windowBits = 4096

// widen returns the counter with these low 32 bits that is nearest to the newest one.
func (w *window) widen(low uint32) uint64 {
	c := w.next&^0xffffffff | uint64(low)
	switch {
	case c > w.next+1<<31 && c >= 1<<32:
		return c - 1<<32
	case c+1<<31 < w.next:
		return c + 1<<32
	}
	return c
}

// fresh tells whether c may still come.
func (w *window) fresh(c uint64) bool {
	switch {
	case c >= w.next:
		return true
	case w.next-c > windowBits:
		return false
	}
	return w.bits[c/64%uint64(len(w.bits))]&(1<<(c%64)) == 0
}

// mark notes that a fresh c has come, and tells whether it is the newest.
func (w *window) mark(c uint64) (newest bool) {
	if c >= w.next {
		newest = true
		// The words between the old newest counter and c are of counters long past.
		from, to := w.next/64, c/64
		if w.next%64 == 0 {
			w.bits[from%uint64(len(w.bits))] = 0
		}
		if to-from > uint64(len(w.bits)) {
			from = to - uint64(len(w.bits))
		}
		for i := from + 1; i <= to; i++ {
			w.bits[i%uint64(len(w.bits))] = 0
		}
		w.next = c + 1
	}
	w.bits[c/64%uint64(len(w.bits))] |= 1 << (c % 64)
	return newest
}
