package route

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// own is what we say of ourselves, and when.
type own struct {
	prefixes []wire.Name // ascending
	seq      uint64      // highest that the overlay has seen in our name

	issueAt   machine.Time // when to say something new, if there is
	refreshAt machine.Time // when to say it in any case
	issuedAt  machine.Time

	overtaken bool         // the overlay holds a newer advertisement in our name
	fought    stamp        // the newest of those
	fights    int          // in a row
	quiet     machine.Time // until then another node has our name
}

const (
	settle   = 10 * machine.Millisecond  // from a change of ours to its advertisement
	minIssue = 100 * machine.Millisecond // between two of our advertisements

	// A node that has restarted overtakes what is left of its former life: once, or a few times when parts of the
	// overlay meet again. Who must do it more often while its own advertisement hasn't stood for standing has a
	// double. Then the higher boot nonce keeps the name, and the other asks again every quietFor.
	maxFights = 4
	standing  = 10 * machine.Second
	quietFor  = 60 * machine.Second
)

// reissue says that what we say of ourselves may have changed.
func (r *Router) reissue() {
	at := max(r.now+settle, r.quiet)
	if r.seq > 0 {
		at = max(at, r.issuedAt+minIssue)
	}
	r.issueAt = min(r.issueAt, at)
}

// links is the distinct ids of our neighbours, ascending.
func (r *Router) links() []uint64 {
	ids := make([]uint64, 0, len(r.neighbours))
	for _, n := range r.neighbours {
		if len(ids) == 0 || ids[len(ids)-1] != n.id {
			ids = append(ids, n.id)
		}
	}
	for len(ids) > MaxLinks {
		r.drop(TooManyNeighbours)
		ids = ids[:len(ids)-1]
	}
	return ids
}

// issue makes our next advertisement, if there is anything to say.
func (r *Router) issue() {
	if r.now < min(r.issueAt, r.refreshAt) {
		return
	}
	a := &advert{
		origin: r.cfg.ID, stamp: stamp{r.seq + 1, r.cfg.Boot}, relay: r.cfg.Relay,
		links: r.links(), prefixes: slices.Clone(r.own.prefixes),
	}
	r.issueAt = machine.Never
	said := r.slots[self].advert
	if !r.cfg.Relay && len(a.prefixes) == 0 { // nobody needs to know of us; who does is told so
		if a.links = nil; !r.overtaken && (said == nil || len(said.prefixes)+len(said.links) == 0) {
			r.refreshAt = machine.Never
			return
		}
	}
	if said != nil && !r.overtaken && r.now < r.refreshAt && said.boot == r.cfg.Boot &&
		slices.Equal(said.links, a.links) && slices.EqualFunc(said.prefixes, a.prefixes, wire.Name.Equal) {
		return
	}
	a.body = appendAdvert(nil, a)
	a.signed = len(a.body)
	var signature []byte
	if r.cfg.Sign != nil {
		signature = r.cfg.Sign(a.body[:a.signed:a.signed])
		if len(signature) > MaxSignature {
			panic("route: signature of more than MaxSignature bytes")
		}
	}
	a.body = appendSignature(a.body, signature)
	r.seq = a.seq
	r.count.Issued++
	r.overtaken = false
	r.issuedAt = r.now
	r.refreshAt = r.now + r.cfg.Refresh - machine.Time(r.random.Int64N(int64(r.cfg.Refresh/8)+1))
	r.install(a, r.now, r.cfg.ID)
	r.flood(self)
}

// challenge answers an advertisement in our name that isn't ours and not older than ours: we overtake it, until it is
// clear that another node lives under our id.
func (r *Router) challenge(a *advert, born machine.Time) {
	if r.now < r.quiet {
		r.yield(a, born)
		return
	}
	if r.overtaken && !a.newer(r.fought) {
		return // the same again, from another neighbour
	}
	r.count.Overtaken++
	if r.now-r.issuedAt < standing {
		r.fights++
	} else {
		r.fights = 1
	}
	r.seq = max(r.seq, a.seq)
	spent := r.seq+1 >= highSeq
	if r.fights > maxFights {
		r.count.Duplicates++
		if a.boot >= r.cfg.Boot {
			r.quiet = r.now + quietFor
		}
	}
	if spent { // only a forger gets here; its work must expire, and does so soon
		r.quiet = born + r.life(a) + lapseSlack
	}
	if r.now < r.quiet {
		r.yield(a, born)
		return
	}
	r.overtaken, r.fought = true, a.stamp
	r.reissue()
}

// yield lets a stand in our place until quiet is over.
func (r *Router) yield(a *advert, born machine.Time) {
	r.overtaken = false
	r.issueAt, r.refreshAt = r.quiet, r.quiet
	r.seq = max(r.seq, a.seq)
	r.install(a, born, r.cfg.ID)
	r.flood(self)
}

// vanished says that what stood in our name has expired, at all other nodes too.
func (r *Router) vanished() {
	r.refreshAt = max(r.now, r.quiet) // quiet is not over yet where others may still hold it
	r.seq, r.quiet = 0, 0
}
