package driver

import (
	"encoding/binary"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// fill plays the reader for one receive call of datagrams of the given sizes, numbered from next on.
func fill(in *inbox, slots []slot, sizes []int, next int) int {
	n := min(in.reserve(slots), len(sizes))
	for i, size := range sizes[:n] {
		slots[i].n = size
		binary.BigEndian.PutUint32(slots[i].buf, uint32(next+i))
		slots[i].buf[size-1] = byte(next + i)
	}
	in.publish(slots[:n])
	return n
}

// full says whether the reader would have to wait.
func full(in *inbox) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.writable() == nil
}

// TestInboxIsAQueue checks that whatever goes in comes out, in order and unharmed, while reader and loop alternate.
func TestInboxIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, slots := newInbox(), make([]slot, recvBatch)
		var expect []int // sizes of what is in there
		first, next := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				if full(in) {
					t.Skip("full")
				}
				size := rapid.OneOf(rapid.IntRange(5, 1500), rapid.IntRange(slotSize/2-1, slotSize))
				sizes := rapid.SliceOfN(size, 1, recvBatch).Draw(t, "sizes")
				n := fill(in, slots, sizes, next)
				next += n
				expect = append(expect, sizes[:n]...)
			},
			"take": func(t *rapid.T) {
				packets := in.take(rapid.IntRange(1, 64).Draw(t, "count"), 1<<20)
				if len(packets) == 0 && len(expect) > 0 {
					t.Fatalf("nothing to take of %d", len(expect))
				}
				for _, p := range packets {
					got := binary.BigEndian.Uint32(p.data)
					if len(p.data) != expect[0] || got != uint32(first) || p.data[len(p.data)-1] != byte(first) {
						t.Fatalf("packet %d came out as %d with %d of %d bytes", first, got, len(p.data), expect[0])
					}
					first, expect = first+1, expect[1:]
				}
			},
		})
	})
}

// TestInboxHoldsABurst counts what goes in while the loop takes nothing.
func TestInboxHoldsABurst(t *testing.T) {
	for _, tt := range []struct{ batch, size int }{{1, 1400}, {recvBatch, 1400}, {recvBatch, 64}} {
		in, slots, n := newInbox(), make([]slot, recvBatch), 0
		sizes := make([]int, tt.batch)
		for i := range sizes {
			sizes[i] = tt.size
		}
		for !full(in) {
			n += fill(in, slots, sizes, n)
		}
		if n < 4096 {
			t.Errorf("%d datagrams of %d bytes, received %d at once, fill the inbox", n, tt.size, tt.batch)
		}
		for got := 0; got < n; {
			packets := in.take(64, 1<<20)
			if len(packets) == 0 {
				t.Fatalf("only %d of %d come out", got, n)
			}
			got += len(packets)
		}
		in.take(64, 1<<20)
		if len(in.queue) != 1 || len(in.spare) > spareBlocks {
			t.Errorf("afterwards %d blocks are in use and %d spare", len(in.queue), len(in.spare))
		}
	}
}

func TestInboxMakesTheReaderWait(t *testing.T) {
	in, slots := newInbox(), make([]slot, recvBatch)
	n := 0
	for !full(in) {
		n += fill(in, slots, []int{slotSize}, n)
	}
	room := make(chan int)
	go func() {
		room <- in.reserve(slots)
		in.publish(nil)
		for full := false; !full; { // until close
			full = in.reserve(slots) == 0
			for i := range slots {
				slots[i].n = slotSize
			}
			if !full {
				in.publish(slots[:1])
			}
		}
		room <- 0
	}()
	for in.stallCount() == 0 {
		runtime.Gosched()
	}
	select {
	case <-room:
		t.Fatal("a full inbox had room")
	default:
	}
	for range recvBatch + 1 { // the first block, and the call that says that it is done
		in.take(1, 1)
	}
	if got := <-room; got == 0 {
		t.Error("there is no room after a block was taken")
	}
	in.close()
	<-room
	if in.reserve(slots) != 0 {
		t.Error("a closed inbox has room")
	}
}
