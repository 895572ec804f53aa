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

// socketOf opens a socket for applications.
func socketOf(t *testing.T, n *Node) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.sock")
	if err := n.driver.ListenLocal(path); err != nil {
		t.Fatal(err)
	}
	return path
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
	if r := a.command("rib/register", wire.ControlParameters{Name: wire.MustParseName(prefix), HasName: true}); r.Code != statusOK {
		a.t.Fatalf("rib/register %s: %d %s", prefix, r.Code, r.Text)
	}
}

// command gives the node a command and returns its response.
func (a *foreignApp) command(what string, p wire.ControlParameters) (r wire.ControlResponse) {
	a.t.Helper()
	i := wire.Interest{HasParameters: true, SignatureInfo: []byte{27, 1, 0}, SignatureValue: make([]byte, 32), Nonce: 1, HasNonce: true}
	digest := i.ParametersDigest()
	i.Name = wire.MustParseName("/localhost/nfd/"+what).Append(wire.TypeGeneric, p.Append(nil)).Append(wire.TypeParamsDigest, digest[:])
	a.send(i.Append(nil))
	b, _ := a.next()
	var d wire.Data
	if d.Decode(b) != nil || r.Decode(d.Content) != nil {
		a.t.Fatalf("the answer to %s is %x", what, b)
	}
	return r
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
	producer := attach(t, socketOf(t, n))
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

// TestForeignFaces: an application has the node dial a neighbour, routes a prefix there and fetches by it; when it destroys the face,
// the way is gone.
func TestForeignFaces(t *testing.T) {
	s := newSite(t, 300_001)
	n, _ := start(t, &Config{Node: NodeConfig{Routing: "false"}, Listen: []FaceURI{local(0)}}) // or it would find the way by itself
	a := attach(t, socketOf(t, n))
	create := func(remote, local string) wire.ControlResponse {
		t.Helper()
		p := wire.ControlParameters{URI: []byte(remote)}
		if local != "" {
			p.LocalURI = []byte(local)
		}
		return a.command("faces/create", p)
	}
	site := udpURI(s.addr)
	r := create(site, "")
	face, ok := r.Body.Number(wire.ParamFaceID)
	if r.Code != statusOK || !ok || string(r.Body.URI) != site {
		t.Fatalf("faces/create: %d %s, face %d to %s", r.Code, r.Text, face, r.Body.URI)
	}
	own := string(r.Body.LocalURI)
	for _, c := range []struct {
		remote, local string
		code          uint64
		face          bool // the answer names the face that is there
	}{
		{site, "", 409, true},
		{site, own, 409, true},
		{site, "udp4://127.0.0.1:0", 409, true},
		{site, "udp4://127.0.0.2:0", statusOK, false}, // another path
		{site, "udp4://192.0.2.1:0", 504, false},
		{site, "udp6://[::1]:0", 504, false},
		{site, "udp4://nonsense:x", 400, false},
		{"udp4://127.0.0.1:0", "", 406, false},
		{"udp4://0.0.0.0:6363", "", 406, false},
		{"udp4://224.0.23.170:56363", "", 406, false},
		{"tcp4://127.0.0.1:6363", "", 406, false},
		{"udp4://localhost:6363", "", 400, false},
		{"nonsense", "", 400, false},
	} {
		r := create(c.remote, c.local)
		if id := r.Body.NumberOr(wire.ParamFaceID, 0); r.Code != c.code || c.face != (id == face) {
			t.Errorf("faces/create %s from %q: %d %s, face %d; want %d", c.remote, c.local, r.Code, r.Text, id, c.code)
		}
	}
	p := wire.ControlParameters{Name: wire.MustParseName("/site"), HasName: true}
	p.SetNumber(wire.ParamFaceID, face)
	if r := a.command("rib/register", p); r.Code != statusOK {
		t.Fatalf("rib/register: %d %s", r.Code, r.Text)
	}
	dest := filepath.Join(t.TempDir(), "object")
	if _, err := startFetch(n, dest).wait(); err != nil {
		t.Fatal(err)
	}
	want(t, dest, s.content)
	p = wire.ControlParameters{}
	p.SetNumber(wire.ParamFaceID, face)
	if r := a.command("faces/destroy", p); r.Code != statusOK {
		t.Fatalf("faces/destroy: %d %s", r.Code, r.Text)
	}
	if r := a.command("faces/update", p); r.Code != 404 {
		t.Errorf("the face is there: %d %s", r.Code, r.Text)
	}
	a.send((&wire.Interest{Name: wire.MustParseName("/site/object"), CanBePrefix: true}).Append(nil))
	var nack wire.Packet
	if b, _ := a.next(); nack.Decode(b) != nil || !nack.Nack || nack.NackReason != wire.NackNoRoute {
		t.Errorf("the way is there: %.20x", b)
	}
}

// TestForeignConsumer: an application on the socket of a node reads what another node serves.
func TestForeignConsumer(t *testing.T) {
	s := newSite(t, wire.ChunkSize+7)
	n, _ := consumerVia(t, s.addr)
	a := attach(t, socketOf(t, n))
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
