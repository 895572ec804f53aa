package driver

import (
	"net/netip"
	"sync"
)

// The inbox of a socket holds up to maxBlocks blocks. Datagrams are packed in a block, so that a full inbox holds more
// than 8,000 of 1,400 bytes whether they came one by one or coalesced; that is what a burst may overrun the kernel's
// buffer by before the kernel drops.
const (
	slotSize     = 64 << 10 // no UDP datagram, and no train that the kernel coalesces, is larger
	recvBatch    = 16       // slots of one receive call
	blockSize    = recvBatch * slotSize
	blockPackets = 1024
	maxBlocks    = 16
	spareBlocks  = 4 // kept for the next burst; the rest goes back to the heap
)

// A packet is one received datagram, or a train of equal ones, in the memory of a block.
type packet struct {
	data    []byte
	segment int // size of each datagram but the last; 0: data is one datagram
	remote  netip.AddrPort
	local   netip.Addr
}

// A block is memory for packets. The reader fills it while the loop already works on what is in it.
type block struct {
	arena   []byte
	used    int // bytes of arena
	packets []packet
	taken   int // packets that the loop has got
	done    int // packets that the loop is through with
}

func (b *block) room() int {
	return min((len(b.arena)-b.used)/slotSize, cap(b.packets)-len(b.packets))
}

// An inbox is a bounded queue of packets from one reader to the loop.
type inbox struct {
	mu     sync.Mutex
	change sync.Cond // the loop has freed a block, or the inbox is closed
	queue  []*block  // oldest first; the reader fills the last one
	spare  []*block
	closed bool
	stalls uint64 // times that the reader had to wait since the inbox was full
}

func newInbox() *inbox {
	in := &inbox{}
	in.change.L = &in.mu
	return in
}

// reserve points slots at free memory and returns how many of them it could serve, after waiting for the loop if the
// inbox is full. 0: the inbox is closed. Called by the reader.
func (in *inbox) reserve(slots []slot) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.writable()
	for b == nil && !in.closed {
		in.stalls++
		in.change.Wait()
		b = in.writable()
	}
	if in.closed {
		return 0
	}
	n := min(len(slots), b.room())
	for i := range slots[:n] {
		from := b.used + i*slotSize
		slots[i].buf = b.arena[from : from+slotSize : from+slotSize]
	}
	return n
}

// writable returns a block with room; nil if the inbox is full.
func (in *inbox) writable() *block {
	if n := len(in.queue); n > 0 {
		b := in.queue[n-1]
		if b.done == len(b.packets) {
			// The loop has kept up: start over in memory that the caches know.
			b.used, b.packets, b.taken, b.done = 0, b.packets[:0], 0, 0
		}
		if b.room() > 0 {
			return b
		}
		if n == maxBlocks {
			return nil
		}
	}
	var b *block
	if n := len(in.spare); n > 0 {
		b, in.spare = in.spare[n-1], in.spare[:n-1]
	} else {
		b = &block{arena: make([]byte, blockSize), packets: make([]packet, 0, blockPackets)}
	}
	in.queue = append(in.queue, b)
	return b
}

// publish queues what was received into the slots of the last reserve. Called by the reader.
func (in *inbox) publish(slots []slot) {
	in.mu.Lock()
	b := in.queue[len(in.queue)-1]
	in.mu.Unlock()
	// Only the reader touches the memory behind used and the last block of the queue stays until the reader leaves it.
	used := b.used
	var added [recvBatch]packet
	n := 0
	for i := range slots {
		s := &slots[i]
		if s.truncated || s.n == 0 {
			continue
		}
		data := s.buf[:s.n]
		if s.n <= slotSize/2 && i > 0 {
			// Close the gap that a short datagram leaves in its slot; a long train stays where it is.
			data = b.arena[used : used+s.n : used+s.n]
			copy(data, s.buf)
			used += s.n
		} else {
			used = b.used + i*slotSize + s.n
		}
		added[n] = packet{data: data, segment: s.segment, remote: s.remote, local: s.local}
		n++
	}
	in.mu.Lock()
	b.used = used
	b.packets = append(b.packets, added[:n]...)
	in.mu.Unlock()
}

// take returns the oldest packets, up to count and to about bytes; none if the inbox is empty. It also says that the
// loop is through with those of the call before. Called by the loop.
func (in *inbox) take(count, bytes int) []packet {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) > 0 {
		b := in.queue[0]
		b.done = b.taken
		if b.taken < len(b.packets) {
			from := b.taken
			for b.taken < len(b.packets) && b.taken-from < count && bytes > 0 {
				bytes -= len(b.packets[b.taken].data)
				b.taken++
			}
			return b.packets[from:b.taken]
		}
		if len(in.queue) == 1 {
			break // the reader's own; it starts over by itself
		}
		in.release(b)
	}
	return nil
}

// release takes the first block out of the queue.
func (in *inbox) release(b *block) {
	n := copy(in.queue, in.queue[1:])
	in.queue[n] = nil
	in.queue = in.queue[:n]
	if len(in.spare) < spareBlocks {
		b.used, b.packets, b.taken, b.done = 0, b.packets[:0], 0, 0
		in.spare = append(in.spare, b)
	}
	in.change.Signal()
}

func (in *inbox) close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.change.Broadcast()
}

func (in *inbox) stallCount() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stalls
}
