package node

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"mars/internal/fetch"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/route"
	"mars/internal/wire"
)

// emulation is the emulation topology of the MARS paper, of whole nodes that know their neighbours and nothing else: consumers 0…4,
// each linked to cores 5…9 (5 ms), which form a full mesh (1 ms); edge 10+k and producer 35+k behind core 5+k/5 (5 ms each).
// Consumers and producers are leaves.
type emulation struct {
	*world
	consumers [5]*fetch.Engine
	producers [25]*publish.Engine
	objects   [25]*publish.Object
	content   []byte
}

const (
	baseRTT = 30 * machine.Millisecond // of the shortest path: 5 + 5 + 5 ms there and back
	// enough is more than the discovery of all flows takes.
	enough = 3 * machine.Second
)

func coreOf(group int) int      { return 5 + group }
func edgeOf(k int) int          { return 10 + k }
func producerOf(k int) int      { return 35 + k }
func siteOf(k int) wire.Name    { return wire.MustParseName(fmt.Sprintf("/p%d", k)) }
func sourceOf(group int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(group+1)) }

// newEmulation builds the nodes and links. No route and no hop count is configured anywhere.
func newEmulation(t *testing.T, mode forward.DiscoveryMode) *emulation {
	m := &emulation{world: newWorld(t), content: make([]byte, 200_000)}
	for i := range 60 {
		relay := i >= 5 && i < 35
		n := New(forward.Config{Seed: uint64(i + 1), ID: uint64(i + 1), Relay: relay, Discovery: mode})
		n.EnableRouting(route.Config{ID: uint64(i + 1), Boot: uint32(i + 1), Relay: relay, Seed: uint64(i + 1)})
		m.nodes = append(m.nodes, n)
	}
	for c := range 5 {
		m.consumers[c] = fetch.New(fetch.Config{Src: sourceOf(c), Seed: 3})
		m.nodes[c].Attach(0, m.consumers[c])
		for k := range 5 {
			m.join(c, coreOf(k), 1, 0)
		}
		for a := range c {
			m.join(coreOf(a), coreOf(c), 1, 0)
			for _, e := range [2]end{{coreOf(a), faceTo(coreOf(c))}, {coreOf(c), faceTo(coreOf(a))}} {
				m.slow[e] = machine.Millisecond
			}
		}
	}
	b := wire.NewManifestBuilder(wire.ChunkSize)
	b.Write(m.content)
	manifest := b.Finish()
	for k := range 25 {
		m.join(coreOf(k/5), edgeOf(k), 1, 0)
		m.join(edgeOf(k), producerOf(k), 1, 0)
		m.objects[k] = &publish.Object{Name: append(siteOf(k), wire.MustParseName("/o")...), Dest: siteOf(k), Manifest: manifest}
		m.producers[k] = publish.New(publish.Config{Prefix: siteOf(k)})
		m.nodes[producerOf(k)].Attach(0, m.producers[k], siteOf(k))
	}
	return m
}

// faceTo is the face of any node to a neighbour, as join numbers it.
func faceTo(peer int) machine.FaceID { return 100 + machine.FaceID(peer) }

// run runs until done or end, with the applications at work.
func (m *emulation) run(end machine.Time, done func() bool) bool {
	var turns []func(machine.Time)
	for k, e := range m.producers {
		turns = append(turns, serve(e, m.nodes[producerOf(k)], m.objects[k], m.content))
	}
	for m.now < end && !done() && m.step() {
		for _, turn := range turns {
			turn(m.now)
		}
		for c, e := range m.consumers {
			for _, ev := range e.Events(nil) {
				switch ev.Kind {
				case fetch.Resolved:
					e.Accept(m.now, ev.ID, nil)
				case fetch.Chunk:
					e.Settle(m.now, ev.ID, ev.Chunk, ev.Data, true)
				}
			}
			m.nodes[c].Touch(m.now)
		}
	}
	return done()
}

// routed tells whether every consumer knows all five ways to each of its producers.
func (m *emulation) routed() bool {
	for c := range 5 {
		ways := map[string]int{}
		for _, r := range m.nodes[c].Forwarder().Routes(nil) {
			ways[string(r.Prefix)] = len(r.Hops)
		}
		for k := 5 * c; k < 5*c+5; k++ {
			if ways[string(siteOf(k))] != 5 {
				return false
			}
		}
	}
	return true
}

// flow is what node at knows of the flow from the consumer to producer k.
func (m *emulation) flow(at, k int) (forward.FlowState, bool) {
	return m.nodes[at].Forwarder().Flow(siteOf(k).Append(wire.TypeGeneric, sourceOf(k/5)))
}

// found tells when the discovery of all flows has ended.
func (m *emulation) found() bool {
	for k := range 25 {
		if s, ok := m.flow(k/5, k); !ok || len(s.Epochs) == 0 || !s.Epochs[0].Converged {
			return false
		}
	}
	return true
}

// check checks the paths of the flow to producer k and returns how many of its hops lead from one core to another that isn't the
// producer's: detours.
func (m *emulation) check(k int) (detours int) {
	home := coreOf(k / 5)
	source, _ := m.flow(k/5, k)
	for group := range 5 {
		core := coreOf(group)
		if !uses(source, faceTo(core)) {
			m.t.Errorf("flow to producer %d doesn't use core %d: %+v", k, core, source.Epochs[0].Faces)
		}
		s, ok := m.flow(core, k)
		next := home
		if core == home {
			next = edgeOf(k)
		}
		if !ok || !uses(s, faceTo(next)) {
			m.t.Errorf("flow to producer %d: core %d doesn't use the way by node %d", k, core, next)
			continue
		}
		for other := range 5 {
			if via := coreOf(other); via != home && via != core && uses(s, faceTo(via)) {
				detours++
			}
		}
	}
	return detours
}

// uses tells whether the newest epoch of a flow has a face that has answered.
func uses(s forward.FlowState, face machine.FaceID) bool {
	if len(s.Epochs) == 0 {
		return false
	}
	e := s.Epochs[len(s.Epochs)-1]
	i := slices.IndexFunc(e.Faces, func(p forward.PathState) bool { return p.Face == face })
	return i >= 0 && e.Faces[i].Valid && e.Faces[i].State == "acked"
}

// TestEmulationPaths: out of neighbours alone, without a configured route or hop count, routing and discovery find for each of the
// 25 flows the five paths with at most one hop between cores, and with detours those with two.
func TestEmulationPaths(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    forward.DiscoveryMode
		detours int // the hash of labels orders the four cores that are equally far: each may use those after it
	}{
		{"direct", forward.Direct, 0},
		{"detours", forward.Detours, 4 * 3 / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newEmulation(t, c.mode)
			if !m.run(10*machine.Second, m.routed) {
				t.Fatal("routing doesn't find all ways")
			}
			begin := m.now
			for k, o := range m.objects {
				m.consumers[k/5].Start(m.now, fetch.Request{Name: o.Name})
				m.nodes[k/5].Touch(m.now)
			}
			if !m.run(begin+enough, m.found) {
				t.Fatal("discovery doesn't end")
			}
			var times []float64
			for k := range 25 {
				if got := m.check(k); got != c.detours {
					t.Errorf("flow to producer %d has %d detours between cores, want %d", k, got, c.detours)
				}
				s, _ := m.flow(k/5, k)
				times = append(times, s.Duration.Seconds()/baseRTT.Seconds())
			}
			slices.Sort(times)
			t.Logf("routing in %.0f ms; discovery in base RTTs of 30 ms: fastest %.2f, median %.2f, slowest %.2f; all 25 after %.2f, names resolved",
				begin.Seconds()*1e3, times[0], times[12], times[24], (m.now-begin).Seconds()/baseRTT.Seconds())
		})
	}
}
