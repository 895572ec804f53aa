package node

import (
	"cmp"
	"encoding/binary"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Asker is an application that asks single questions and gives commands: one ordinary Interest, one answer. Questions are repeated a few times.
type Asker struct {
	asked   []*question // unanswered, oldest first
	answers []Answer
	next    uint32
	seed    uint32
}

// Answer ends a question.
type Answer struct {
	ID      uint32
	Content []byte       // nil: nobody answered
	RTT     machine.Time // from the last try on
}

type question struct {
	id    uint32
	ask   wire.Interest  // but its nonce
	via   machine.FaceID // by which it leaves; 0: any
	most  int            // tries
	tries int
	due   machine.Time
	sent  machine.Time
	wait  machine.Time // for an answer; 0: askWait, twice as long each time
}

const (
	askTries    = 4
	askWait     = 300 * machine.Millisecond
	askLifetime = 2000 // ms
	askHops     = 64
)

// Ask asks for the Data named name; the answer comes through Answers.
func (a *Asker) Ask(now machine.Time, name wire.Name) uint32 {
	return a.put(now, wire.Interest{Name: name.Clone(), CanBePrefix: true, MustBeFresh: true})
}

// Ping asks once, by a face of the node that the asker is an application of, and waits for so long.
func (a *Asker) Ping(now machine.Time, name wire.Name, via machine.FaceID, wait machine.Time) uint32 {
	a.put(now, wire.Interest{Name: name.Clone(), MustBeFresh: true})
	q := a.asked[len(a.asked)-1]
	q.via, q.most, q.wait = via, 1, wait
	if name.HasPrefix(NeighbourPing) {
		q.ask.HopLimit = 1
	}
	return q.id
}

// Command gives the node that this one is attached to a command of NFD's management protocol, such as rib/register; the answer
// is a wire.ControlResponse.
func (a *Asker) Command(now machine.Time, what string, p wire.ControlParameters) uint32 {
	i := wire.Interest{MustBeFresh: true, Name: wire.MustParseName("/localhost/nfd/"+what).Append(wire.TypeGeneric, p.Append(nil))}
	i.SignDigest()
	return a.put(now, i)
}

func (a *Asker) put(now machine.Time, i wire.Interest) uint32 {
	a.next++
	i.Lifetime, i.HopLimit, i.HasHopLimit = askLifetime, askHops, true
	a.asked = append(a.asked, &question{id: a.next, ask: i, due: now, most: askTries})
	return a.next
}

// Answers appends the answers since the last call to dst.
func (a *Asker) Answers(dst []Answer) []Answer {
	dst = append(dst, a.answers...)
	clear(a.answers)
	a.answers = a.answers[:0]
	return dst
}

// FaceUp implements machine.Machine.
func (a *Asker) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (a *Asker) FaceDown(machine.Time, machine.FaceID) {}

// Ready implements machine.Machine; a node pumps its applications without it.
func (a *Asker) Ready(dst []machine.FaceID) []machine.FaceID { return dst }

// Accepts tells that answers are always taken.
func (a *Asker) Accepts() bool { return true }

// Advance gives up questions that nobody answered.
func (a *Asker) Advance(now machine.Time) {
	kept := a.asked[:0]
	for _, q := range a.asked {
		if now >= q.due && q.tries >= q.most {
			a.answers = append(a.answers, Answer{ID: q.id})
			continue
		}
		kept = append(kept, q)
	}
	clear(a.asked[len(kept):])
	a.asked = kept
}

// Deadline implements machine.Machine.
func (a *Asker) Deadline() machine.Time {
	at := machine.Never
	for _, q := range a.asked {
		at = min(at, q.due)
	}
	return at
}

// Receive takes an answer; a Nack leaves the question to be asked again.
func (a *Asker) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	var p wire.Packet
	var d wire.Data
	if p.Decode(datagram) != nil || p.Nack || len(p.PitToken) != 4 || d.Decode(p.Fragment) != nil {
		return
	}
	id := binary.BigEndian.Uint32(p.PitToken)
	for i, q := range a.asked {
		if q.id == id && d.Name.HasPrefix(q.ask.Name) {
			a.answers = append(a.answers, Answer{id, append([]byte{}, d.Content...), now - q.sent})
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			return
		}
	}
}

// Transmit writes the next question that is due.
func (a *Asker) Transmit(now machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	for _, q := range a.asked {
		if now < q.due || q.tries >= q.most {
			continue
		}
		q.tries++
		q.sent, q.due = now, now+cmp.Or(q.wait, askWait<<q.tries)
		a.seed = a.seed*1664525 + 1013904223 + q.id // nonces must differ, not be secret
		i := q.ask
		i.Nonce, i.HasNonce = a.seed, true
		p := wire.Packet{PitToken: binary.BigEndian.AppendUint32(nil, q.id), NextHop: uint64(q.via), Fragment: i.Append(nil)}
		return len(p.Append(buf[:0])), machine.NotECT
	}
	return 0, machine.NotECT
}
