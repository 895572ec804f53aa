package driver

import (
	"encoding/binary"
	"slices"

	"mars/internal/machine"
)

// queues is the part that the test Machines share: faces and what is to be sent on each. It notes all it was told.
type queues struct {
	faces    []machine.FaceID
	desc     map[machine.FaceID]machine.Face
	out      map[machine.FaceID][][]byte
	down     []machine.FaceID
	deadline machine.Time
	advances int
}

func newQueues() queues {
	return queues{desc: map[machine.FaceID]machine.Face{}, out: map[machine.FaceID][][]byte{}, deadline: machine.Never}
}

func (q *queues) FaceUp(_ machine.Time, id machine.FaceID, f machine.Face) {
	q.faces = append(q.faces, id)
	q.desc[id] = f
}

func (q *queues) FaceDown(_ machine.Time, id machine.FaceID) {
	q.faces = slices.DeleteFunc(q.faces, func(f machine.FaceID) bool { return f == id })
	delete(q.out, id)
	q.down = append(q.down, id)
}

func (q *queues) Advance(machine.Time) { q.advances++ }

func (q *queues) Transmit(_ machine.Time, id machine.FaceID, buf []byte) (int, machine.ECN) {
	if len(q.out[id]) == 0 {
		return 0, machine.NotECT
	}
	d := q.out[id][0]
	if len(d) > len(buf) {
		return -len(d), machine.NotECT
	}
	q.out[id] = q.out[id][1:]
	return copy(buf, d), machine.NotECT
}

func (q *queues) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, id := range q.faces {
		if len(q.out[id]) > 0 {
			dst = append(dst, id)
		}
	}
	return dst
}

func (q *queues) Deadline() machine.Time { return q.deadline }

func (q *queues) queue(id machine.FaceID, datagram []byte) {
	q.out[id] = append(q.out[id], slices.Clone(datagram))
}

// echo sends back what it gets, over the face that it came by.
type echo struct{ queues }

func newEcho() *echo { return &echo{newQueues()} }

func (e *echo) Receive(_ machine.Time, id machine.FaceID, _ machine.ECN, d []byte) { e.queue(id, d) }

// counter sends numbered datagrams on every face, with at most window of them on their way, and checks off the echoes.
type counter struct {
	queues
	count, size, window int

	sent map[machine.FaceID]int
	seen map[machine.FaceID]map[uint64]bool
	bad  int
	done chan struct{} // closed when every echo of want faces has come
	want int           // faces
}

func newCounter(faces, count, size, window int) *counter {
	return &counter{
		queues: newQueues(), count: count, size: size, window: window, want: faces,
		sent: map[machine.FaceID]int{}, seen: map[machine.FaceID]map[uint64]bool{}, done: make(chan struct{}),
	}
}

func (c *counter) FaceUp(now machine.Time, id machine.FaceID, f machine.Face) {
	c.queues.FaceUp(now, id, f)
	c.seen[id] = map[uint64]bool{}
	for range c.window {
		c.next(id)
	}
}

// next queues the next datagram of a face. Sizes differ now and then, so that trains end everywhere.
func (c *counter) next(id machine.FaceID) {
	n := c.sent[id]
	if n == c.count {
		return
	}
	c.sent[id]++
	d := make([]byte, c.size-n%7/6*(n%80))
	binary.BigEndian.PutUint64(d, uint64(n))
	binary.BigEndian.PutUint32(d[8:], uint32(id))
	c.queue(id, d)
}

func (c *counter) Receive(_ machine.Time, id machine.FaceID, _ machine.ECN, d []byte) {
	if len(d) < 12 || binary.BigEndian.Uint32(d[8:]) != uint32(id) || c.seen[id][binary.BigEndian.Uint64(d)] {
		c.bad++
		return
	}
	c.seen[id][binary.BigEndian.Uint64(d)] = true
	c.next(id)
	for _, seen := range c.seen {
		if len(seen) < c.count {
			return
		}
	}
	if len(c.seen) == c.want {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
}
