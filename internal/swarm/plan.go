package swarm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mars/internal/scenario"
)

// Plan is one run: a world, the system that runs in it, and the seed of its losses.
type Plan struct {
	Seed   uint64
	System string
	World  scenario.World
}

// Faults begin within the first part of a run, while things move, and are over when everything is healed.
const (
	lastFault = 1500 * time.Millisecond
	longest   = 2 * time.Second
	healing   = 4 * time.Second
	limit     = 600 * time.Second
)

// systems are those that plans run, as often as they are listed.
var systems = [...]string{
	"MARS-everywhere-paper", "MARS-everywhere-paper", "MARS-everywhere-paper", "MARS-everywhere-paper",
	"MARS-everywhere", "MARS-everywhere", "MARS-everywhere", "MARS", "MARS", "MARS-IP",
	"MARS-paper", "MARS-paper", "MARS-IP-paper", "MARS-ENDPOINT-paper",
	"best-route", "PCON", "PCON-loop-free", "QSF-like",
}

// maker makes one plan.
type maker struct {
	*rand.Rand
	w scenario.World
}

// Make expands a seed to its plan.
func Make(seed uint64) Plan {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0x737761726d))}
	m.w.Limit = limit
	system := systems[m.IntN(len(systems))]
	switch m.IntN(4) {
	case 0:
		m.chain()
	case 1:
		m.parallel()
	default:
		m.mesh()
	}
	m.workload()
	m.faults(system)
	return Plan{Seed: seed, System: system, World: m.w}
}

func (m *maker) node(name string, role scenario.Role) int {
	m.w.Nodes = append(m.w.Nodes, scenario.Node{Name: name, Role: role, MARS: role == scenario.Relay && m.IntN(3) == 0})
	return len(m.w.Nodes) - 1
}

func (m *maker) between(low, high time.Duration) time.Duration {
	return low + time.Duration(m.Int64N(int64(high-low)))/time.Millisecond*time.Millisecond
}

func (m *maker) direction() scenario.Direction {
	d := scenario.Direction{
		Rate: []float64{1e6, 2e6, 5e6, 10e6, 20e6}[m.IntN(5)], Delay: m.between(time.Millisecond, 30*time.Millisecond),
		Packets: []int{20, 50, 100, 200}[m.IntN(4)], MTU: 1500, Discipline: scenario.DropTail,
	}
	if m.IntN(6) == 0 {
		d.Jitter = m.between(time.Millisecond, 10*time.Millisecond)
	}
	if m.IntN(6) == 0 {
		d.Loss.Random = []float64{0.001, 0.01, 0.03}[m.IntN(3)]
	}
	if m.IntN(10) == 0 {
		d.Discipline = scenario.CoDelMark
	}
	return d
}

func (m *maker) link(a, b int) {
	name := m.w.Nodes[a].Name + "-" + m.w.Nodes[b].Name
	if slices.ContainsFunc(m.w.Links, func(l scenario.Link) bool { return l.Name == name }) {
		return
	}
	ab := m.direction()
	ba := ab
	if m.IntN(3) == 0 {
		ba = m.direction()
	}
	m.w.Links = append(m.w.Links, scenario.Link{Name: name, A: a, B: b, AB: ab, BA: ba})
}

// chain is a line of up to three relays.
func (m *maker) chain() {
	at := m.node("con0", scenario.Consumer)
	for i := range m.IntN(4) {
		next := m.node(fmt.Sprintf("r%d", i), scenario.Relay)
		m.link(at, next)
		at = next
	}
	m.link(at, m.node("pro0", scenario.Producer))
}

// parallel is two or three ways of one or two relays.
func (m *maker) parallel() {
	c, p := m.node("con0", scenario.Consumer), m.node("pro0", scenario.Producer)
	n := 0
	for range 2 + m.IntN(2) {
		at := c
		for range 1 + m.IntN(2) {
			next := m.node(fmt.Sprintf("r%d", n), scenario.Relay)
			n++
			m.link(at, next)
			at = next
		}
		m.link(at, p)
	}
}

// mesh is a tree of relays with links more, and up to two consumers and producers at its edge.
func (m *maker) mesh() {
	relays := 2 + m.IntN(5)
	for i := range relays {
		m.node(fmt.Sprintf("r%d", i), scenario.Relay)
		if i > 0 {
			m.link(m.IntN(i), i)
		}
	}
	for range m.IntN(relays + 1) {
		if a, b := m.IntN(relays), m.IntN(relays); a < b {
			m.link(a, b)
		}
	}
	edge := func(name string, role scenario.Role) {
		i := m.node(name, role)
		m.link(i, m.IntN(relays))
		for range m.IntN(3) {
			m.link(i, m.IntN(relays))
		}
	}
	for i := range 1 + m.IntN(2) {
		edge(fmt.Sprintf("con%d", i), scenario.Consumer)
	}
	for i := range 1 + m.IntN(2) {
		edge(fmt.Sprintf("pro%d", i), scenario.Producer)
	}
}

func (m *maker) of(role scenario.Role) (all []int) {
	for i := range m.w.Nodes {
		if m.w.Nodes[i].Role == role {
			all = append(all, i)
		}
	}
	return all
}

func (m *maker) workload() {
	cons, pros := m.of(scenario.Consumer), m.of(scenario.Producer)
	chunk := []int{0, 0, 1200, 3000, 6000}[m.IntN(5)]
	for i := range 1 + m.IntN(3) {
		f := scenario.Flow{
			Name: fmt.Sprintf("f%d", i), Consumer: cons[m.IntN(len(cons))], Producer: pros[m.IntN(len(pros))],
			Bytes: 1000 << m.IntN(9), Group: i, ChunkSize: chunk,
		}
		if i > 0 || m.IntN(3) == 0 {
			f.Start = m.between(0, time.Second)
		}
		m.w.Flows = append(m.w.Flows, f)
	}
}
