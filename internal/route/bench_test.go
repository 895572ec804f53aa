package route

import (
	"fmt"
	"syscall"
	"testing"

	"mars/internal/machine"
)

// BenchmarkChange measures what one change costs a whole overlay: a link of a random graph of degree 4 is lost or
// comes back. All is beyond what two seconds cost without a change; CPU is the process's, with the network in memory.
// docs/routing.md has a table of the results:
//
//	go test -run '^$' -bench Change -benchtime 20x ./internal/route
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{50, 500, 2000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			w := large(n)
			var idle, busy books
			for i := 0; b.Loop(); i++ {
				before := w.books()
				w.run(2 * machine.Second)
				idle = idle.plus(w.books().minus(before))
				before = w.books()
				// Taking the ends down tells both nodes at once, so that no face has to fall silent first.
				for _, e := range w.wires[i/2%len(w.wires)].ends {
					e.set(i%2 == 1)
				}
				w.run(2 * machine.Second)
				busy = busy.plus(w.books().minus(before))
			}
			per := float64(b.N)
			b.ReportMetric(float64(busy.messages-idle.messages)/per, "messages/change")
			b.ReportMetric(float64(busy.bytes-idle.bytes)/per, "B/change")
			b.ReportMetric(float64(idle.bytes)/per/2/float64(n), "idle-B/s/node")
			b.ReportMetric(float64(busy.computations)/per/float64(n), "computations/node")
			b.ReportMetric(float64(busy.cpu-idle.cpu)/1e3/per/float64(n), "µs/node")
			b.ReportMetric(float64(idle.cpu)/1e3/per/2/float64(n), "idle-µs/s/node")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// books are sums over all nodes, and the CPU time of the process, ns.
type books struct{ messages, bytes, computations, cpu int64 }

func (w *world) books() books {
	return books{
		int64(w.total(func(c Counters) uint64 { return c.MessagesOut })),
		int64(w.total(func(c Counters) uint64 { return c.BytesOut })),
		int64(w.total(func(c Counters) uint64 { return c.Computations })),
		cpuTime(),
	}
}

func (b books) plus(o books) books {
	return books{b.messages + o.messages, b.bytes + o.bytes, b.computations + o.computations, b.cpu + o.cpu}
}

func (b books) minus(o books) books {
	return books{b.messages - o.messages, b.bytes - o.bytes, b.computations - o.computations, b.cpu - o.cpu}
}

func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// large is a random graph of n relays, of which one in ten announces a prefix, all in agreement.
func large(n int) *world {
	w := newWorld(uint64(n))
	for i := range n {
		if i%10 == 0 {
			w.plain(true, fmt.Sprintf("/site/%d", i))
		} else {
			w.plain(true)
		}
	}
	for _, p := range edges("random", n, w.random) {
		w.join(w.hosts[p[0]], w.hosts[p[1]])
	}
	for w.until(machine.Second, 30*machine.Second, func() bool { return len(w.hosts[0].router.order) == n }) < 0 {
		panic("the map isn't complete")
	}
	w.run(3 * machine.Second)
	return w
}

// BenchmarkCompute measures one computation of the table at one node with four neighbours.
func BenchmarkCompute(b *testing.B) {
	for _, n := range []int{50, 500, 2000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			r := hub(b, n)
			for b.Loop() {
				r.compute()
			}
		})
	}
}

// BenchmarkAccept measures taking in one new advertisement, without the computation.
func BenchmarkAccept(b *testing.B) {
	r := hub(b, 2000)
	n := r.neighbours[0]
	seq := uint64(1)
	bodies := make([][]byte, 0, 1000)
	for i := 10; i < 1010; i++ {
		bodies = append(bodies, ringNode(i, 2000, 1).encoded())
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(bodies) == 0 {
			seq++
		}
		body := bodies[i%len(bodies)]
		copy(body[8:], appendStamp(nil, stamp{seq, 7}))
		r.accept(n, carried{0, body})
	}
}

// hub is node 1 with four neighbours in a map of n nodes of degree 4, each the origin of a prefix.
func hub(tb testing.TB, n int) *Router {
	rig := newRig(tb, Config{ID: uint64(n), Boot: 7, Relay: true})
	for i := range 4 {
		rig.linked(machine.FaceID(i+1), uint64(i+1))
	}
	for i := 1; i < n; i++ {
		rig.r.accept(rig.r.neighbours[0], carried{0, ringNode(i, n, 1).encoded()})
	}
	if len(rig.r.order) != n {
		tb.Fatalf("%d nodes", len(rig.r.order))
	}
	return rig.r
}

// ringNode is linked to the next and previous node and to two across.
func ringNode(i, n int, seq uint64) *advert {
	const stride = 37
	links := map[uint64]bool{}
	for _, d := range []int{1, -1, stride, -stride} {
		links[uint64((i+d+n)%n)] = true
	}
	delete(links, uint64(i))
	return node(uint64(i), seq, sortedKeys(links), fmt.Sprintf("/site/%d", i))
}
