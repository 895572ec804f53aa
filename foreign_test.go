package mars

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"path/filepath"
	"testing"

	"mars/internal/wire"
)

// foreignApp is an application written for another forwarder, on the socket of a node.
type foreignApp struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func attach(t *testing.T, path string) *foreignApp {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &foreignApp{t, c, bufio.NewReaderSize(c, 1<<16)}
}

// next reads a packet; false: the connection has ended.
func (a *foreignApp) next() ([]byte, bool) {
	for n := 2; ; n++ {
		head, err := a.in.Peek(n)
		if err != nil {
			return nil, false
		}
		size, err := wire.FrameLen(head, 9000)
		if err != nil {
			a.t.Errorf("the node sent no packet: %v", err)
			return nil, false
		}
		if size > 0 {
			b := make([]byte, size)
			_, err := io.ReadFull(a.in, b)
			return b, err == nil
		}
	}
}

func (a *foreignApp) send(b []byte) {
	if _, err := a.conn.Write(b); err != nil {
		a.t.Error(err)
	}
}

// register registers a prefix the way that clients do.
func (a *foreignApp) register(prefix string) {
	a.t.Helper()
	p := wire.ControlParameters{Name: wire.MustParseName(prefix), HasName: true}
	i := wire.Interest{HasParameters: true, SignatureInfo: []byte{27, 1, 0}, SignatureValue: make([]byte, 32), Nonce: 1, HasNonce: true}
	digest := i.ParametersDigest()
	i.Name = wire.MustParseName("/localhost/nfd/rib/register").Append(wire.TypeGeneric, p.Append(nil)).Append(wire.TypeParamsDigest, digest[:])
	a.send(i.Append(nil))
	b, _ := a.next()
	var d wire.Data
	var r wire.ControlResponse
	if d.Decode(b) != nil || r.Decode(d.Content) != nil || r.Code != 200 {
		a.t.Fatalf("the answer to rib/register is %x", b)
	}
}

// produce answers Interests for segments of content until the connection ends. There is no metadata.
func (a *foreignApp) produce(prefix string, content []byte) {
	base := wire.MustParseName(prefix).AppendNumber(wire.TypeVersion, 42)
	const size = 5000
	last := uint64((len(content) - 1) / size)
	for b, ok := a.next(); ok; b, ok = a.next() {
		var p wire.Packet
		var i wire.Interest
		if p.Decode(b) != nil || i.Decode(p.Fragment) != nil || !i.HasNonce || len(p.PitToken) != 6 {
			a.t.Errorf("the node sent %x", b)
			return
		}
		n := uint64(0)
		if !i.CanBePrefix || !base.HasPrefix(i.Name) {
			_, _, segment, ok := i.Name.SplitChunk()
			if n = segment; !ok || n > last {
				continue
			}
		}
		d := wire.Data{
			Name: base.Clone().AppendNumber(wire.TypeSegment, n), FinalBlock: wire.Name(nil).AppendNumber(wire.TypeSegment, last),
			Content: content[n*size : min((n+1)*size, uint64(len(content)))],
		}
		sum := sha256.Sum256(d.AppendSigned(nil))
		d.SignatureValue = sum[:]
		out := wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}
		a.send(out.Append(nil))
	}
}

// TestForeignProducer: an application on the socket of one node registers a prefix, and another node fetches from it.
func TestForeignProducer(t *testing.T) {
	s := newSite(t, 1)
	n, _ := start(t, &Config{Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)}})
	path := filepath.Join(t.TempDir(), "node.sock")
	if err := n.driver.ListenLocal(path); err != nil {
		t.Fatal(err)
	}
	producer := attach(t, path)
	producer.register("/site/other")
	content := random(t, filepath.Join(s.dir, "x"), 300_001)
	done := make(chan struct{})
	go func() {
		defer close(done)
		producer.produce("/site/other/object", content)
	}()
	consumer, _ := consumerVia(t, n.Addrs()[0])
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	res, err := consumer.FetchPlain(ctx, FetchOptions{Name: "/site/other/object", Writer: &out})
	if err != nil || !bytes.Equal(out.Bytes(), content) || res.Version != 42 {
		t.Fatalf("%d bytes of %d (%v)", out.Len(), len(content), err)
	}
	_ = producer.conn.Close()
	<-done
}

// TestForeignConsumer: an application on the socket of a node reads what another node serves.
func TestForeignConsumer(t *testing.T) {
	s := newSite(t, wire.ChunkSize+7)
	n, _ := consumerVia(t, s.addr)
	path := filepath.Join(t.TempDir(), "node.sock")
	if err := n.driver.ListenLocal(path); err != nil {
		t.Fatal(err)
	}
	a := attach(t, path)
	ask := func(i wire.Interest) *wire.Data {
		t.Helper()
		a.send(i.Append(nil))
		b, _ := a.next()
		d := new(wire.Data)
		if err := d.Decode(b); err != nil { // no link header was sent, so none comes back
			t.Fatalf("%v: the answer is %x", i.Name, b)
		}
		return d
	}
	name := wire.MustParseName("/site/object")
	meta := ask(wire.Interest{Name: name.Clone().AppendString(wire.TypeKeyword, "metadata"), CanBePrefix: true, MustBeFresh: true})
	var m wire.Metadata
	if err := m.Decode(meta.Content); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for n := range uint64(2) {
		d := ask(wire.Interest{Name: m.Name.Clone().AppendNumber(wire.TypeSegment, n)})
		if last, ok := d.FinalSegment(); !ok || last != 1 {
			t.Fatalf("segment %d says that the last one is %d (%v)", n, last, ok)
		}
		got = append(got, d.Content...)
	}
	if !bytes.Equal(got, s.content) {
		t.Fatal("what came is not what is served")
	}
}
