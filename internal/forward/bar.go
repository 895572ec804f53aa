package forward

import (
	"slices"

	"mars/internal/machine"
)

// Who asks knows what it gets: a consumer that checks chunks against the manifest, and metadata against its signature, marks an
// Interest whose last answer was false (MARS §3, "Bad"). Every node on the way remembers by whom that answer came, and takes others
// for this flow from then on, or this name if there is no flow. It is a preference: a face that is the only one is used all the same,
// and the consumer gives up. A mark counts only from the face that got the answer, so that who lies harms its own flows.

const (
	// barMin and barMax are how long a flow keeps off a face that brought false Data, at first and at most: each time it is twice as
	// long as the last.
	barMin = 10 * machine.Second
	barMax = 10 * 60 * machine.Second
	// maxShunned bounds the faces that the Interests of one name keep off.
	maxShunned = 8
)

// bar keeps a flow off a face.
type bar struct {
	face    machine.FaceID
	penalty machine.Time // the last one
	until   machine.Time // 0: it has ended
}

// delivery is an Interest that was answered: by whom, and to whom that went.
type delivery struct {
	key    uint64
	by, to machine.FaceID
}

// shun is what Interests of one name that belong to no flow keep off.
type shun struct {
	key   uint64
	until machine.Time
	faces []machine.FaceID
}

// delivers notes who answers e.
func (s *flows) delivers(e *entry, by machine.FaceID) {
	key := e.hash | 1
	s.delivered[key/2%uint64(len(s.delivered))] = delivery{key, by, e.in[0].face}
}

// accuse draws the consequence of an Interest from face in whose last answer was false. e.flow is set if it has one.
func (s *flows) accuse(now machine.Time, in machine.FaceID, e *entry) {
	e.bad = true
	key := e.hash | 1
	d := s.delivered[key/2%uint64(len(s.delivered))]
	u := s.ups.get(d.by)
	if d.key != key || d.to != in || u == nil || u.local {
		return
	}
	if e.flow != nil {
		s.bar(now, e.flow, d.by)
		return
	}
	if s.shunned == nil {
		s.shunned = make([]shun, 256)
	}
	at := &s.shunned[key/2%uint64(len(s.shunned))]
	if at.key != key || now >= at.until {
		*at = shun{key: key, faces: at.faces[:0]}
	}
	at.until = now + barMax
	if len(at.faces) < maxShunned && !slices.Contains(at.faces, d.by) {
		at.faces = append(at.faces, d.by)
	}
}

// shuns are the faces that e had better not leave by.
func (s *flows) shuns(now machine.Time, e *entry) []machine.FaceID {
	if s.shunned == nil {
		return nil
	}
	key := e.hash | 1
	if at := &s.shunned[key/2%uint64(len(s.shunned))]; at.key == key && now < at.until {
		return at.faces
	}
	return nil
}

// bar keeps f off a face, unless it is the last one. What is asked for there is asked for elsewhere: its answers would be of no use,
// and are dropped.
func (s *flows) bar(now machine.Time, f *flow, face machine.FaceID) {
	if f.barred(face) || !f.useful(face) {
		return
	}
	at := slices.IndexFunc(f.bars, func(b bar) bool { return b.face == face })
	if at < 0 {
		if len(f.bars) >= maxShunned { // faces come and go
			f.bars = slices.DeleteFunc(f.bars, func(b bar) bool { return b.until == 0 || s.ups.get(b.face) == nil })
		}
		at = len(f.bars)
		f.bars = append(f.bars, bar{face: face})
	}
	b := &f.bars[at]
	b.penalty = min(max(2*b.penalty, barMin), barMax)
	b.until = now + b.penalty
	var asked []ref // before any is asked for again: one that can't be may take others along
	for e := f.entries.first; e != nil; e = e.younger {
		if o := e.outFace(face); o != nil && !o.dead {
			o.dead = true
			s.unchargeOne(o)
			asked = append(asked, ref{e, e.gen})
		}
	}
	for _, r := range asked {
		if r.valid() && !r.e.queued {
			r.e.avoid, r.e.lost = face, true
			s.enqueue(now, r.e, true)
		}
	}
	s.wakeFlow(f)
}

// useful tells whether f can go on without a face.
func (f *flow) useful(without machine.FaceID) bool {
	return slices.ContainsFunc(f.lanes, func(l *lane) bool {
		face := l.up.face
		return face != without && l.up.usable() && f.valid(face) && !f.barred(face)
	})
}

// barred tells whether f keeps off a face.
func (f *flow) barred(face machine.FaceID) bool {
	for i := range f.bars {
		if b := &f.bars[i]; b.face == face && b.until > 0 {
			return true
		}
	}
	return false
}

// unbar ends the bars whose time is over, or all of them.
func (s *flows) unbar(now machine.Time, f *flow, all bool) {
	ended := false
	for i := range f.bars {
		if b := &f.bars[i]; b.until > 0 && (all || now >= b.until) {
			b.until, ended = 0, true
		}
	}
	if ended {
		s.wakeFlow(f)
	}
}
