package sim

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// bulk is a window-limited sender, or the receiver that acknowledges each of its packets: the least Machine with which links,
// queues and timers have something to do. Its payload isn't written, as a simulated transport's isn't.
type bulk struct {
	sends            bool
	window           int
	next, acked, end uint64
	acks             []uint64
}

const (
	bulkSegment = 1472
	bulkAck     = 24
)

func (b *bulk) FaceUp(machine.Time, machine.FaceID, machine.Face) {}
func (b *bulk) FaceDown(machine.Time, machine.FaceID)             {}
func (b *bulk) Advance(machine.Time)                              {}
func (b *bulk) Deadline() machine.Time                            { return machine.Never }

func (b *bulk) Receive(_ machine.Time, _ machine.FaceID, _ machine.ECN, d []byte) {
	n := binary.BigEndian.Uint64(d)
	if b.sends {
		b.acked = max(b.acked, n+1)
	} else {
		b.acks = append(b.acks, n)
	}
}

func (b *bulk) Ready(dst []machine.FaceID) []machine.FaceID {
	if len(b.acks) > 0 || b.sends && b.next < min(b.end, b.acked+uint64(b.window)) {
		dst = append(dst, 1)
	}
	return dst
}

func (b *bulk) Transmit(_ machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	if n := len(b.acks); n > 0 {
		binary.BigEndian.PutUint64(buf, b.acks[0])
		b.acks = append(b.acks[:0], b.acks[1:]...)
		return bulkAck, machine.NotECT
	}
	if b.sends && b.next < min(b.end, b.acked+uint64(b.window)) {
		binary.BigEndian.PutUint64(buf, b.next)
		b.next++
		return bulkSegment, machine.NotECT
	}
	return 0, machine.NotECT
}

// threeHops are n independent paths of three links, 40 Mbit/s, 5 + 1 + 5 ms, drop-tail 100 packets.
func threeHops(n int, size int64) *scenario.World {
	w := &scenario.World{Limit: 1000 * time.Second}
	for i := range n {
		at := len(w.Nodes)
		for k, r := range []scenario.Role{scenario.Consumer, scenario.Relay, scenario.Relay, scenario.Producer} {
			w.Nodes = append(w.Nodes, scenario.Node{Name: fmt.Sprintf("n%d.%d", i, k), Role: r})
		}
		for k, delay := range []time.Duration{5, 1, 5} {
			d := scenario.Direction{Rate: 40e6, Delay: delay * time.Millisecond, Packets: 100, MTU: 1500}
			w.Links = append(w.Links, scenario.Link{Name: fmt.Sprintf("l%d.%d", i, k), A: at + k, B: at + k + 1, AB: d, BA: d})
		}
		w.Flows = append(w.Flows, scenario.Flow{Name: fmt.Sprint("f", i), Consumer: at, Producer: at + 3, Bytes: size})
	}
	return w
}

// bulkNetwork has a bulk sender at every producer and a receiver at every consumer, and routers between them.
func bulkNetwork(w *scenario.World, window int) *network {
	n := &network{}
	g := newGraph(w)
	b := builder{world: world{w: w, system: &system{routers: true}}, g: g}
	b.addLinks()
	for i := range w.Nodes {
		h := host{name: w.Nodes[i].Name}
		if b.plain(i) {
			h.router = &router{}
		} else {
			h.m = &bulk{}
		}
		b.net.hosts = append(b.net.hosts, h)
	}
	b.addTables()
	for i := range w.Flows {
		f := &w.Flows[i]
		up, down := g.links[f.Consumer][0], g.links[f.Producer][0]
		b.net.hosts[f.Consumer].ports = []port{{link: g.directed(up, f.Consumer), addr: g.address(down, f.Producer), face: 1}}
		b.net.hosts[f.Producer].ports = []port{{link: g.directed(down, f.Producer), addr: g.address(up, f.Consumer), face: 1}}
		b.net.hosts[f.Producer].m = &bulk{sends: true, window: window, end: uint64(f.Bytes / bulkSegment)}
	}
	*n = b.net
	n.seal(1500, 1500)
	return n
}

// BenchmarkThreeHops is simulator.md's speed scenario with acknowledging, window-limited Machines at the ends.
func BenchmarkThreeHops(b *testing.B) {
	for _, c := range []struct {
		flows int
		size  int64
	}{{25, 18e6}, {100, 36e6}} {
		b.Run(fmt.Sprintf("flows=%d", c.flows), func(b *testing.B) {
			var events int64
			w := threeHops(c.flows, c.size)
			for b.Loop() {
				n := bulkNetwork(w, 100)
				n.run(1000 * machine.Second)
				events += n.events
			}
			report(b, events, float64(c.size)*float64(c.flows)*float64(b.N))
		})
	}
}

// BenchmarkThreeHopsMARS is the same with MARS forwarders at every node, encoding and decoding real packets.
func BenchmarkThreeHopsMARS(b *testing.B) {
	const flows, size = 25, 18e6
	var events int64
	for b.Loop() {
		r, err := Run(threeHops(flows, size), "MARS-everywhere-paper", 1, Options{})
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	report(b, events, flows*size*float64(b.N))
}

func report(b *testing.B, events int64, bytes float64) {
	s := b.Elapsed().Seconds()
	b.ReportMetric(float64(events)/s/1e6, "Mpackethops/s")
	b.ReportMetric(s/(bytes/1e9), "s/GB")
	b.ReportMetric(0, "ns/op")
}
