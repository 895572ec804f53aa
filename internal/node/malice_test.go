package node

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/fetch"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/wire"
)

// malice is a world in which the first of some relays between a consumer and a producer lie. With a hub all of the consumer's traffic
// goes through one more relay, which is honest.
type malice struct {
	*world
	con      *fetch.Engine
	pub      *publish.Engine
	object   *publish.Object
	content  []byte
	near     int              // the node next to the relays: the consumer, or the hub
	liars    []machine.FaceID // its faces to them
	got      []byte
	lies     int
	caught   machine.Time // when the second lie after the first round trip was told
	atCaught [2]uint64    // content that had come by then: from the liar, and in all
}

var producerKey, liarKey = ed25519.NewKeyFromSeed(make([]byte, 32)), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))

var errStranger = errors.New("a stranger")

// signs is a producer's signer.
func signs(key ed25519.PrivateKey) *publish.Signer {
	return &publish.Signer{
		Author: func(now machine.Time) wire.Author {
			return wire.Author{Key: key[32:], Time: 1_000_000 + uint64(now/machine.Millisecond)}
		},
		Sign: func(message []byte) []byte { return ed25519.Sign(key, message) },
	}
}

// version makes an object of pseudo-random bytes.
func version(seed byte, size int) (*publish.Object, []byte) {
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(content)
	b := wire.NewManifestBuilder(wire.ChunkSize)
	b.Write(content)
	return &publish.Object{Name: wire.MustParseName("/site/a/b"), Dest: wire.MustParseName("/site"), Manifest: b.Finish()}, content
}

// newMalice builds the world of some relays, of which the first lie: lie changes Data on their way to the consumer, and tells whether
// it did.
func newMalice(t *testing.T, hub bool, relays, liars, size int, lie func(m *malice, d *wire.Data) bool) *malice {
	m := &malice{world: newWorld(t)}
	consumer, producer := m.add(false), m.add(false)
	if hub {
		m.near = m.add(true)
		m.join(consumer, m.near, 3, 20e6)
		m.nodes[consumer].AddRoute(0, nil, forward.NextHop{Face: 300 + machine.FaceID(m.near), Hops: 3})
	}
	lies := map[end]bool{}
	for i := range relays {
		relay := m.add(true)
		m.join(m.near, relay, 1, 3e6)
		m.join(relay, producer, 2, 0)
		m.nodes[m.near].FaceUp(0, 100+machine.FaceID(relay), machine.Face{MTU: 9000}) // whole packets are easier to forge
		m.nodes[relay].FaceUp(0, 100+machine.FaceID(m.near), machine.Face{MTU: 9000, Rate: 3e6})
		m.nodes[m.near].AddRoute(0, nil, forward.NextHop{Face: 100 + machine.FaceID(relay), Hops: 2})
		if i < liars {
			m.liars = append(m.liars, 100+machine.FaceID(relay))
			lies[end{relay, 100 + machine.FaceID(m.near)}] = true
		}
		m.nodes[relay].AddRoute(0, wire.MustParseName("/site"), forward.NextHop{Face: 200 + machine.FaceID(producer), Hops: 1})
	}
	m.object, m.content = version(1, size)
	m.pub = publish.New(publish.Config{Prefix: m.object.Dest, Signer: signs(producerKey)})
	m.nodes[producer].Attach(0, m.pub, m.object.Dest)
	m.con = fetch.New(fetch.Config{Src: binary.BigEndian.AppendUint64(nil, 7), Seed: 3})
	m.nodes[consumer].Attach(0, m.con)
	m.alter = func(from end, datagram []byte) []byte {
		var p wire.Packet
		var d wire.Data
		if !lies[from] || p.Decode(datagram) != nil || d.Decode(p.Fragment) != nil || !lie(m, &d) {
			return datagram
		}
		if m.lies++; m.lies == 1 {
			m.caught = m.now + 4*m.delay + machine.Millisecond
		}
		return append(p.AppendHeader(nil, d.Len()), d.Append(nil)...)
	}
	return m
}

// came is how much content came from relays, by liars and in all.
func (m *malice) came() (both [2]uint64) {
	for _, s := range m.nodes[m.near].Forwarder().Stats(nil) {
		both[1] += s.ContentIn
		if slices.Contains(m.liars, s.ID) {
			both[0] += s.ContentIn
		}
	}
	return both
}

// fetch fetches the object, and returns the error with which that ended.
func (m *malice) fetch() error {
	m.con.Start(0, fetch.Request{Name: m.object.Name, Trust: func(_ wire.Name, by wire.Author) error {
		if !bytes.Equal(by.Key, producerKey[32:]) {
			return errStranger
		}
		return nil
	}})
	m.nodes[0].Touch(0)
	answer, settle := serve(m.pub, m.nodes[1], m.object, m.content), take(m.t, m.con, m.nodes[0], &m.got)
	for range 5_000_000 {
		if !m.step() {
			break
		}
		answer(m.now)
		if m.caught > 0 && m.now >= m.caught && m.atCaught[1] == 0 {
			m.atCaught = m.came()
		}
		if done, err := settle(m.now); done {
			return err
		}
	}
	m.t.Fatalf("stuck at %v", m.now)
	return nil
}

// isChunk tells whether Data are of a chunk or manifest segment.
func isChunk(d *wire.Data) bool {
	return wire.SplitFlow(d.Name).Kind == wire.Transmission && d.ContentType != wire.ContentNack
}

func isMetadata(d *wire.Data) bool { return wire.SplitFlow(d.Name).Kind == wire.Plain }

// signed signs Data anew.
func signed(d *wire.Data, key ed25519.PrivateKey, at uint64) {
	d.SignatureType, d.SignatureInfo = wire.SignatureEd25519, wire.Author{Key: key[32:], Time: at}.AppendSignatureInfo(nil)
	d.SignatureValue = ed25519.Sign(key, d.AppendSigned(nil))
}

// metadataOf is the answer that says that a version is current.
func metadataOf(o *publish.Object) wire.Data {
	l, v := o.Manifest.Layout, o.Manifest.Version()
	meta := wire.Metadata{Name: o.Name.Clone().AppendNumber(wire.TypeVersion, v), Size: l.Size, ChunkSize: l.ChunkSize, Digest: o.Manifest.Digest(), Dest: o.Dest, HasMARS: true}
	return wire.Data{Name: o.Name.Clone().AppendString(wire.TypeKeyword, wire.KeywordMetadata).AppendChunk(v, 0), Content: meta.Append(nil)}
}

// always makes a lie that remembers nothing.
func always(lie func(*wire.Data) bool) func() func(*malice, *wire.Data) bool {
	return func() func(*malice, *wire.Data) bool {
		return func(_ *malice, d *wire.Data) bool { return lie(d) }
	}
}

var lieKinds = []struct {
	say   string
	bars  bool // the flow keeps off the liar
	lie   func() func(*malice, *wire.Data) bool
	alone []error // one of these ends a fetch that has no other way
}{
	{"alters chunks", true, always(func(d *wire.Data) bool {
		if !isChunk(d) || len(d.Content) == 0 {
			return false
		}
		d.Content = bytes.Clone(d.Content)
		d.Content[len(d.Content)/2] ^= 1
		return true
	}), []error{fetch.ErrIntegrity}},
	{"cuts chunks short", true, always(func(d *wire.Data) bool {
		if !isChunk(d) {
			return false
		}
		d.Content = d.Content[:len(d.Content)/2]
		return true
	}), []error{fetch.ErrIntegrity}},
	{"replays one chunk for all", true, func() func(*malice, *wire.Data) bool {
		var first []byte
		return func(_ *malice, d *wire.Data) bool {
			if !isChunk(d) || len(d.Content) < wire.ChunkSize {
				return false
			}
			if first == nil {
				first = bytes.Clone(d.Content)
				return false
			}
			d.Content = first
			return true
		}
	}, []error{fetch.ErrIntegrity}},
	{"answers with another object's chunks", true, always(func(d *wire.Data) bool {
		_, other := version(9, len(d.Content))
		d.Content = other
		return isChunk(d)
	}), []error{fetch.ErrIntegrity}},
	{"says that the version is gone", true, always(func(d *wire.Data) bool {
		if !isChunk(d) {
			return false
		}
		d.ContentType, d.Content, d.FinalBlock = wire.ContentNack, []byte("gone"), nil
		return true
	}), []error{fetch.ErrChanged}},
	{"forges metadata with a key of its own", false, always(func(d *wire.Data) bool {
		if !isMetadata(d) {
			return false
		}
		o, _ := version(9, 500_000)
		*d = metadataOf(o)
		signed(d, liarKey, 9_000_000)
		return true
	}), []error{errStranger}},
	{"forges metadata that claim the producer's key", false, always(func(d *wire.Data) bool {
		if !isMetadata(d) {
			return false
		}
		o, _ := version(9, 500_000)
		*d = metadataOf(o)
		signed(d, producerKey, 9_000_000)
		d.SignatureValue[5] ^= 1
		return true
	}), []error{fetch.ErrForged}},
	{"takes the signature away", false, always(func(d *wire.Data) bool {
		if !isMetadata(d) {
			return false
		}
		d.SignatureType, d.SignatureInfo, d.SignatureValue = wire.SignatureNull, nil, nil
		return true
	}), []error{fetch.ErrForged, fetch.ErrTimeout}},
	{"says that there is no such object", false, always(func(d *wire.Data) bool {
		if !isMetadata(d) {
			return false
		}
		*d = wire.Data{Name: wire.MustParseName("/site/a/b/32=metadata"), ContentType: wire.ContentNack, Content: []byte("not found")}
		signed(d, liarKey, 9_000_000)
		return true
	}), []error{fetch.ErrNotFound}},
	{"keeps an old version's metadata, which the producer did sign", false, always(func(d *wire.Data) bool {
		if !isMetadata(d) {
			return false
		}
		o, _ := version(5, 500_000)
		*d = metadataOf(o)
		signed(d, producerKey, 999_000)
		return true
	}), []error{fetch.ErrChanged}},
}

// TestLiars: what comes is right, whatever one or two of three relays do, next to the consumer or behind an honest one, and little
// comes by them once they were caught.
func TestLiars(t *testing.T) {
	for _, c := range lieKinds {
		t.Run(c.say, func(t *testing.T) {
			testLiars(t, newMalice(t, false, 3, 1, 6_000_000, c.lie()), c.bars)
			testLiars(t, newMalice(t, false, 3, 2, 6_000_000, c.lie()), c.bars)
			testLiars(t, newMalice(t, true, 3, 1, 6_000_000, c.lie()), c.bars)
		})
	}
}

func testLiars(t *testing.T, m *malice, bars bool) {
	t.Helper()
	if err := m.fetch(); err != nil {
		t.Fatalf("%v, after %d lies", err, m.lies)
	}
	if !bytes.Equal(m.got, m.content) {
		t.Fatal("other bytes")
	}
	if m.lies == 0 {
		t.Fatal("nobody lied")
	}
	total := m.came()
	share := float64(total[0]-m.atCaught[0]) / float64(total[1]-m.atCaught[1])
	t.Logf("%d lies in %.2f s; then %.1f%% by the liar", m.lies, m.now.Seconds(), share*100)
	if bars && share > 0.05 {
		t.Errorf("%.0f%% of the rest came by the liar", share*100)
	}
}

// TestLiarAlone: where every way leads by the liar, the fetch ends with an error that tells why, and nothing of it is taken.
func TestLiarAlone(t *testing.T) {
	for _, c := range lieKinds {
		t.Run(c.say, func(t *testing.T) {
			m := newMalice(t, false, 1, 1, 300_000, c.lie())
			err := m.fetch()
			for _, want := range c.alone {
				if errors.Is(err, want) {
					t.Log(err)
					return
				}
			}
			t.Errorf("%v", err)
		})
	}
}
