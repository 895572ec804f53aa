package node

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/route"
	"mars/internal/wire"
)

// client is an application on one face of a node.
type client struct {
	t    testing.TB
	node *Node
	face machine.FaceID
}

func newClient(t testing.TB, n *Node, face machine.FaceID) *client {
	n.FaceUp(0, face, machine.Face{Local: true})
	return &client{t, n, face}
}

// ask sends an Interest and returns the Data; false: a Nack came.
func (c *client) ask(now machine.Time, i wire.Interest) (*wire.Data, bool) {
	c.t.Helper()
	c.node.Receive(now, c.face, 0, i.Append(nil))
	buf := make([]byte, 9200)
	n, _ := c.node.Transmit(now, c.face, buf)
	var p wire.Packet
	if err := p.Decode(buf[:max(n, 0)]); err != nil {
		c.t.Fatalf("answer of %d bytes: %v", n, err)
	}
	d := new(wire.Data)
	if p.Nack {
		return nil, false
	}
	if err := d.Decode(p.Fragment); err != nil {
		c.t.Fatal(err)
	}
	return d, true
}

// command sends a signed command and returns the response.
func (c *client) command(now machine.Time, what string, p wire.ControlParameters) wire.ControlResponse {
	c.t.Helper()
	i := wire.Interest{HasParameters: true, SignatureInfo: []byte{27, 1, 0}, SignatureValue: make([]byte, 32)}
	digest := i.ParametersDigest()
	i.Name = wire.MustParseName("/localhost/nfd/"+what).Append(wire.TypeGeneric, p.Append(nil)).Append(wire.TypeParamsDigest, digest[:])
	d, ok := c.ask(now, i)
	if !ok || !d.Name.Equal(i.Name) {
		c.t.Fatalf("%s: no answer", what)
	}
	var r wire.ControlResponse
	if err := r.Decode(d.Content); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func named(name string) wire.ControlParameters {
	return wire.ControlParameters{Name: wire.MustParseName(name), HasName: true}
}

// TestLongDataset reads a dataset of several segments the way that clients do.
func TestLongDataset(t *testing.T) {
	n := New(forward.Config{Seed: 1})
	c := newClient(t, n, 7)
	var want []byte
	for k := range 500 {
		prefix := fmt.Sprintf("/prefix/%04d", k)
		if r := c.command(0, "rib/register", named(prefix)); r.Code != codeOK {
			t.Fatalf("%s: %d %s", prefix, r.Code, r.Text)
		}
		want = wire.AppendFIBEntry(want, wire.MustParseName(prefix), []wire.NextHopStatus{{FaceID: 7}})
	}
	list := wire.MustParseName("/localhost/nfd/fib/list")
	d, ok := c.ask(0, wire.Interest{Name: list, CanBePrefix: true, MustBeFresh: true})
	if !ok {
		t.Fatal("no dataset")
	}
	if _, _, _, ok := d.Name.SplitChunk(); !ok || !d.Name.HasPrefix(list) {
		t.Fatalf("first segment is called %v", d.Name)
	}
	version := d.Name.Prefix(d.Name.Len() - 1).Clone()
	got := bytes.Clone(d.Content)
	last, ok := d.FinalSegment()
	if !ok || last != uint64((len(want)-1)/maxSegment) {
		t.Fatalf("last segment is %d (%v)", last, ok)
	}
	c.command(0, "rib/unregister", named("/prefix/0000")) // what is read stays as it was
	for k := uint64(1); k <= last; k++ {
		d, ok := c.ask(0, wire.Interest{Name: version.Clone().AppendNumber(wire.TypeSegment, k)})
		if !ok {
			t.Fatalf("no segment %d", k)
		}
		got = append(got, d.Content...)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("the segments aren't the list")
	}
	if _, ok := c.ask(0, wire.Interest{Name: version.Clone().AppendNumber(wire.TypeSegment, last+1)}); ok {
		t.Fatal("a segment past the end")
	}
	for range maxSets {
		c.ask(0, wire.Interest{Name: list, CanBePrefix: true})
	}
	if _, ok := c.ask(0, wire.Interest{Name: version.AppendNumber(wire.TypeSegment, 1)}); ok {
		t.Fatal("datasets are kept for ever")
	}
}

// TestTooManyRoutes: applications can't fill the node's memory with routes; one that is there can still be renewed.
func TestTooManyRoutes(t *testing.T) {
	n := New(forward.Config{Seed: 1})
	c := newClient(t, n, 7)
	for k := range maxRoutes {
		n.rib.set(wire.Name(nil).AppendNumber(wire.TypeGeneric, uint64(k)), ribRoute{face: 7, expires: machine.Never})
	}
	if r := c.command(0, "rib/register", named("/xyz")); r.Code != codeFull {
		t.Fatalf("%d %s", r.Code, r.Text)
	}
	known := wire.ControlParameters{Name: wire.Name(nil).AppendNumber(wire.TypeGeneric, 5), HasName: true}
	if r := c.command(0, "rib/register", known); r.Code != codeOK {
		t.Fatalf("renewal: %d %s", r.Code, r.Text)
	}
}

// FuzzManagement: nothing that an application sends harms the node, and what it answers decodes.
func FuzzManagement(f *testing.F) {
	p := named("/p")
	p.SetNumber(wire.ParamExpiration, 1000)
	f.Add("rib/register", p.Append(nil), []byte{})
	f.Add("rib/unregister", p.Append(nil), []byte{})
	list := wire.Interest{Name: wire.MustParseName("/localhost/nfd/rib/list"), CanBePrefix: true}
	f.Add("faces/create", []byte{0x68, 0}, list.Append(nil))
	f.Fuzz(func(t *testing.T, what string, params, packet []byte) {
		n := New(forward.Config{Seed: 1})
		n.FaceUp(0, 7, machine.Face{Local: true})
		i := wire.Interest{HasParameters: true, SignatureInfo: []byte{27, 1, 0}, SignatureValue: []byte{}}
		digest := i.ParametersDigest()
		i.Name = managementPrefix.Clone()
		for part := range strings.SplitSeq(what, "/") {
			i.Name = i.Name.AppendString(wire.TypeGeneric, part)
		}
		i.Name = i.Name.Append(wire.TypeGeneric, params).Append(wire.TypeParamsDigest, digest[:])
		if i.Len() <= wire.MaxPacket {
			n.Receive(0, 7, 0, i.Append(nil))
		}
		n.Receive(0, 7, 0, packet)
		buf := make([]byte, 9200)
		for size, _ := n.Transmit(0, 7, buf); size != 0; size, _ = n.Transmit(0, 7, buf) {
			var out wire.Packet
			var d wire.Data
			if out.Decode(buf[:max(size, 0)]) != nil || !out.Nack && d.Decode(out.Fragment) != nil {
				t.Fatalf("answered %x", buf[:max(size, 0)])
			}
		}
		n.Advance(n.Deadline())
	})
}

var managementPrefix = wire.MustParseName("/localhost/nfd")

// TestRegisteredPrefixIsAnnounced: the overlay hears of an application's prefix for as long as it is registered.
func TestRegisteredPrefixIsAnnounced(t *testing.T) {
	n := New(forward.Config{Seed: 1, ID: 5})
	n.EnableRouting(route.Config{ID: 5})
	prefix := wire.MustParseName("/p")
	announced := func() bool {
		for _, node := range n.Topology() {
			for _, p := range node.Prefixes {
				if p.Equal(prefix) {
					return true
				}
			}
		}
		return false
	}
	now := machine.Time(0)
	run := func(until machine.Time) {
		for ; n.Deadline() <= until; n.Advance(now) {
			now = max(now, n.Deadline())
		}
		now = until
	}
	a, b := newClient(t, n, 7), newClient(t, n, 8)
	p := named("/p")
	p.SetNumber(wire.ParamExpiration, 100_000)
	a.command(0, "rib/register", p)
	b.command(0, "rib/register", named("/p"))
	a.command(0, "rib/register", named("/localhost/p"))
	run(50 * machine.Second)
	if !announced() {
		t.Fatal("not announced")
	}
	run(150 * machine.Second)
	if !announced() {
		t.Fatal("withdrawn though another application has it")
	}
	n.FaceDown(now, 8)
	run(200 * machine.Second)
	if announced() {
		t.Fatal("announced though nobody has it")
	}
	for _, node := range n.Topology() {
		for _, p := range node.Prefixes {
			if p.HasPrefix(wire.MustParseName("/localhost")) {
				t.Fatalf("%v was announced", p)
			}
		}
	}
}

// TestRoutesOfSeveralOrigins: what a command adds doesn't outlive it, and what was there before does.
func TestRoutesOfSeveralOrigins(t *testing.T) {
	n := New(forward.Config{Seed: 1})
	n.FaceUp(0, 3, machine.Face{MTU: 1400})
	n.AddRoute(0, wire.MustParseName("/p"), forward.NextHop{Face: 3, Hops: 4})
	c := newClient(t, n, 7)
	p := named("/p")
	p.SetNumber(wire.ParamFaceID, 3)
	p.SetNumber(wire.ParamCost, 2)
	hops := func() []forward.NextHop { return n.Forwarder().Routes(nil)[0].Hops }
	c.command(0, "rib/register", p)
	if h := hops(); len(h) != 1 || h[0].Hops != 4 {
		t.Fatalf("a configured route was overridden: %v", h)
	}
	c.command(0, "rib/unregister", p)
	if h := hops(); len(h) != 1 || h[0].Hops != 4 {
		t.Fatalf("a configured route was removed: %v", h)
	}
	n.FaceDown(0, 3)
	n.FaceUp(0, 3, machine.Face{MTU: 1400})
	if h := hops(); len(h) != 1 {
		t.Fatal("a flap of the link removed the route")
	}
}

// TestSourceName: an application learns what to call its flows; nothing else below /localhost/mars is a question, and none of NFD's
// commands is heard there.
func TestSourceName(t *testing.T) {
	n := New(forward.Config{Seed: 1, ID: 0x0102030405060708})
	c := newClient(t, n, 7)
	d, ok := c.ask(0, wire.Interest{Name: SourceName, CanBePrefix: true, MustBeFresh: true})
	if !ok || !bytes.Equal(d.Content, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("source: %v, %v", d, ok)
	}
	for _, k := range []struct {
		cfg  forward.Config
		want string
	}{
		{forward.Config{}, PaceConsumer},
		{forward.Config{Profile: forward.ProfileMARS}, PaceWindows},
		{forward.Config{Profile: forward.ProfileMARS, Strategy: forward.BestRoute}, PaceConsumer},
	} {
		c := newClient(t, New(k.cfg), 7)
		if d, ok := c.ask(0, wire.Interest{Name: ProfileName, CanBePrefix: true, MustBeFresh: true}); !ok || string(d.Content) != k.want {
			t.Errorf("profile of %+v: %q, %v", k.cfg, d.Content, ok)
		}
	}
	for _, name := range []string{"/localhost/mars", "/localhost/mars/faces/list", "/localhost/mars/x"} {
		if d, ok := c.ask(0, wire.Interest{Name: wire.MustParseName(name), CanBePrefix: true, MustBeFresh: true}); ok {
			t.Errorf("%s is answered with %v", name, d.Name)
		}
	}
	n.Manage(ManageConfig{Signers: func() [][]byte { return [][]byte{[]byte("one"), []byte("two")} }})
	if d, ok = c.ask(0, wire.Interest{Name: SignersName, CanBePrefix: true, MustBeFresh: true}); !ok || string(d.Content) != "onetwo" {
		t.Errorf("signers: %v, %v", d, ok)
	}
	p := named("/mine")
	i := wire.Interest{Name: wire.MustParseName("/localhost/mars/rib/register").Append(wire.TypeGeneric, p.Append(nil))}
	i.SignDigest()
	if _, ok := c.ask(0, i); ok || len(n.Forwarder().Routes(nil)) > 0 {
		t.Error("/localhost/mars/rib/register is a command")
	}
}
