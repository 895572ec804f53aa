package sim

// buffers holds the bytes of the packets under way, in slots of one size. Slots are numbered, so that a packet in a ring is a
// small value without a pointer; the slot used last is used next, while the cache still has it.
type buffers struct {
	stride int
	slabs  [][]byte
	free   []int32
}

const slabSlots = 512

// get takes a slot.
func (b *buffers) get() int32 {
	if len(b.free) == 0 {
		first := int32(len(b.slabs) * slabSlots)
		b.slabs = append(b.slabs, make([]byte, slabSlots*b.stride))
		for i := first + slabSlots - 1; i >= first; i-- {
			b.free = append(b.free, i)
		}
	}
	n := len(b.free) - 1
	i := b.free[n]
	b.free = b.free[:n]
	return i
}

func (b *buffers) put(i int32) { b.free = append(b.free, i) }

// bytes is the whole slot.
func (b *buffers) bytes(i int32) []byte {
	at := int(i%slabSlots) * b.stride
	return b.slabs[i/slabSlots][at : at+b.stride : at+b.stride]
}
