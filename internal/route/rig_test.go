package route

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// rig is one Router whose neighbours are scripts.
type rig struct {
	t   testing.TB
	r   *Router
	now machine.Time
}

// script is a neighbour on one face.
type script struct {
	*rig
	face machine.FaceID
	header
}

func newRig(t testing.TB, cfg Config) *rig {
	if cfg.ID == 0 {
		cfg.ID, cfg.Boot, cfg.Relay = 1, 1, true
	}
	r := &rig{t: t, r: New(cfg)}
	r.r.Advance(0)
	return r
}

// stranger brings up a face with a neighbour that has said nothing yet.
func (r *rig) stranger(face machine.FaceID, id uint64, boot uint32) *script {
	r.r.FaceUp(r.now, face)
	return &script{rig: r, face: face, header: header{id: id, boot: boot, session: 1}}
}

// linked brings up a face with a neighbour such that both hear each other.
func (r *rig) linked(face machine.FaceID, id uint64) *script {
	s := r.stranger(face, id, 7)
	s.hear()
	s.send()
	if got, up := r.r.Neighbour(face); got != id || !up {
		r.t.Fatalf("neighbour %d, up %v", got, up)
	}
	s.thank(s.drain()...)
	return s
}

// hear makes s acknowledge the session that the Router is in.
func (s *script) hear() {
	h := s.r.head(s.r.liveFace(s.face))
	s.heardBoot, s.heardSession = h.boot, h.session
}

// send delivers a message of s with the given records; without any it is a hello.
func (s *script) send(records ...[]byte) {
	s.number++
	s.header.ack = len(records) > 0
	s.r.Receive(s.now, s.face, s.encode(records...))
}

func (s *script) encode(records ...[]byte) []byte {
	b := make([]byte, headerLen)
	s.put(b)
	return append(b, slices.Concat(records...)...)
}

// drain returns the messages for s.
func (s *script) drain() (list []message) {
	var buf [MaxMessage]byte
	for slices.Contains(s.r.Ready(nil), s.face) {
		n := s.r.Transmit(s.now, s.face, buf[:])
		if n == 0 {
			continue
		}
		var m message
		if why, ok := m.decode(slices.Clone(buf[:n])); !ok {
			s.t.Fatalf("the Router's own message is %v: %x", why, buf[:n])
		}
		list = append(list, m)
	}
	return list
}

// thank acknowledges messages.
func (s *script) thank(list ...message) {
	for _, m := range list {
		if m.ack {
			s.number++
			s.header.ack = false
			s.r.Receive(s.now, s.face, s.encode(acks(m.number)))
		}
	}
}

// run lets d go by, as a driver would; nobody answers.
func (r *rig) run(d machine.Time) {
	for end := r.now + d; r.now < end; {
		r.now = min(max(r.r.Deadline(), r.now), end)
		r.r.Advance(r.now)
	}
}

func (r *rig) dropped(d Drop) uint64 { return r.r.Counters().Drops[d] }

func acks(numbers ...uint32) []byte {
	b := appendRecord(nil, recordAck, 4*len(numbers))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// says is the record of an advertisement, ageMS old.
func says(a *advert, ageMS uint32) []byte {
	body := a.encoded()
	b := appendRecord(nil, recordAdvert, ageLen+len(body))
	return append(binary.BigEndian.AppendUint32(b, ageMS), body...)
}

func (a *advert) encoded() []byte { return appendSignature(appendAdvert(nil, a), nil) }

// node makes an advertisement of a relay.
func node(id, seq uint64, links []uint64, prefixes ...string) *advert {
	a := &advert{origin: id, stamp: stamp{seq, 7}, relay: true, links: links}
	for _, p := range prefixes {
		a.prefixes = append(a.prefixes, name(p))
	}
	slices.SortFunc(a.prefixes, wire.Name.Compare)
	return a
}

// lists is a summary record of everything, with the given advertisements.
func lists(list ...*advert) []byte {
	b := appendRecord(nil, recordSummary, 16+len(list)*summaryLen)
	b = binary.BigEndian.AppendUint64(b, everything.lo)
	b = binary.BigEndian.AppendUint64(b, everything.hi)
	for _, a := range list {
		b = appendStamp(binary.BigEndian.AppendUint64(b, a.origin), a.stamp)
	}
	return b
}

// holds returns the stamp that the Router holds of a node.
func (r *rig) holds(id uint64) (stamp, bool) {
	for _, n := range r.r.Topology() {
		if n.ID == id {
			return stamp{n.Seq, n.Boot}, true
		}
	}
	return stamp{}, false
}

func sortedKeys(m map[uint64]bool) []uint64 { return slices.Sorted(maps.Keys(m)) }
