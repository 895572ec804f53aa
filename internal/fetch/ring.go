package fetch

// ring is a first-in-first-out queue that reuses its array.
type ring[T any] struct {
	buf  []T // its length is a power of two, or 0
	head int // of the oldest
	n    int
}

func (r *ring[T]) len() int { return r.n }

// first is the oldest, which there must be.
func (r *ring[T]) first() T { return r.buf[r.head] }

func (r *ring[T]) push(x T) {
	if r.n == len(r.buf) {
		grown := make([]T, max(4, 2*len(r.buf)))
		k := copy(grown, r.buf[r.head:])
		copy(grown[k:], r.buf[:r.head])
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = x
	r.n++
}

// pop takes the oldest out, which there must be.
func (r *ring[T]) pop() T {
	x := r.buf[r.head]
	var none T
	r.buf[r.head] = none
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return x
}
