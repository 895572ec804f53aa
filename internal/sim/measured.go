package sim

import (
	"math"
	"slices"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// measured is what is noted of a flow that is measured over a window.
type measured struct {
	consumer, producer *endHost
	down, up           []machine.FaceID // of its paths: at the consumer, at the producer
	before             []int64          // bytes received by each path until the last step
	subflows           []scenario.Subflow
	detections         []scenario.Detection
	groups             []int
	from, to           int64 // bytes received when the window began and ended
}

// endless stands for the length of an object that is never whole, bytes.
const endless = 1 << 50

// objectSize is what a producer takes for the size of a flow's object.
func objectSize(f *scenario.Flow) int64 {
	if f.Bytes == 0 {
		return endless
	}
	return f.Bytes
}

// glimpse is how often detections are looked at: oftener than any controller decides.
const glimpse = 100 * machine.Millisecond

// observe notes what a flow does, from now to the end of the window.
func (b *builder) observe(f *flow, k *measured) {
	m := &b.w.Measure
	f.measured = k
	k.before, k.subflows = make([]int64, len(k.down)), make([]scenario.Subflow, len(k.down))
	from, to, step := machine.Time(m.From), machine.Time(m.To), machine.Time(m.Step)
	b.net.at(from, func(machine.Time) { k.from = f.received })
	b.net.at(to, func(machine.Time) { k.to = f.received })
	for at := step; at <= to; at += step {
		b.net.at(at, func(machine.Time) { k.step(m) })
	}
	if len(k.up) > 1 {
		for at := f.start + glimpse; at <= to; at += glimpse {
			b.net.at(at, k.look)
		}
	}
}

// step ends a step of the series.
func (k *measured) step(m *scenario.Measure) {
	for i, face := range k.down {
		s, _ := k.consumer.host.Path(face)
		mbps := float64((s.Received-k.before[i])*8) / 1e6 / m.Step.Seconds()
		k.before[i] = s.Received
		k.subflows[i].Series = append(k.subflows[i].Series, math.Round(float64(mbps*1000))/1000)
	}
}

// look notes what has changed in the groups of subflows.
func (k *measured) look(now machine.Time) {
	groups, ok := k.producer.host.Groups(k.groups[:0], k.up)
	k.groups = groups
	if n := len(k.detections); ok && (n == 0 || !slices.Equal(k.detections[n-1].Groups, groups)) {
		k.detections = append(k.detections, scenario.Detection{At: now.Seconds(), Groups: slices.Clone(groups)})
	}
}

// result adds what was noted to the flow's result.
func (k *measured) result(m *scenario.Measure, r *scenario.FlowResult) {
	r.Goodput = float64((k.to-k.from)*8) / 1e6 / (m.To - m.From).Seconds()
	from, to := int(m.From/m.Step), int(m.To/m.Step)
	for i := range k.subflows {
		s := &k.subflows[i]
		sum := 0.0
		for _, x := range s.Series[min(from, len(s.Series)):min(to, len(s.Series))] {
			sum += x
		}
		s.Goodput = sum / float64(max(to-from, 1))
		p, _ := k.producer.host.Path(k.up[i])
		s.Lost = p.Lost
	}
	r.Subflows, r.Detections = k.subflows, k.detections
}

// move puts the changes of a flow's routes into the plan.
func (b *builder) move(sf *scenario.Flow, k *measured) {
	for _, at := range sf.Changes(b.w.Limit) {
		b.net.at(machine.Time(at), func(machine.Time) {
			for i := range k.down {
				b.reroute(sf, sf.Route(i, at), k.down[i], k.up[i])
			}
		})
	}
}

// reroute makes packets of both ends of a path take another route; those under way go on as they can.
func (b *builder) reroute(sf *scenario.Flow, route []int, consumer, producer machine.FaceID) {
	c, p := &b.net.hosts[sf.Consumer].ports[consumer-1], &b.net.hosts[sf.Producer].ports[producer-1]
	b.lay(sf, route, c.addr, p.addr)
	c.link, p.link = b.g.directed(route[0], sf.Consumer), b.g.directed(route[len(route)-1], sf.Producer)
}
