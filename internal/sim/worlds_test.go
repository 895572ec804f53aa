package sim

import (
	"fmt"
	"time"

	"mars/internal/scenario"
)

// meshRates are the core rates of the heterogeneous emulation, Mbit/s (evaluation.md).
var meshRates = map[[2]int]float64{
	{0, 1}: 25, {0, 2}: 40, {0, 3}: 50, {0, 4}: 60, {1, 2}: 80, {1, 3}: 25, {1, 4}: 40, {2, 3}: 50, {2, 4}: 60, {3, 4}: 80,
}

// emulation is the paper's emulation topology: 5 consumers, 5 cores in full mesh, 25 producers.
func emulation(loss float64, size int64) *scenario.World {
	w := &scenario.World{Limit: 120 * time.Second}
	index := make(map[string]int)
	add := func(name string, r scenario.Role) {
		index[name] = len(w.Nodes)
		w.Nodes = append(w.Nodes, scenario.Node{Name: name, Role: r})
	}
	link := func(a, b string, mbps float64, delay time.Duration, loss float64) {
		d := scenario.Direction{Rate: mbps * 1e6, Delay: delay, Packets: 1000, MTU: 1500, Loss: scenario.Loss{Random: loss}}
		w.Links = append(w.Links, scenario.Link{Name: a + "-" + b, A: index[a], B: index[b], AB: d, BA: d})
	}
	for i := range 5 {
		add(fmt.Sprint("con", i), scenario.Consumer)
		add(fmt.Sprint("core", i), scenario.Relay)
	}
	for k := range 25 {
		add(fmt.Sprint("edge", k), scenario.Relay)
		add(fmt.Sprint("p", k), scenario.Producer)
	}
	for i := range 5 {
		for j := range 5 {
			link(fmt.Sprint("con", i), fmt.Sprint("core", j), 40, 5*time.Millisecond, loss)
		}
	}
	for i := range 5 {
		for j := i + 1; j < 5; j++ {
			link(fmt.Sprint("core", i), fmt.Sprint("core", j), meshRates[[2]int{i, j}], time.Millisecond, 0)
		}
	}
	starts := []time.Duration{0, 1, 2, 1, 2}
	for k := range 25 {
		link(fmt.Sprint("core", k/5), fmt.Sprint("edge", k), 40, 5*time.Millisecond, 0)
		link(fmt.Sprint("edge", k), fmt.Sprint("p", k), 40, 5*time.Millisecond, 0)
		w.Flows = append(w.Flows, scenario.Flow{
			Name: fmt.Sprint("f", k), Consumer: index[fmt.Sprint("con", k/5)], Producer: index[fmt.Sprint("p", k)],
			Bytes: size, Start: starts[k/5] * time.Second, Group: k / 5, ChunkSize: 6016,
		})
	}
	return w
}
