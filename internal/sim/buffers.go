package sim

import "mars/internal/machine"

// buffers holds the bytes of the packets under way, in slots of one size. Slots are numbered, so that a packet in a ring is a
// small value without a pointer; the slot used last is used next, while the cache still has it.
//
// Slots lie stride bytes apart. Machines that write and read nothing but headers need not be given room for the payload, which
// would take a page for every two packets: their slots are as long as others and overlap behind the headers.
type buffers struct {
	mtu    int // bytes of a slot
	stride int // at most mtu
	slabs  [][]byte
	free   []int32
	tails  []machine.Part // by slot: what is lent and follows the bytes in it; nil while nothing has been
}

const slabSlots = 512

// get takes a slot.
func (b *buffers) get() int32 {
	if len(b.free) == 0 {
		first := int32(len(b.slabs) * slabSlots)
		b.slabs = append(b.slabs, make([]byte, (slabSlots-1)*b.stride+b.mtu))
		if b.tails != nil {
			b.tails = append(b.tails, make([]machine.Part, slabSlots)...)
		}
		for i := first + slabSlots - 1; i >= first; i-- {
			b.free = append(b.free, i)
		}
	}
	n := len(b.free) - 1
	i := b.free[n]
	b.free = b.free[:n]
	return i
}

// lend makes what is lent follow the bytes of a slot.
func (b *buffers) lend(i int32, tail machine.Part) {
	if b.tails == nil {
		if tail.Of == nil {
			return
		}
		b.tails = make([]machine.Part, len(b.slabs)*slabSlots)
	}
	b.tails[i] = tail
}

// tail is what is lent to a slot.
func (b *buffers) tail(i int32) machine.Part {
	if b.tails == nil {
		return machine.Part{}
	}
	return b.tails[i]
}

// release ends what is lent to a slot.
func (b *buffers) release(i int32) {
	if b.tails == nil {
		return
	}
	if t := &b.tails[i]; t.Of != nil {
		t.Of.Release()
		*t = machine.Part{}
	}
}

// put gives a slot back, and releases what is lent to it.
func (b *buffers) put(i int32) {
	b.release(i)
	b.free = append(b.free, i)
}

// bytes is the whole slot.
func (b *buffers) bytes(i int32) []byte {
	at := int(i%slabSlots) * b.stride
	return b.slabs[i/slabSlots][at : at+b.mtu : at+b.mtu]
}

// flat is the whole slot of a packet of size bytes, with all of it there: what is lent of it is copied first.
func (b *buffers) flat(i int32, size int) []byte {
	data := b.bytes(i)
	if t := b.tail(i); t.Of != nil {
		copy(data[size-t.Len():], t.Bytes())
		b.release(i)
	}
	return data
}
