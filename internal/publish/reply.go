package publish

import (
	"crypto/sha256"

	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// A foreign consumer's chunk never changes under its name, so caches may keep it for an hour.
	plainFreshness = 3_600_000 // ms
	// A refusal may be wrong the next moment.
	refusalFreshness = 1 // ms
	// maxInline is the largest object whose digests go along with its metadata, chunks: 2 kB of digests save two round trips.
	maxInline = 64
)

// answer is what an inquiry is answered with: Data, or a Nack.
type answer struct {
	content     []byte
	contentType uint64
	freshness   uint64
	last        int64 // number of the final block; with hasLast
	hasLast     bool
	digest      bool // DigestSha256 signature; else, without a seal, the null signature
	seal        seal
	nack        wire.NackReason
	fromRead    bool // content came from Read and goes back through Spent
}

// reply queues q to be sent.
func (e *Engine) reply(q *inquiry, a answer) {
	q.stage, q.answer = replying, a
	e.replies.push(q)
}

// nack answers the Interest at hand with a network Nack: no producer of that name is here.
func (e *Engine) nack(q *inquiry, reason wire.NackReason) {
	e.counters.Nacks++
	q.name = append(q.name[:0], e.pkt.Fragment...) // what a Nack carries is the Interest
	e.reply(q, answer{nack: reason})
}

// refuse answers with a Data packet whose ContentType is Nack: the producer is here, and says no.
func (e *Engine) refuse(q *inquiry, code string) {
	e.counters.Nacks++
	q.answer = answer{content: []byte(code), contentType: wire.ContentNack, freshness: refusalFreshness, digest: q.plain}
	if q.metadata && e.cfg.Signer != nil && !e.sealRefusal(e.now, q) {
		q.content = []byte(CodeBusy)
	}
	e.reply(q, q.answer)
}

// data answers with a chunk or a segment of the manifest, of which last is the final one. A dt name's Data carry the null
// signature: their authenticity comes from the manifest (protocol.md §2). Foreign consumers look for FinalBlockId and
// check digests.
func (e *Engine) data(q *inquiry, content []byte, last int64) {
	e.counters.Data++
	a := answer{content: content, fromRead: !q.manifest}
	if q.plain {
		a.last, a.hasLast, a.digest, a.freshness = last, true, true, plainFreshness
	}
	e.reply(q, a)
}

// metadata answers "which version is current?" (interop.md). Without a signer it carries a digest, so that a corrupted reply is
// told from a true one.
func (e *Engine) metadata(q *inquiry, o *Object) {
	e.counters.Data++
	v := o.Manifest.Version()
	m := wire.Metadata{
		Name: o.Name.Clone().AppendNumber(wire.TypeVersion, v), Size: o.Manifest.Size, ChunkSize: o.Manifest.ChunkSize,
		Digest: o.Manifest.Digest(), Dest: o.Dest, HasMARS: true, MTime: o.MTime,
	}
	if o.Manifest.Leaves() == 1 && o.Manifest.Chunks() <= maxInline {
		m.Leaf = o.Manifest.Segment(o.Manifest.TopSegments())
	}
	q.name = append(q.name[:0], o.Name...).AppendString(wire.TypeKeyword, wire.KeywordMetadata).AppendChunk(v, 0)
	q.answer = answer{content: m.Append(nil), freshness: e.cfg.Freshness, hasLast: true, digest: true}
	if e.cfg.Signer != nil {
		e.sealMetadata(e.now, q, o)
	}
	e.reply(q, q.answer)
}

// Ready lists the face while replies wait.
func (e *Engine) Ready(dst []machine.FaceID) []machine.FaceID {
	if e.replies.n > 0 {
		dst = append(dst, Face)
	}
	return dst
}

// Transmit encodes the next reply into buf.
func (e *Engine) Transmit(_ machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	q := e.replies.first
	if q == nil {
		return 0, machine.NotECT
	}
	n := e.encode(q, buf)
	if n < 0 {
		return n, machine.NotECT
	}
	e.replies.remove(q)
	if q.fromRead {
		e.giveBack(q.content)
	}
	e.inquiries.put(q)
	return n, machine.NotECT
}

// encode writes the reply as a link packet and returns its length; −n: it needs n bytes.
func (e *Engine) encode(q *inquiry, buf []byte) int {
	e.header = wire.Packet{PitToken: q.token[:q.tokenLen]}
	h, d := &e.header, &e.data0
	if q.nack != wire.NackNone {
		h.Nack, h.NackReason = true, q.nack
		if n := h.HeaderLen(len(q.name)) + len(q.name); n > len(buf) {
			return -n
		}
		return len(append(h.AppendHeader(buf[:0], len(q.name)), q.name...))
	}
	e.dataOf(q)
	sums := q.digest && q.seal.info == nil
	if sums { // filled in below, once what it covers is in place
		d.SignatureType, d.SignatureValue = wire.SignatureSHA256, e.noDigest[:]
	}
	size, signed := d.Len(), d.SignedLen()
	n := h.HeaderLen(size) + size
	if n > len(buf) {
		return -n
	}
	d.Append(h.AppendHeader(buf[:0], size))
	if sums {
		const value = 2 + sha256.Size // the SignatureValue element, which comes last
		sum := sha256.Sum256(buf[n-value-signed : n-value])
		copy(buf[n-sha256.Size:], sum[:])
	}
	return n
}

// dataOf is the Data that answers q, with its seal if it has one. It is valid until the next call.
func (e *Engine) dataOf(q *inquiry) *wire.Data {
	d := &e.data0
	*d = wire.Data{
		Name: q.name, ContentType: q.contentType, Freshness: q.freshness, Content: q.content,
		SignatureType: wire.SignatureNull,
	}
	if q.hasLast {
		e.final = wire.Name(e.final[:0]).AppendNumber(wire.TypeSegment, uint64(q.last))
		d.FinalBlock = e.final
	}
	if q.seal.info != nil {
		d.SignatureType, d.SignatureInfo, d.SignatureValue = wire.SignatureEd25519, q.seal.info, q.seal.value
	}
	return d
}
