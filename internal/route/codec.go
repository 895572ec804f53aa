package route

import (
	"encoding/binary"

	"mars/internal/wire"
)

// Bounds of what travels. An advertisement within them fits one message.
const (
	MaxMessage   = 8000 // bytes
	MaxLinks     = 384  // neighbours in one advertisement
	MaxPrefixes  = 512  // prefixes in one advertisement
	MaxName      = 512  // bytes of a prefix
	MaxNames     = 4096 // bytes of all prefixes of one advertisement, with their lengths
	MaxSignature = 640  // bytes

	maxSeq = 1 << 62 // sequence numbers are below
	// highSeq is beyond what an honest node gets to: at one advertisement every 100 ms in 3,000 years.
	highSeq = 1 << 40
)

// The message is a header and records (docs/routing.md, "Messages").
const (
	version    = 1
	headerLen  = 30
	recordLen  = 3  // type and length
	flagAsk    = 1  // answer at once
	flagAck    = 2  // acknowledge
	summaryLen = 20 // of one entry of a summary
	ageLen     = 4
	stampEnd   = 20 // of the origin and stamp that begin an advertisement
	fixedLen   = stampEnd + 1 + 2 + 2 + 2
)

// The types of records; others are skipped.
const (
	recordAck     = 1
	recordSummary = 2
	recordAdvert  = 3
	recordNotice  = 4
)

// header begins every message, so that each is a hello.
type header struct {
	ask, ack                bool
	id                      uint64 // of the sender
	boot, session           uint32 // of the sender, on this face
	heardBoot, heardSession uint32 // of the receiver, as the sender hears it; session 0: not at all
	number                  uint32 // grows with each message of the sender, modulo 2^32
}

// put writes h to the first headerLen bytes of b.
func (h header) put(b []byte) {
	b[0], b[1] = version, 0
	if h.ask {
		b[1] |= flagAsk
	}
	if h.ack {
		b[1] |= flagAck
	}
	binary.BigEndian.PutUint64(b[2:], h.id)
	binary.BigEndian.PutUint32(b[10:], h.boot)
	binary.BigEndian.PutUint32(b[14:], h.session)
	binary.BigEndian.PutUint32(b[18:], h.heardBoot)
	binary.BigEndian.PutUint32(b[22:], h.heardSession)
	binary.BigEndian.PutUint32(b[26:], h.number)
}

// message is a decoded message; its slices alias the bytes it came from.
type message struct {
	header
	acks      [][]byte // numbers, 4 bytes each
	summaries []summary
	adverts   []carried
	notices   [][]byte
}

// summary lists the stamps of all advertisements that the sender holds of origins lo…hi.
type summary struct {
	span
	entries []byte // summaryLen each, ascending by origin
}

// span is the origins lo…hi, both included.
type span struct{ lo, hi uint64 }

var everything = span{0, 1<<64 - 1}

// carried is an advertisement on its way, with its age.
type carried struct {
	age  uint32 // ms since its origin issued it
	body []byte // at least fixedLen bytes
}

// decode reads b into m, whose slices it reuses. It checks frames, not the insides of advertisements: most of them
// are known already.
func (m *message) decode(b []byte) (Drop, bool) {
	*m = message{acks: m.acks[:0], summaries: m.summaries[:0], adverts: m.adverts[:0], notices: m.notices[:0]}
	switch {
	case len(b) > MaxMessage:
		return TooLong, false
	case len(b) > 0 && b[0] != version:
		return OtherVersion, false
	case len(b) < headerLen || b[1]&^(flagAsk|flagAck) != 0:
		return Malformed, false
	}
	m.header = header{
		ask:          b[1]&flagAsk != 0,
		ack:          b[1]&flagAck != 0,
		id:           binary.BigEndian.Uint64(b[2:]),
		boot:         binary.BigEndian.Uint32(b[10:]),
		session:      binary.BigEndian.Uint32(b[14:]),
		heardBoot:    binary.BigEndian.Uint32(b[18:]),
		heardSession: binary.BigEndian.Uint32(b[22:]),
		number:       binary.BigEndian.Uint32(b[26:]),
	}
	if m.session == 0 {
		return Malformed, false
	}
	for b = b[headerLen:]; len(b) > 0; {
		if len(b) < recordLen {
			return Malformed, false
		}
		end := recordLen + int(binary.BigEndian.Uint16(b[1:]))
		if end > len(b) || !m.record(b[0], b[recordLen:end]) {
			return Malformed, false
		}
		b = b[end:]
	}
	return 0, true
}

// record keeps one record for later; false when it is malformed.
func (m *message) record(typ byte, value []byte) bool {
	switch typ {
	case recordAck:
		if len(value)%4 != 0 {
			return false
		}
		m.acks = append(m.acks, value)
	case recordSummary:
		if len(value) < 16 || (len(value)-16)%summaryLen != 0 {
			return false
		}
		s := summary{span{binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])}, value[16:]}
		if s.lo > s.hi || !s.ascending() {
			return false
		}
		m.summaries = append(m.summaries, s)
	case recordAdvert:
		if len(value) < ageLen+fixedLen {
			return false
		}
		m.adverts = append(m.adverts, carried{binary.BigEndian.Uint32(value), value[ageLen:]})
	case recordNotice:
		m.notices = append(m.notices, value)
	}
	return true
}

func (s summary) len() int { return len(s.entries) / summaryLen }

func (s summary) at(i int) (origin uint64, st stamp) {
	b := s.entries[i*summaryLen:]
	return binary.BigEndian.Uint64(b), getStamp(b[8:])
}

// ascending tells whether the entries ascend strictly and are within the span.
func (s summary) ascending() bool {
	for i := range s.len() {
		id, _ := s.at(i)
		if id < s.lo || id > s.hi {
			return false
		}
		if i > 0 {
			if before, _ := s.at(i - 1); before >= id {
				return false
			}
		}
	}
	return true
}

// appendRecord begins a record of n bytes.
func appendRecord(b []byte, typ byte, n int) []byte {
	return binary.BigEndian.AppendUint16(append(b, typ), uint16(n))
}

// stamp orders the advertisements of one origin: by sequence number, then by boot nonce, since a node that has
// restarted may reach the number of its former life with other contents.
type stamp struct {
	seq  uint64
	boot uint32
}

func (s stamp) newer(o stamp) bool {
	return s.seq > o.seq || s.seq == o.seq && s.boot > o.boot
}

func getStamp(b []byte) stamp {
	return stamp{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}
}

func appendStamp(b []byte, s stamp) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, s.seq), s.boot)
}

// advert is what one node says of itself. It is immutable.
type advert struct {
	origin uint64
	stamp
	relay    bool
	links    []uint64    // ids, strictly ascending
	prefixes []wire.Name // strictly ascending
	body     []byte      // encoded: what is signed, then the signature
	signed   int         // bytes that the signature covers
}

// appendAdvert appends the part of a that a signature covers.
func appendAdvert(b []byte, a *advert) []byte {
	b = binary.BigEndian.AppendUint64(b, a.origin)
	b = appendStamp(b, a.stamp)
	role := byte(0)
	if a.relay {
		role = 1
	}
	b = append(b, role)
	b = binary.BigEndian.AppendUint16(b, uint16(len(a.links)))
	for _, id := range a.links {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(a.prefixes)))
	for _, p := range a.prefixes {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return b
}

// appendSignature completes an advertisement.
func appendSignature(b, signature []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(signature))), signature...)
}

// Split returns the part of an advertisement that its signature covers, and the signature; false when announcement
// isn't an advertisement.
func Split(announcement []byte) (signed, signature []byte, ok bool) {
	a, _, ok := decodeAdvert(announcement)
	if !ok {
		return nil, nil, false
	}
	return announcement[:a.signed:a.signed], announcement[a.signed+2:], true
}

// Relays tells whether an advertisement says that its origin forwards for others.
func Relays(announcement []byte) bool {
	a, _, ok := decodeAdvert(announcement)
	return ok && a.relay
}

// decodeAdvert reads an advertisement, which then aliases body. The form is canonical: what decodes encodes to the
// same bytes.
func decodeAdvert(body []byte) (a *advert, why Drop, ok bool) {
	if len(body) < fixedLen {
		return nil, BadAdvertisement, false
	}
	a = &advert{origin: binary.BigEndian.Uint64(body), stamp: getStamp(body[8:]), relay: body[stampEnd] == 1, body: body}
	if body[stampEnd] > 1 || a.seq == 0 {
		return nil, BadAdvertisement, false
	}
	if a.seq >= maxSeq {
		return nil, BadSequence, false
	}
	c := cursor{body[stampEnd+1:]}
	n := c.count()
	if n > MaxLinks {
		return nil, OverBounds, false
	}
	links := c.take(8 * n)
	if links == nil {
		return nil, BadAdvertisement, false
	}
	a.links = make([]uint64, n)
	for i := range a.links {
		a.links[i] = binary.BigEndian.Uint64(links[8*i:])
		if a.links[i] == a.origin || i > 0 && a.links[i] <= a.links[i-1] {
			return nil, BadAdvertisement, false
		}
	}
	if why, ok = a.names(&c); !ok {
		return nil, why, false
	}
	a.signed = len(body) - len(c.rest)
	n = c.count()
	switch {
	case n > MaxSignature:
		return nil, OverBounds, false
	case c.take(n) == nil || len(c.rest) > 0:
		return nil, BadAdvertisement, false
	}
	return a, 0, true
}

// names reads the prefixes.
func (a *advert) names(c *cursor) (Drop, bool) {
	n := c.count()
	if n > MaxPrefixes {
		return OverBounds, false
	}
	if n < 0 {
		return BadAdvertisement, false
	}
	a.prefixes = make([]wire.Name, 0, min(n, len(c.rest)/2))
	total := 0
	for i := range n {
		size := c.count()
		total += 2 + size
		if size > MaxName || total > MaxNames {
			return OverBounds, false
		}
		value := c.take(size)
		if value == nil {
			return BadAdvertisement, false
		}
		name, err := wire.DecodeName(value)
		if err != nil || i > 0 && name.Compare(a.prefixes[i-1]) <= 0 {
			return BadAdvertisement, false
		}
		a.prefixes = append(a.prefixes, name)
	}
	return 0, true
}

// cursor reads a fixed layout.
type cursor struct{ rest []byte }

// count reads a u16; −1 when it is missing.
func (c *cursor) count() int {
	b := c.take(2)
	if b == nil {
		return -1
	}
	return int(binary.BigEndian.Uint16(b))
}

// take splits off n bytes; nil when there are fewer, or n is −1.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}
