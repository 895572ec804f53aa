package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// patience is how long processes may take to be ready, with all faces up.
const patience = 20 * time.Second

// play runs one system once.
func (n *network) play(ctx context.Context, s system, seed uint64, opt Options) (o outcome, err error) {
	runtime.GC()
	if err := n.reset(seed); err != nil {
		return o, err
	}
	p, err := n.newPlan(s)
	if err == nil {
		err = p.fillKeys(opt.Binary)
	}
	if err == nil {
		err = p.install()
	}
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, p.uninstall()) }()
	r := &round{n: n, p: p, opt: opt, events: make(chan toldEvent, 256), o: &o, sent: map[string]segments{}}
	o.Run.Seed = seed
	for i := range n.w.Flows {
		f := &n.w.Flows[i]
		o.Run.Flows = append(o.Run.Flows, scenario.FlowResult{Name: f.Name, Group: f.Group, T95: -1, T95AfterDiscovery: -1, T100: -1, DiscoveryMS: -1})
	}
	defer r.end()
	if err := r.start(ctx); err != nil {
		return o, err
	}
	waited, sent := r.waits(), r.segments()
	if err := r.watch(ctx); err != nil {
		return o, err
	}
	r.judgeWaits(r.waits().minus(waited))
	err = r.count()
	r.end()
	r.judge(sent)
	return o, err
}

// What a run that counts may suffer, in the scenario's time.
const (
	maxWait = 200 * time.Microsecond // that a thread of a process waits for a processor, on average
	maxLate = time.Millisecond       // that one packet in a thousand comes late
)

// waits are those of all processes.
func (r *round) waits() (sum waits) {
	for _, w := range r.workers {
		one := waitsOf(w.cmd.Process.Pid)
		sum = waits{sum.time + one.time, sum.turns + one.turns}
	}
	return sum
}

// judgeWaits says whether processes were held up, by each other or by whatever else runs here.
func (r *round) judgeWaits(w waits) {
	r.o.Wait = w.mean()
	if mean := time.Duration(float64(r.o.Wait) / r.n.emulator.scale); mean > maxWait {
		r.o.Held = append(r.o.Held, fmt.Sprintf("processes waited %v for a processor, of the scenario's time", mean.Round(time.Microsecond)))
	}
}

// reset makes all links what they were at first, for a run with that seed.
func (n *network) reset(seed uint64) error {
	return n.emulator.do(func(now machine.Time) {
		for i, p := range n.pipes {
			fresh := newPipe(p.name, *direction(n.w, i), seed)
			p.swallow(now)
			fresh.ring, fresh.head, fresh.n, fresh.gone, fresh.wait = p.ring, p.head, p.n, p.gone, p.wait
			for k := range fresh.n {
				fresh.at(k).lost = true // packets of the run before
			}
			*p = *fresh
			_ = unix.IoctlSetPointerInt(n.emulator.devices[i], unix.TUNSETCARRIER, 1) // where it can't be switched it is on
		}
		n.emulator.late = histogram{}
	})
}

// round is one run while it goes on.
type round struct {
	n       *network
	p       *plan
	opt     Options
	workers []*worker
	events  chan toldEvent
	o       *outcome
	began   time.Time
	sent    map[string]segments // that hosts told of
}

// start starts all processes, waits until they are ready and has them begin at the same moment.
func (r *round) start(ctx context.Context) error {
	var hosts []int
	for host := range r.p.jobs { // order: sorted below
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	for _, host := range hosts {
		j := r.p.jobs[host]
		w, err := r.n.startWorker(r.opt.Binary, r.n.namespace(host), j, r.opt.Env, r.events)
		if w != nil {
			r.workers = append(r.workers, w)
		}
		if err != nil {
			return err
		}
	}
	late := time.After(time.Duration(float64(patience) * r.n.emulator.scale))
	for ready := 0; ready < len(r.workers); {
		select {
		case e := <-r.events:
			switch {
			case e.Event == nil:
				return e.from.why()
			case e.Event.Event == "ready":
				ready++
			case e.Event.Event == "failed":
				return fmt.Errorf("%s: %s", e.from.job.Host, e.Why)
			}
		case <-late:
			return fmt.Errorf("only %d of %d hosts were ready in time", ready, len(r.workers))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	hurry(true)
	r.began = time.Now().Add(100 * time.Millisecond)
	for _, w := range r.workers {
		if err := w.begin(r.began); err != nil {
			return errors.Join(err, w.why())
		}
	}
	return nil
}

// dilated is the real time that a span of the scenario's takes.
func (r *round) dilated(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.n.emulator.scale)
}

// change is the begin or end of a fault.
type change struct {
	at     time.Duration // from the beginning
	fault  *scenario.Fault
	begins bool
}

// changes lists what the faults do, in order of time. Those after a flow's discovery count from its start: nobody outside can see
// discovery.
func (r *round) changes() (all []change) {
	for i := range r.n.w.Faults {
		f := &r.n.w.Faults[i]
		at := f.At
		if f.After != "" {
			at += r.n.w.Flows[r.n.w.FlowIndex(f.After)].Start
		}
		all = append(all, change{at, f, true})
		if f.For > 0 {
			all = append(all, change{at + f.For, f, false})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return int(a.at - b.at) })
	return all
}

// watch takes in events, and does what the faults say, until all flows are over or the limit is reached.
func (r *round) watch(ctx context.Context) error {
	changes := r.changes()
	limit := time.After(time.Until(r.began) + r.dilated(r.n.w.Limit))
	left := len(r.n.w.Flows)
	for left > 0 {
		var next <-chan time.Time
		if len(changes) > 0 {
			next = time.After(time.Until(r.began.Add(r.dilated(changes[0].at))))
		}
		select {
		case e := <-r.events:
			switch {
			case e.Event == nil:
				return e.from.why()
			case e.Event.Event == "flow":
				r.flow(e.Event)
				left--
			case e.Event.Event == "sent":
				r.tellsSent(e)
			case e.Event.Event == "failed":
				r.opt.Log("%s: %s", e.from.job.Host, e.Why)
				left--
			}
		case <-next:
			if err := r.strike(changes[0].fault, changes[0].begins); err != nil {
				return err
			}
			changes = changes[1:]
		case <-limit:
			r.o.Run.SimSeconds = r.n.w.Limit.Seconds()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.o.Run.WallSecond = time.Since(r.began).Seconds()
	r.o.Run.SimSeconds = r.o.Run.WallSecond / r.n.emulator.scale
	return nil
}

// flow takes over what a process says of a flow.
func (r *round) flow(e *Event) {
	k := r.n.emulator.scale
	f := &r.o.Run.Flows[e.Flow]
	f.T95, f.T100 = e.T95/k, e.T100/k
	f.Goodput = float64(r.n.w.Flows[e.Flow].Bytes) * 8 / 1e6 / f.T100
	f.Paths, f.Requests, f.Resent, f.Corrupt = e.Paths, e.Requests, e.Resent, e.Corrupt
	f.SeriesStep = e.StepS / k
	for _, v := range e.SeriesMbs {
		f.Series = append(f.Series, float64(int64(v*k*100))/100)
	}
}

// judge says why the run doesn't count, if it doesn't: subflows that never came.
func (r *round) judge(before map[int]segments) {
	for i := range r.o.Run.Flows {
		f := &r.o.Run.Flows[i]
		if want := r.wanted(i); r.p.s.multipath() && f.T100 >= 0 && f.Paths != want {
			r.o.Invalid = append(r.o.Invalid, fmt.Sprintf("%s has %d subflows instead of %d", f.Name, f.Paths, want))
		}
	}
	if r.p.s.mars {
		return
	}
	for producer, after := range r.segments() { // order: each has its own flows
		if r.p.s.ours() {
			after, before[producer] = r.sent[r.n.w.Nodes[producer].Name], segments{}
		}
		var own []*scenario.FlowResult
		for i := range r.n.w.Flows {
			if r.n.w.Flows[i].Producer == producer {
				own = append(own, &r.o.Run.Flows[i])
			}
		}
		for _, f := range own { // the kernel counts for the host: its flows share evenly
			f.Resent = (after.resent - before[producer].resent) / int64(len(own))
			f.Requests = (after.sent-before[producer].sent)/int64(len(own)) - f.Resent
		}
	}
}

func (r *round) wanted(flow int) int {
	for _, j := range r.p.jobs {
		for _, f := range j.Fetches {
			if f.Flow == flow {
				return f.Paths
			}
		}
	}
	return 0
}

// tellsSent adds up what a host's connections sent.
func (r *round) tellsSent(e toldEvent) {
	sum := r.sent[e.from.job.Host]
	r.sent[e.from.job.Host] = segments{sum.sent + e.Requests + e.Resent, sum.resent + e.Resent}
}

// segments are what a host's TCP has sent so far (RFC 4022: tcpOutSegs and tcpRetransSegs), or its QUIC.
type segments struct{ sent, resent int64 }

// segments reads those of all producers.
func (r *round) segments() map[int]segments {
	all := map[int]segments{}
	for i := range r.n.w.Flows {
		host := r.n.w.Flows[i].Producer
		if _, ok := all[host]; ok || r.p.s.mars {
			continue
		}
		var text []byte
		err := inside(r.n.namespace(host), func() (err error) {
			text, err = os.ReadFile("/proc/thread-self/net/snmp")
			return err
		})
		if err == nil {
			all[host] = parseSegments(string(text))
		}
	}
	return all
}

func parseSegments(text string) (s segments) {
	var titles []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Tcp:" {
			continue
		}
		if titles == nil {
			titles = fields
			continue
		}
		for i, title := range titles {
			v, _ := strconv.ParseInt(fields[i], 10, 64) // −1 where there is no number
			switch title {
			case "OutSegs":
				s.sent = v
			case "RetransSegs":
				s.resent = v
			}
		}
	}
	return s
}

// count reads the links' books.
func (r *round) count() error {
	return r.n.emulator.do(func(machine.Time) {
		for i, p := range r.n.pipes {
			c := p.counts
			r.o.Run.LinkBytes += c.bytes
			r.o.Run.LinkDrops += c.drops + c.big
			r.o.Run.LinkLosses += c.losses
			r.o.Run.Events += c.packets
			l := &r.n.w.Links[i/2]
			a, b := l.A, l.B
			if i%2 == 1 {
				a, b = b, a
			}
			if r.n.w.Nodes[a].Role == scenario.Consumer {
				r.o.From += c.bytes
			}
			if r.n.w.Nodes[b].Role == scenario.Consumer {
				r.o.Into += c.bytes
			}
		}
		r.o.Late = r.n.emulator.late.quantile(0.999)
		if late := time.Duration(float64(r.o.Late) / r.n.emulator.scale); late > maxLate {
			r.o.Held = append(r.o.Held, fmt.Sprintf("one packet in a thousand came %v late, of the scenario's time", late.Round(time.Microsecond)))
		}
	})
}

// end ends all processes.
func (r *round) end() {
	if r.workers == nil {
		return
	}
	done, drained := make(chan struct{}), make(chan struct{})
	go func() { // events of processes that end have nobody to go to
		for {
			select {
			case e := <-r.events:
				if e.Event != nil && e.Event.Event == "sent" {
					r.tellsSent(e)
				}
			case <-done:
				close(drained)
				return
			}
		}
	}()
	for _, w := range r.workers {
		w.in.Close()
	}
	for _, w := range r.workers {
		w.end()
		r.o.CPU += max(w.used, 0)
	}
	close(done)
	<-drained
	r.workers = nil
	r.n.state.Processes = nil
}
