package forward

import (
	"encoding/binary"

	"mars/internal/machine"
	"mars/internal/wire"
)

// inRecord is one downstream that waits for an Interest's Data.
type inRecord struct {
	face   machine.FaceID
	nonce  uint32
	tok    token
	expiry machine.Time
}

// outRecord is one upstream face that an Interest was sent to and that hasn't answered.
type outRecord struct {
	face   machine.FaceID
	nonce  uint32
	sent   machine.Time
	dead   bool // a Nack came, or the face is suspended: no answer is expected
	again  bool // by this face the Interest was sent more than once
	charge bool // counted in the upstream's outstanding Interests
	cost   float64
	line   *uplink // whose window it is in, longer than the face may be there; nil: none
	lane   *lane   // and the flow's; nil: none
}

// entry is one pending Interest.
type entry struct {
	interest wire.Interest // decoded over buf, which holds the Interest as it will be sent on
	buf      []byte
	hash     uint64
	index    uint32
	gen      uint16
	live     bool
	chain    *entry // next entry of the same bucket

	in  []inRecord
	out []outRecord

	label    wire.Label // to send with it
	labelled bool       // there is one
	cost     float64    // Data bytes it is expected to bring
	flow     *flow
	elder    *entry // of the same flow
	younger  *entry
	payer    *ingress   // counts it
	disc     *discovery // the epoch that it belongs to
	owner    *flow      // a probe of our own: the flow it is for
	probe    bool       // a PD Interest
	probeIdx int        // its ProbeIdx
	queued   bool       // waits in its flow's Interest queue
	since    machine.Time
	marked   bool           // PCON: its Data will be, for congestion on the way up
	bad      bool           // its last answer was false
	lost     bool           // sent, and not answered in time
	avoid    machine.FaceID // face that lost it: retransmissions go elsewhere if they can

	via         machine.FaceID // the face that an application wants it to leave by; 0: any
	expiry      machine.Time
	prev, later *entry // wheel
	bucket      int
	armed       bool
}

// ref names an entry that may be gone by the time it is looked at.
type ref struct {
	e   *entry
	gen uint16
}

func (r ref) valid() bool { return r.e.live && r.e.gen == r.gen }

// pit is the pending Interest table. Entries are found by PitToken (6 bytes: index and generation; ndnd accepts no
// other length) or by name.
type pit struct {
	seed    uint64
	entries []*entry
	free    []*entry
	buckets []*entry // by the last bits of the hash; a power of two, as many as entries were ever live
	wheel   wheel
	live    int
	bytes   int // entry.size of all
}

func newPIT(seed uint64) pit {
	return pit{seed: seed, buckets: make([]*entry, leastBuckets)}
}

const pitTokenLen = 6

const leastBuckets = 64

// bucket is the list of the entries whose hashes end alike.
func (p *pit) bucket(hash uint64) **entry { return &p.buckets[hash&uint64(len(p.buckets)-1)] }

func (p *pit) link(e *entry) {
	b := p.bucket(e.hash)
	e.chain, *b = *b, e
}

func (p *pit) grow() {
	old := p.buckets
	p.buckets = make([]*entry, 2*len(old))
	for _, e := range old {
		for e != nil {
			next := e.chain
			p.link(e)
			e = next
		}
	}
}

// What a free entry keeps for the next Interest: few are larger, and those aren't worth keeping room for.
const (
	keptBuffer  = 512 // bytes
	keptRecords = 8
)

// maxPrefixMatch bounds the components of a CanBePrefix Interest that Data without a token is matched with.
const maxPrefixMatch = 64

func (e *entry) token() (t token) {
	binary.BigEndian.PutUint32(t.b[:], e.index)
	binary.BigEndian.PutUint16(t.b[4:], e.gen)
	t.n = pitTokenLen
	return t
}

// hashOf mixes the selectors into the name's hash: Interests that differ in them are different entries.
func (p *pit) hashOf(n wire.Name, canBePrefix, mustBeFresh bool) uint64 {
	h := n.Hash(p.seed)
	if canBePrefix {
		h ^= 0x9e3779b97f4a7c15
	}
	if mustBeFresh {
		h ^= 0xc2b2ae3d27d4eb4f
	}
	return h
}

func (p *pit) find(i *wire.Interest) *entry {
	h := p.hashOf(i.Name, i.CanBePrefix, i.MustBeFresh)
	for e := *p.bucket(h); e != nil; e = e.chain {
		if e.hash == h && e.interest.CanBePrefix == i.CanBePrefix && e.interest.MustBeFresh == i.MustBeFresh && e.interest.Name.Equal(i.Name) {
			return e
		}
	}
	return nil
}

// insert makes an entry for the Interest encoded in wire, which is copied. wire must decode.
func (p *pit) insert(encoded []byte) *entry {
	var e *entry
	if n := len(p.free); n > 0 {
		e, p.free = p.free[n-1], p.free[:n-1]
	} else {
		// Answers to an earlier run of this node may be under way: their tokens must not be ours.
		e = &entry{index: uint32(len(p.entries)), gen: uint16(p.seed)}
		p.entries = append(p.entries, e)
	}
	e.buf = append(e.buf[:0], encoded...)
	if err := e.interest.Decode(e.buf); err != nil {
		panic("forward: PIT insert of an Interest that doesn't decode: " + err.Error())
	}
	e.gen++
	e.live = true
	e.hash = p.hashOf(e.interest.Name, e.interest.CanBePrefix, e.interest.MustBeFresh)
	if p.live++; p.live > len(p.buckets) {
		p.grow()
	}
	p.link(e)
	p.bytes += e.size()
	return e
}

func (p *pit) remove(e *entry) {
	p.bytes -= e.size()
	if e.payer != nil {
		e.payer.pending -= e.size()
	}
	if e.flow != nil {
		e.flow.entries.remove(e)
	}
	at := p.bucket(e.hash)
	for *at != e {
		at = &(*at).chain
	}
	*at = e.chain
	p.wheel.disarm(e)
	e.live, e.chain, e.flow, e.queued, e.avoid, e.marked, e.bad = false, nil, nil, false, 0, false, false
	e.disc, e.owner, e.probe, e.probeIdx, e.lost, e.payer, e.via = nil, nil, false, 0, false, nil, 0
	e.interest = wire.Interest{}
	if cap(e.buf) > keptBuffer {
		e.buf = nil
	}
	if cap(e.in) > keptRecords {
		e.in = nil
	}
	e.in, e.out, e.label, e.labelled = e.in[:0], e.out[:0], wire.Label{}, false
	p.free = append(p.free, e)
	p.live--
}

// match finds the entry that a Data packet answers: by token when it carries one of ours, else by name.
func (p *pit) match(tok []byte, name wire.Name) *entry {
	if len(tok) == pitTokenLen { // ours, so the entry it names or none: an answer to a question that is gone answers no other
		if e := p.byToken(tok); e != nil && e.matches(name) {
			return e
		}
		return nil
	}
	if e := p.exact(name, false); e != nil {
		return e
	}
	// Each length costs a hash of the name: without a bound a name of thousands of components would cost seconds.
	for k := min(name.Len(), maxPrefixMatch); k >= 0; k-- {
		if e := p.exact(name.Prefix(k), true); e != nil {
			return e
		}
	}
	return nil
}

func (p *pit) byToken(tok []byte) *entry {
	if len(tok) != pitTokenLen {
		return nil
	}
	i := binary.BigEndian.Uint32(tok)
	if uint64(i) >= uint64(len(p.entries)) {
		return nil
	}
	e := p.entries[i]
	if !e.live || e.gen != binary.BigEndian.Uint16(tok[4:]) {
		return nil
	}
	return e
}

// exact finds an entry by name and CanBePrefix, whatever its MustBeFresh: there is no cache here that could be stale.
func (p *pit) exact(name wire.Name, canBePrefix bool) *entry {
	for _, fresh := range [2]bool{false, true} {
		h := p.hashOf(name, canBePrefix, fresh)
		for e := *p.bucket(h); e != nil; e = e.chain {
			if e.hash == h && e.interest.CanBePrefix == canBePrefix && e.interest.Name.Equal(name) {
				return e
			}
		}
	}
	return nil
}

func (e *entry) matches(name wire.Name) bool {
	if e.interest.CanBePrefix {
		return name.HasPrefix(e.interest.Name)
	}
	return name.Equal(e.interest.Name)
}

// addIn records (or renews) a downstream.
func (e *entry) addIn(face machine.FaceID, local bool, nonce uint32, tok token, expiry machine.Time) {
	e.expiry = max(e.expiry, expiry)
	if r := e.asker(face, local, tok); r != nil {
		r.nonce, r.tok, r.expiry = nonce, tok, expiry
		return
	}
	e.in = append(e.in, inRecord{face, nonce, tok, expiry})
}

// asker finds the record of a downstream. Another node is one downstream, whatever its tokens. An application may fetch one
// object several times at once: each of its tokens waits for an answer of its own.
func (e *entry) asker(face machine.FaceID, local bool, tok token) *inRecord {
	for i := range e.in {
		if e.in[i].face == face && (!local || e.in[i].tok == tok) {
			return &e.in[i]
		}
	}
	return nil
}

func (e *entry) inFace(face machine.FaceID) *inRecord {
	for i := range e.in {
		if e.in[i].face == face {
			return &e.in[i]
		}
	}
	return nil
}

func (e *entry) outFace(face machine.FaceID) *outRecord {
	for i := range e.out {
		if e.out[i].face == face {
			return &e.out[i]
		}
	}
	return nil
}

// waiting tells whether some upstream may still answer.
func (e *entry) waiting() bool {
	for i := range e.out {
		if !e.out[i].dead {
			return true
		}
	}
	return false
}
