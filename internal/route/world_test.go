package route

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"mars/internal/machine"
	"mars/internal/wire"
)

// world is a network of Routers in memory: links with delay, loss, duplication and reordering, and hosts that
// restart, pause and lose faces. Everything in it follows from its seed.
type world struct {
	now    machine.Time
	events events
	serial int
	random *rand.Rand
	hosts  []*host
	wires  []*cable

	loss, duplicates float64
	near, far        machine.Time // delay, uniform between them: reordering when they differ

	trace    hash64 // of every message, if not nil
	tallest  int    // hop count ever reported
	problems []string
	changes  int // reported
	version  int // of what the oracle looks at
}

type hash64 interface {
	Write([]byte) (int, error)
	Sum64() uint64
}

type host struct {
	w      *world
	index  int
	cfg    Config
	router *Router
	ends   map[machine.FaceID]*end
	frozen bool // its process stands still
	wake   machine.Time
	table  map[route]int
	names  []string
	want   map[route]int // the oracle's word, as of version
	as     int
}

type route struct {
	prefix string
	face   machine.FaceID
}

// cable joins two ends; cut, it swallows everything in silence.
type cable struct {
	ends [2]*end
	cut  bool
}

type end struct {
	cable *cable
	host  *host
	face  machine.FaceID
	up    bool
}

func (e *end) peer() *end {
	if e.cable.ends[0] == e {
		return e.cable.ends[1]
	}
	return e.cable.ends[0]
}

type event struct {
	at     machine.Time
	serial int
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(seed uint64) *world {
	return &world{
		random: rand.New(rand.NewPCG(seed, 1)),
		near:   machine.Millisecond, far: 10 * machine.Millisecond,
	}
}

func (w *world) after(d machine.Time, do func()) {
	w.serial++
	heap.Push(&w.events, event{w.now + d, w.serial, do})
}

// run lets d go by.
func (w *world) run(d machine.Time) {
	end := w.now + d
	for len(w.events) > 0 && w.events[0].at <= end {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	w.now = end
}

// until runs in steps until ok holds, at most for limit; it returns how long that took, or a negative time.
func (w *world) until(step, limit machine.Time, ok func() bool) machine.Time {
	for start := w.now; ; w.run(step) {
		if ok() {
			return w.now - start
		}
		if w.now-start >= limit {
			return -1
		}
	}
}

// add makes a host that announces the given names.
func (w *world) add(cfg Config, names ...string) *host {
	h := &host{w: w, index: len(w.hosts), cfg: cfg, ends: map[machine.FaceID]*end{}, names: names}
	w.hosts = append(w.hosts, h)
	h.start()
	return h
}

// nodeID spreads ids, so that their order isn't that of the hosts.
func nodeID(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }

// plain adds a host with a usual configuration.
func (w *world) plain(relay bool, names ...string) *host {
	i := len(w.hosts)
	return w.add(Config{ID: nodeID(i), Boot: uint32(100 + i), Seed: uint64(i), Relay: relay}, names...)
}

func (h *host) start() {
	h.router = New(h.cfg)
	h.table = map[route]int{}
	h.wake = machine.Never
	for _, n := range h.names {
		h.router.Announce(h.w.now, name(n))
	}
	for _, f := range slices.Sorted(maps.Keys(h.ends)) {
		if h.ends[f].up {
			h.router.FaceUp(h.w.now, f)
		}
	}
	h.pump()
}

// restart gives h a new life under another boot nonce.
func (h *host) restart() {
	h.cfg.Boot += 1000
	h.start()
}

func (h *host) announce(n string) {
	if !slices.Contains(h.names, n) {
		h.names = append(h.names, n)
		h.w.version++
		h.router.Announce(h.w.now, name(n))
		h.pump()
	}
}

func (h *host) withdraw(n string) {
	h.names = slices.DeleteFunc(h.names, func(o string) bool { return o == n })
	h.w.version++
	h.router.Withdraw(h.w.now, name(n))
	h.pump()
}

func (w *world) join(a, b *host) *cable {
	c := &cable{}
	for i, h := range []*host{a, b} {
		f := machine.FaceID(len(h.ends) + 1)
		c.ends[i] = &end{cable: c, host: h, face: f, up: true}
		h.ends[f] = c.ends[i]
	}
	w.wires = append(w.wires, c)
	w.version++
	for _, e := range c.ends {
		e.host.router.FaceUp(w.now, e.face)
	}
	for _, e := range c.ends {
		e.host.pump()
	}
	return c
}

func (c *cable) setCut(cut bool) {
	c.cut = cut
	c.ends[0].host.w.version++
}

func (e *end) set(up bool) {
	if e.up == up {
		return
	}
	e.up = up
	e.host.w.version++
	if up {
		e.host.router.FaceUp(e.host.w.now, e.face)
	} else {
		e.host.router.FaceDown(e.host.w.now, e.face)
	}
	e.host.pump()
}

// pump is what a driver does after every call.
func (h *host) pump() {
	if h.frozen {
		return
	}
	var ready []machine.FaceID
	var buf [MaxMessage]byte
	for {
		if ready = h.router.Ready(ready[:0]); len(ready) == 0 {
			break
		}
		for _, f := range ready {
			if n := h.router.Transmit(h.w.now, f, buf[:]); n > 0 {
				h.w.carry(h.ends[f], slices.Clone(buf[:n]))
			}
		}
	}
	for _, c := range h.router.Changes(nil) {
		h.apply(c)
	}
	if at := max(h.router.Deadline(), h.w.now); at < h.wake {
		h.wake = at
		router := h.router
		h.w.after(at-h.w.now, func() {
			if h.router == router && h.wake == at && !h.frozen {
				h.wake = machine.Never
				h.router.Advance(h.w.now)
				h.pump()
			}
		})
	}
}

// apply holds the table that the changes make, and notes changes that aren't any.
func (h *host) apply(c Change) {
	k := route{string(c.Prefix), c.Face}
	h.w.changes++
	if h.table[k] == c.Hops {
		h.w.problems = append(h.w.problems, fmt.Sprintf("host %d: no change: %s by face %d in %d", h.index, c.Prefix, c.Face, c.Hops))
	}
	h.w.tallest = max(h.w.tallest, c.Hops)
	if h.table[k] = c.Hops; c.Hops == 0 {
		delete(h.table, k)
	}
}

// carry takes a message along the cable of e.
func (w *world) carry(e *end, b []byte) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%d %d %d %x\n", w.now, e.host.index, e.face, b)
	}
	copies := 1
	if w.random.Float64() < w.duplicates {
		copies = 2
	}
	for range copies {
		if w.random.Float64() < w.loss || e.cable.cut {
			continue
		}
		d := w.near
		if w.far > w.near {
			d += machine.Time(w.random.Int64N(int64(w.far - w.near)))
		}
		to := e.peer()
		w.after(d, func() {
			if to.up && !to.cable.cut && !to.host.frozen {
				to.host.router.Receive(w.now, to.face, b)
				to.host.pump()
			}
		})
	}
}

// freeze stops the process of h for d; packets that reach it meanwhile are lost.
func (h *host) freeze(d machine.Time) {
	h.frozen = true
	h.w.version++
	h.w.after(d, func() {
		h.frozen = false
		h.w.version++
		h.router.Advance(h.w.now)
		h.wake = machine.Never
		h.pump()
	})
}

func name(s string) wire.Name {
	var n wire.Name
	for c := range strings.SplitSeq(strings.Trim(s, "/"), "/") {
		if c != "" {
			n = n.AppendString(wire.TypeGeneric, c)
		}
	}
	return n
}

// working tells whether both ends of c are there and it isn't cut.
func (c *cable) working() bool {
	return !c.cut && c.ends[0].up && c.ends[1].up && !c.ends[0].host.frozen && !c.ends[1].host.frozen
}

// oracle computes what the table of h ought to be, by brute force.
func (h *host) oracle() map[route]int {
	if h.want != nil && h.as == h.w.version {
		return h.want
	}
	want := map[route]int{}
	h.want, h.as = want, h.w.version
	for f, e := range h.ends {
		if !e.cable.working() || e.peer().host == h {
			continue
		}
		for to, d := range distances(e.peer().host, h) {
			for _, n := range to.names {
				k := route{string(name(n)), f}
				if old, ok := want[k]; !ok || d+1 < old {
					want[k] = d + 1
				}
			}
		}
	}
	return want
}

// distances relaxes every cable until nothing changes, without the host avoid.
func distances(from, avoid *host) map[*host]int {
	dist := map[*host]int{from: 0}
	for changed := true; changed; {
		changed = false
		for _, c := range from.w.wires {
			for _, e := range c.ends {
				a, b := e.host, e.peer().host
				d, ok := dist[a]
				if !c.working() || !ok || b == avoid || !a.cfg.Relay {
					continue
				}
				if old, ok := dist[b]; !ok || d+1 < old {
					dist[b] = d + 1
					changed = true
				}
			}
		}
	}
	return dist
}

// agrees tells whether every table is what the oracle says.
func (w *world) agrees() bool { return w.wrong() == nil }

// wrong is a host whose table isn't what the oracle says, nil if there is none.
func (w *world) wrong() *host {
	for _, h := range w.hosts {
		if !h.frozen && !maps.Equal(h.oracle(), h.table) {
			return h
		}
	}
	return nil
}

func (h *host) String() string {
	return fmt.Sprintf("host %d at %v s:\n got %v\nwant %v", h.index, h.w.now.Seconds(), h.table, h.oracle())
}

// total sums what f reads of the counters of all hosts.
func (w *world) total(f func(Counters) uint64) (sum uint64) {
	for _, h := range w.hosts {
		sum += f(h.router.Counters())
	}
	return sum
}

func newTrace() hash64 { return fnv.New64a() }
