package sim

import "mars/internal/machine"

// buffers holds the bytes of the packets under way, in slots of one size. Slots are numbered, so that a packet in a ring is a
// small value without a pointer; the slot used last is used next, while the cache still has it.
type buffers struct {
	stride int
	slabs  [][]byte
	free   []int32
	tails  []machine.Part // by slot: what is lent and follows the bytes in it
}

const slabSlots = 512

// get takes a slot.
func (b *buffers) get() int32 {
	if len(b.free) == 0 {
		first := int32(len(b.slabs) * slabSlots)
		b.slabs = append(b.slabs, make([]byte, slabSlots*b.stride))
		b.tails = append(b.tails, make([]machine.Part, slabSlots)...)
		for i := first + slabSlots - 1; i >= first; i-- {
			b.free = append(b.free, i)
		}
	}
	n := len(b.free) - 1
	i := b.free[n]
	b.free = b.free[:n]
	return i
}

// put gives a slot back, and releases what is lent to it.
func (b *buffers) put(i int32) {
	if t := &b.tails[i]; t.Of != nil {
		t.Of.Release()
		*t = machine.Part{}
	}
	b.free = append(b.free, i)
}

// bytes is the whole slot.
func (b *buffers) bytes(i int32) []byte {
	at := int(i%slabSlots) * b.stride
	return b.slabs[i/slabSlots][at : at+b.stride : at+b.stride]
}

// flat is the whole slot of a packet of size bytes, with all of it there: what is lent of it is copied first.
func (b *buffers) flat(i int32, size int) []byte {
	data := b.bytes(i)
	if t := &b.tails[i]; t.Of != nil {
		copy(data[size-t.Len():], t.Bytes())
		t.Of.Release()
		*t = machine.Part{}
	}
	return data
}
