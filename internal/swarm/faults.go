package swarm

import (
	"cmp"
	"slices"
	"time"

	"mars/internal/scenario"
)

// kinds are the faults that plans have. Heal comes last in each.
var kinds = [...]scenario.FaultKind{
	scenario.SetLoss, scenario.SetBurst, scenario.Reorder, scenario.Duplicate, scenario.Corrupt, scenario.SetMTU,
	scenario.LinkDown, scenario.Exclude, scenario.Blackhole, scenario.Deaf, scenario.Restart, scenario.Skew, scenario.Stale,
	scenario.SetRate, scenario.SetDelay,
}

// faults draws the faults of a plan: of some kinds only, since faults of all kinds at once hide each other. A sixth of the
// plans has none.
func (m *maker) faults(system string) {
	var enabled []scenario.FaultKind
	for _, k := range kinds {
		if m.IntN(2) == 0 {
			enabled = append(enabled, k)
		}
	}
	if m.IntN(6) == 0 || len(enabled) == 0 {
		return
	}
	for range 1 + m.IntN(6) {
		m.fault(enabled[m.IntN(len(enabled))], system)
	}
	slices.SortStableFunc(m.w.Faults, func(a, b scenario.Fault) int { return cmp.Compare(a.At, b.At) })
	m.w.Faults = append(m.w.Faults, scenario.Fault{Kind: scenario.Heal, At: healing, Link: -1, Node: -1})
}

func (m *maker) fault(kind scenario.FaultKind, system string) {
	f := scenario.Fault{Kind: kind, Link: m.IntN(len(m.w.Links)), Node: -1, At: m.between(0, lastFault), For: m.between(50*time.Millisecond, longest)}
	l := &m.w.Links[f.Link]
	switch kind {
	case scenario.SetLoss:
		f.Value = []float64{0.01, 0.05, 0.3}[m.IntN(3)]
	case scenario.SetBurst:
		f.Value = []float64{0.3, 1}[m.IntN(2)]
	case scenario.Reorder, scenario.Duplicate:
		f.Value = []float64{0.01, 0.1, 0.5}[m.IntN(3)]
	case scenario.Corrupt:
		f.Value = []float64{0.001, 0.01}[m.IntN(2)]
	case scenario.SetMTU:
		f.Value = []float64{200, 600, 1280}[m.IntN(3)]
	case scenario.SetRate:
		f.Value = float64(l.AB.Rate * []float64{0.25, 0.5, 2}[m.IntN(3)])
	case scenario.SetDelay:
		f.Value = (l.AB.Delay + l.BA.Delay + m.between(time.Millisecond, 100*time.Millisecond)).Seconds()
	case scenario.Deaf:
		f.Node = []int{l.A, l.B}[m.IntN(2)]
	case scenario.Exclude:
		if m.w.Nodes[l.A].Role != scenario.Consumer && m.w.Nodes[l.B].Role != scenario.Consumer {
			f.Kind = scenario.LinkDown
		}
	case scenario.Restart, scenario.Skew:
		nodes := append(m.of(scenario.Relay), m.of(scenario.Producer)...)
		f.Link, f.Node = -1, nodes[m.IntN(len(nodes))]
		if f.Value = []float64{-0.05, 0.01, 0.05}[m.IntN(3)]; kind == scenario.Restart {
			f.For, f.Value = 0, 0
		}
	}
	m.w.Faults = append(m.w.Faults, f)
}
