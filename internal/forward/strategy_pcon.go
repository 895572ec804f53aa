package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// PCON's constants (Schneider et al., ICN 2016; what the paper leaves open is in docs/adr/0010).
const (
	// pconChange is the part of its own share that a face loses with a mark, and the part of all that it loses with an
	// Interest that nobody answered.
	pconChange = 0.02
	// pconProbe is the chance that an Interest is sent by a second face, too.
	pconProbe = 0.001
)

// shares are how the Interests of one FIB entry are to be divided among its next hops. They sum to 1.
type shares struct {
	version uint64 // of the FIB
	faces   []share
}

type share struct {
	face machine.FaceID
	part float64
}

// adopt makes the shares those of hops, nearest first: old faces keep theirs, and what the lost ones had goes to the
// nearest. At the beginning that is all of it, or each gets as much as the others.
func (s *shares) adopt(hops []NextHop, evenly bool) {
	old := s.faces
	if len(old) == 0 && evenly {
		for _, h := range hops {
			s.faces = append(s.faces, share{h.Face, 1 / float64(len(hops))})
		}
		return
	}
	s.faces = make([]share, len(hops))
	sum := 0.0
	for i, h := range hops {
		s.faces[i].face = h.Face
		if k := slices.IndexFunc(old, func(o share) bool { return o.face == h.Face }); k >= 0 {
			s.faces[i].part = old[k].part
		}
		sum += s.faces[i].part
	}
	if len(hops) > 0 {
		s.faces[0].part += max(1-sum, 0)
	}
}

// of is the share of a face.
func (s *shares) of(face machine.FaceID) float64 {
	for _, f := range s.faces {
		if f.face == face {
			return f.part
		}
	}
	return 0
}

// reduce takes change, or what there is, from one face and deals it out evenly to the others.
func (s *shares) reduce(face machine.FaceID, change float64) {
	if len(s.faces) < 2 {
		return
	}
	for i := range s.faces {
		if f := &s.faces[i]; f.face == face {
			change = min(change, f.part)
			f.part -= change
			each := change / float64(len(s.faces)-1)
			for k := range s.faces {
				if k != i {
					s.faces[k].part += each
				}
			}
			return
		}
	}
}

// sharesOf finds the shares of the FIB entry that a name matches, brought up to date; nil: there is none.
func (s *flows) sharesOf(name wire.Name) *shares {
	prefix, hops := s.fib.match(name)
	if len(hops) == 0 {
		return nil
	}
	sh := s.split[string(prefix)]
	if sh == nil {
		sh = &shares{}
		s.split[string(prefix)] = sh
	}
	if sh.version != s.fib.version || len(sh.faces) == 0 {
		sh.version = s.fib.version
		sh.adopt(hops, s.cfg.EvenStart)
	}
	return sh
}

// spread sends an Interest by a next hop drawn by lot, never back where it came from. Nothing keeps it from a node where it
// has been: that one sees the nonce and refuses.
func (s *flows) spread(now machine.Time, e *entry) {
	in := e.ingress()
	from := s.ups.get(in)
	var ways []*upstream
	for _, h := range s.candidates(in, from != nil && from.local, e.interest.Name) {
		if u := s.ups.get(h.Face); u.up {
			ways = append(ways, u)
		}
	}
	if len(ways) == 0 {
		if !e.waiting() {
			s.fail(e, wire.NackNoRoute)
		}
		return
	}
	i := s.draw(now, e.interest.Name, ways)
	s.emit(now, e, ways[i])
	if s.cfg.Strategy == PCON && len(ways) > 1 && s.rand.Float64() < pconProbe {
		k := s.rand.IntN(len(ways) - 1)
		if k >= i {
			k++
		}
		s.emit(now, e, ways[k])
	}
}

// emit sends an Interest by u. If marks are due there, the Interest takes one: its Data will be marked.
func (s *flows) emit(now machine.Time, e *entry, u *upstream) {
	if u.codel != nil && u.codel.due(now) {
		e.marked = true
	}
	p := s.send(now, u, e, false)
	s.out = append(s.out, outbound{u.face, p})
}

// draw picks one of ways by lot, in proportion to their weights; evenly if none has any.
func (s *flows) draw(now machine.Time, name wire.Name, ways []*upstream) int {
	if len(ways) == 1 {
		return 0
	}
	weights := make([]float64, len(ways))
	switch s.cfg.Strategy {
	case QSF:
		weighQSF(now, ways, weights)
	default:
		sh := s.sharesOf(name)
		for i, u := range ways {
			weights[i] = sh.of(u.face)
		}
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	if !(sum > 0) {
		return s.rand.IntN(len(ways))
	}
	left := float64(s.rand.Float64() * sum)
	last := 0
	for i, w := range weights {
		if w > 0 {
			if last = i; left < w {
				break
			}
		}
		left -= w
	}
	return last
}

// ingress is the face that the Interest at hand came from: the newest one of its name.
func (e *entry) ingress() machine.FaceID {
	for i := range e.in {
		if e.in[i].nonce == e.interest.Nonce {
			return e.in[i].face
		}
	}
	return e.in[0].face
}

// returned tells whether an Interest of this nonce was sent on from here, and comes from another face than the first time
// (NFD's duplicate nonce in out-records). Interests of flows are told by their labels.
func (e *entry) returned(in machine.FaceID, nonce uint32) bool {
	if r := e.inFace(in); e.flow != nil || e.disc != nil || r != nil && r.nonce == nonce {
		return false
	}
	for i := range e.out {
		if e.out[i].nonce == nonce {
			return true
		}
	}
	return false
}
