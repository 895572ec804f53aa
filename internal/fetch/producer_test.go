package fetch

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"

	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	ms  = machine.Millisecond
	sec = machine.Second
)

// source is what the tests' engines are told to be.
var source = []byte("consumer")

// object is a version of an object that the producer in memory has.
type object struct {
	name, dest wire.Name
	content    []byte
	manifest   *wire.Manifest
	// Lies for the metadata, if not zero.
	size   int64
	digest wire.Digest
}

// newObject makes an object named below the first component of its name, of pseudo-random bytes.
func newObject(uri string, size, chunkSize int, seed uint64) *object {
	o := &object{name: wire.MustParseName(uri), content: make([]byte, size)}
	o.dest = o.name.Prefix(1)
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	rand.NewChaCha8(key).Read(o.content)
	b := wire.NewManifestBuilder(chunkSize)
	b.Write(o.content)
	o.manifest = b.Finish()
	return o
}

// chunk is the bytes of chunk i.
func (o *object) chunk(i int64) []byte {
	from := i * int64(o.manifest.ChunkSize)
	return o.content[from : from+int64(o.manifest.ChunkLen(i))]
}

// metadata is the content of the reply to /<name>/32=metadata.
func (o *object) metadata() []byte {
	m := wire.Metadata{
		Name: o.name.Clone(), Size: o.manifest.Size, ChunkSize: o.manifest.ChunkSize, Digest: o.manifest.Digest(),
		Dest: o.dest, HasMARS: true,
	}
	if o.size != 0 {
		m.Size = o.size
	}
	if o.digest != (wire.Digest{}) {
		m.Digest = o.digest
	}
	m.Name = m.Name.AppendNumber(wire.TypeVersion, wire.VersionOf(m.Digest))
	return m.Append(nil)
}

// producer answers Interests from memory.
type producer struct {
	objects  []*object // the current versions
	feedback *wire.Feedback

	anyVersion bool // answers for whatever version is asked for
}

func (p *producer) find(name wire.Name) *object {
	for _, o := range p.objects {
		if o.name.Equal(name) {
			return o
		}
	}
	return nil
}

// question is a decoded Interest.
type question struct {
	token  []byte
	name   wire.Name
	nonce  uint32
	raw    []byte // the Interest
	object wire.Name
	kind   kind
	index  int64 // of the chunk, or of the manifest segment
	vers   uint64
}

// parse decodes what the engine sends. It panics when that is malformed.
func parse(datagram []byte) question {
	var p wire.Packet
	var i wire.Interest
	if err := p.Decode(datagram); err != nil {
		panic(err)
	}
	if err := i.Decode(p.Fragment); err != nil {
		panic(err)
	}
	if !i.HasNonce || len(p.PitToken) != tokenLen || len(datagram) > wire.MaxPacket {
		panic("no nonce, no token or too long")
	}
	q := question{token: clone(p.PitToken), name: i.Name.Clone(), nonce: i.Nonce, raw: clone(p.Fragment)}
	f := wire.SplitFlow(q.name)
	if f.Kind != wire.Transmission {
		n := q.name.Len() - 1
		if c, _ := q.name.At(n); string(c.Value) != wire.KeywordMetadata || !i.CanBePrefix || !i.MustBeFresh {
			panic("neither chunk nor question: " + q.name.String())
		}
		q.kind, q.object = metadata, q.name.Prefix(n)
		return q
	}
	if string(f.Src) != string(source) {
		panic("another source: " + q.name.String())
	}
	rest, version, index, ok := f.Rest.SplitChunk()
	if !ok {
		panic("no chunk: " + q.name.String())
	}
	q.kind, q.index, q.vers = chunk, int64(index), version
	n := rest.Len() - 1
	if c, _ := rest.At(n); c.Type == wire.TypeKeyword && string(c.Value) == wire.KeywordManifest {
		q.kind, rest = segment, rest.Prefix(n)
	}
	q.object = append(f.Dest.Clone(), rest...)
	return q
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// String is short, for scripts: "a/meta", "a/top0", "a/leaf0", "a/17".
func (p *producer) label(q question) string {
	uri := q.object.String()
	uri = uri[strings.LastIndexByte(uri, '/')+1:]
	switch q.kind {
	case metadata:
		return uri + "/meta"
	case segment:
		tops := int64(1)
		if o := p.find(q.object); o != nil {
			tops = o.manifest.TopSegments()
		}
		if q.index < tops {
			return fmt.Sprintf("%s/top%d", uri, q.index)
		}
		return fmt.Sprintf("%s/leaf%d", uri, q.index-tops)
	}
	return fmt.Sprintf("%s/%d", uri, q.index)
}

// answer is the Data that answers q.
func (p *producer) answer(q question) []byte {
	o := p.find(q.object)
	switch {
	case o == nil:
		return p.refuse(q, saysNotFound)
	case q.kind == metadata:
		name := q.name.Clone().AppendChunk(o.manifest.Version(), 0)
		return p.data(q, wire.Data{Name: name, Content: o.metadata(), Freshness: 1000}, true)
	case q.vers != o.manifest.Version() && !p.anyVersion:
		return p.refuse(q, "version gone")
	case q.kind == segment:
		return p.data(q, wire.Data{Name: q.name, Content: o.manifest.Segment(q.index)}, false)
	}
	return p.data(q, wire.Data{Name: q.name, Content: o.chunk(q.index)}, false)
}

// refuse is a Data packet by which the producer says no.
func (p *producer) refuse(q question, says string) []byte {
	return p.data(q, wire.Data{Name: q.name, Content: []byte(says), ContentType: wire.ContentNack}, q.kind == metadata)
}

// nack is the network's Nack for q.
func (p *producer) nack(q question, reason wire.NackReason) []byte {
	h := wire.Packet{PitToken: q.token, Nack: true, NackReason: reason, Fragment: q.raw}
	return h.Append(nil)
}

// data encodes d, with DigestSha256 or the null signature.
func (p *producer) data(q question, d wire.Data, digest bool) []byte {
	d.SignatureType = wire.SignatureNull
	if digest {
		sign(&d)
	}
	h := wire.Packet{PitToken: q.token, Fragment: d.Append(nil)}
	if p.feedback != nil {
		h.Feedback, h.HasFeedback = *p.feedback, true
	}
	return h.Append(nil)
}

func sign(d *wire.Data) {
	d.SignatureType = wire.SignatureSHA256
	sum := sha256.Sum256(d.AppendSigned(nil))
	d.SignatureValue = sum[:]
}

// corrupt flips a bit of the content, or of the last byte if there is none.
func corrupt(datagram []byte) []byte {
	var p wire.Packet
	var d wire.Data
	if p.Decode(datagram) != nil || d.Decode(p.Fragment) != nil {
		panic("corrupt: no Data")
	}
	if len(d.Content) > 0 {
		d.Content[len(d.Content)/2] ^= 1
	} else {
		datagram[len(datagram)-1] ^= 1
	}
	return datagram
}
