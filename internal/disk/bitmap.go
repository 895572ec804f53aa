package disk

import "math/bits"

// bitmap holds one bit a chunk.
type bitmap struct {
	words []uint64
	count int64 // bits set
}

func newBitmap(n int64) bitmap { return bitmap{words: make([]uint64, (n+63)/64)} }

func (b *bitmap) has(i int64) bool { return b.words[i/64]>>(uint(i)%64)&1 == 1 }

func (b *bitmap) set(i int64) {
	if !b.has(i) {
		b.words[i/64] |= 1 << (uint(i) % 64)
		b.count++
	}
}

func (b *bitmap) clear(i int64) {
	if b.has(i) {
		b.words[i/64] &^= 1 << (uint(i) % 64)
		b.count--
	}
}

// setRange sets n bits from first, a word at a time.
func (b *bitmap) setRange(first, n int64) {
	for n > 0 {
		at := uint(first) % 64
		take := min(n, int64(64-at))
		mask := (^uint64(0) >> (64 - uint(take))) << at
		w := &b.words[first/64]
		b.count += int64(bits.OnesCount64(mask &^ *w))
		*w |= mask
		first, n = first+take, n-take
	}
}

// missing returns the first clear bit of [0, n), or n.
func (b *bitmap) missing(n int64) int64 {
	for i, w := range b.words {
		if w != ^uint64(0) {
			return min(int64(i)*64+int64(bits.TrailingZeros64(^w)), n)
		}
	}
	return n
}

func (b *bitmap) reset() {
	clear(b.words)
	b.count = 0
}
