package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mars/internal/bound"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// Run runs every point of a scenario with every system and every seed, one after the other. Each point's links are calibrated
// first, all loaded; ErrTooFast says that this machine can't hold them.
func Run(ctx context.Context, s *scenario.Scenario, opt Options) (*scenario.Result, error) {
	if err := Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLab, err)
	}
	if opt.Log == nil {
		opt.Log = func(string, ...any) {}
	}
	release, err := alone(ctx, opt.Log)
	if err != nil {
		return nil, err
	}
	defer release()
	if opt.Seeds.Count == 0 {
		opt.Seeds = s.Seeds
	}
	worlds, err := chooseWorlds(s, opt.Points)
	if err != nil {
		return nil, err
	}
	chosen, missing, err := chooseSystems(s, opt.Systems)
	if err != nil {
		return nil, err
	}
	r := &scenario.Result{SchemaVersion: scenario.SchemaVersion, Scenario: s.Name, Title: s.Title, Manifest: manifest(s, opt)}
	for _, m := range missing {
		r.Manifest.Notes = append(r.Manifest.Notes, m+" isn't in the lab yet and is left out")
	}
	st := &study{s: s, opt: opt, r: r, systems: chosen, total: len(worlds) * len(chosen) * opt.Seeds.Count, cpu: map[string]*usage{}}
	if opt.Progress != nil {
		opt.Progress(0, st.total)
	}
	for i := range worlds {
		if err := st.point(ctx, &worlds[i]); err != nil {
			return nil, err
		}
	}
	st.tellUsage()
	slices.Sort(r.Manifest.Invalid)
	r.Manifest.Invalid = slices.Compact(r.Manifest.Invalid)
	return r, nil
}

func chooseWorlds(s *scenario.Scenario, want map[string]float64) ([]scenario.World, error) {
	worlds, err := s.Worlds()
	if err != nil {
		return nil, err
	}
	worlds = slices.DeleteFunc(worlds, func(w scenario.World) bool {
		have := w.ParamMap()
		for name := range want { // order: all must hold
			if v, ok := have[name]; !ok || v != want[name] {
				return true
			}
		}
		return false
	})
	if len(worlds) == 0 {
		return nil, fmt.Errorf("%w: no point of the sweep has these parameters", ErrNothing)
	}
	for i := range worlds {
		if err := checkFaults(&worlds[i]); err != nil {
			return nil, err
		}
	}
	return worlds, nil
}

func chooseSystems(s *scenario.Scenario, asked []string) (chosen []system, missing []string, err error) {
	names := asked
	if names == nil {
		names = s.Systems
	}
	for _, name := range names {
		sys, err := findSystem(name)
		switch {
		case err == nil:
			chosen = append(chosen, sys)
		case asked != nil:
			return nil, nil, err
		default:
			missing = append(missing, name)
		}
	}
	if len(chosen) == 0 {
		return nil, nil, fmt.Errorf("%w: none of the scenario's systems is in the lab", ErrNothing)
	}
	return chosen, missing, nil
}

// study is a Run while it goes on.
type study struct {
	s       *scenario.Scenario
	opt     Options
	r       *scenario.Result
	systems []system
	done    int
	total   int
	cpu     map[string]*usage
}

// usage is what a system's processes took, over all runs.
type usage struct{ seconds, bytes float64 }

// point builds a point's network, calibrates it and runs everything over it.
func (st *study) point(ctx context.Context, w *scenario.World) (err error) {
	n, c, err := st.build(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	m := &st.r.Manifest
	m.Dilation = n.emulator.scale
	m.Notes = append(m.Notes, "Calibration: "+c.String())
	m.Invalid = append(m.Invalid, c.Problems...)
	class := ""
	if err := n.emulator.do(func(machine.Time) { class = n.emulator.class }); err != nil {
		return err
	}
	p := scenario.Point{Params: w.ParamMap(), Paper: st.s.PaperAt(w)}
	if p.Bounds, err = bound.Of(w, bound.Options{}); err != nil {
		return fmt.Errorf("bound: %w", err)
	}
	outcomes := make([][]outcome, len(st.systems))
	for k := range st.opt.Seeds.Count {
		for i, s := range st.systems {
			o, err := st.one(ctx, n, s, st.opt.Seeds.First+uint64(k))
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", s.name, st.opt.Seeds.First+uint64(k), err)
			}
			outcomes[i] = append(outcomes[i], o)
			st.done++
			if st.opt.Progress != nil {
				st.opt.Progress(st.done, st.total)
			}
		}
	}
	m.Notes = append(m.Notes, priorities(class, n.unpromoted), held(st.systems, outcomes, n.emulator.scale))
	if again := repeated(outcomes); again > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("Runs made again because this machine held them up, whatever they brought: %d", again))
	}
	for i, s := range st.systems {
		sys, err := st.conclude(w, &p, s, outcomes[i])
		if err != nil {
			return err
		}
		p.Systems = append(p.Systems, sys)
	}
	st.r.Points = append(st.r.Points, p)
	return nil
}

// priorities tells who came before whom.
func priorities(emulator string, failed error) string {
	if failed != nil {
		return fmt.Sprintf("Priorities: the emulator has %s, processes none (%v)", emulator, failed)
	}
	return fmt.Sprintf("Priorities: the emulator has %s; processes have nice %d, each in a session of that nice value", emulator, ahead)
}

// held tells what held systems up, over all their runs, in the scenario's time.
func held(systems []system, outcomes [][]outcome, scale float64) string {
	var all []string
	for i, s := range systems {
		late, wait := time.Duration(0), time.Duration(0)
		for _, o := range outcomes[i] {
			late, wait = max(late, o.Late), max(wait, o.Wait)
		}
		scaled := func(d time.Duration) time.Duration {
			return time.Duration(float64(d) / scale).Round(time.Microsecond)
		}
		all = append(all, fmt.Sprintf("%s %v and %v", s.name, scaled(late), scaled(wait)))
	}
	return "Lateness of one packet in a thousand and mean wait of a thread for a processor, in the worst run, of the scenario's time: " + strings.Join(all, ", ")
}

// tries is how often a run is made at most.
const tries = 4

// repeated counts the runs that were thrown away.
func repeated(outcomes [][]outcome) (n int) {
	for _, o := range slices.Concat(outcomes...) {
		n += max(o.Tries-1, 0)
	}
	return n
}

// unheld makes a run until the machine doesn't hold it up: one that was held up says nothing of the system, whatever it brought. The
// last try stays as it is.
func unheld(run func() (outcome, error), log func(string, ...any)) (o outcome, err error) {
	for try := 1; try == 1 || len(o.Held) > 0 && try <= tries; try++ {
		if o, err = run(); err != nil {
			return o, err
		}
		if o.Tries = try; len(o.Held) > 0 {
			log("try %d of %d: %s", try, tries, strings.Join(o.Held, "; "))
		}
	}
	return o, nil
}

// one is the outcome of one run, unless it is on record already. What the machine held up doesn't go on record.
func (st *study) one(ctx context.Context, n *network, s system, seed uint64) (outcome, error) {
	r := records{dir: st.opt.Runs, hash: st.r.Manifest.ScenarioHash}
	path := r.path(n.w.ParamMap(), n.emulator.scale, s.name, seed)
	if o, ok := r.load(path); ok {
		return o, nil
	}
	o, err := unheld(func() (outcome, error) { return n.play(ctx, s, seed, st.opt) }, func(format string, args ...any) {
		st.opt.Log("%s, seed %d, "+format, append([]any{s.name, seed}, args...)...)
	})
	if err != nil || len(o.Held) > 0 {
		return o, err
	}
	return o, r.save(path, o)
}

// dilations are tried one after the other until the links pass.
var dilations = []float64{1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// build makes the network at the dilation asked for, or at the smallest that fits.
func (st *study) build(w *scenario.World) (*network, *Calibration, error) {
	asked := st.opt.Dilation
	var first *Calibration
	for _, k := range dilations {
		switch {
		case asked > 0 && first == nil:
			k = asked
		case asked > 0 && k <= asked, asked == 0 && k < st.r.Manifest.Dilation:
			continue
		}
		n, err := newNetwork(w, st.opt.Seeds.First, k)
		if err != nil {
			return nil, nil, err
		}
		span := st.opt.Span
		if span == 0 {
			span = time.Second
		}
		c, err := n.calibrate(objectDirections(w), span)
		if err != nil {
			return nil, nil, errors.Join(err, n.close())
		}
		st.opt.Log("calibration: %v", c)
		fits := len(c.Problems) == 0
		if fits && (asked == 0 || first == nil) || asked > 0 && st.opt.Anyway {
			return n, c, nil
		}
		if err := n.close(); err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = c
		}
		if fits {
			return nil, nil, &ErrTooFast{first, k}
		}
	}
	return nil, nil, &ErrTooFast{first, 0}
}

// conclude computes the limit and the summary of one system.
func (st *study) conclude(w *scenario.World, p *scenario.Point, s system, outcomes []outcome) (scenario.System, error) {
	sys := scenario.System{Name: s.name}
	payload, into, from, again := 0.0, 0.0, 0.0, 0.0
	requests := 0.0
	u := st.cpu[s.name]
	if u == nil {
		u = &usage{}
		st.cpu[s.name] = u
	}
	for _, o := range outcomes {
		for i, f := range o.Run.Flows {
			if f.T100 >= 0 {
				payload += float64(w.Flows[i].Bytes)
			}
			requests, again = requests+float64(f.Requests), again+float64(f.Resent)
		}
		into, from = into+float64(o.Into), from+float64(o.From)
		for _, why := range slices.Concat(o.Invalid, o.Held) {
			st.r.Manifest.Invalid = append(st.r.Manifest.Invalid, fmt.Sprintf("%s, seed %d: %s", s.name, o.Run.Seed, why))
		}
		if err := bound.Check(w, p.Bounds, o.Run); err != nil {
			st.r.Manifest.Invalid = append(st.r.Manifest.Invalid, fmt.Sprintf("%s, seed %d: %v", s.name, o.Run.Seed, err))
		}
		u.seconds += o.CPU
		sys.Runs = append(sys.Runs, o.Run)
	}
	u.bytes += payload
	first := 1 - again/max(requests+again, 1) // of what was sent
	cost := bound.Cost{Data: max(into/max(payload, 1)*first, 1), Interest: from / max(payload, 1) * first}
	routed, own := *w, slices.Clone(w.Flows)
	if s.routes != nil {
		for i := range own {
			own[i].Paths = s.routes(w, i)
			cost.Paths = max(cost.Paths, len(own[i].Paths))
		}
		routed.Flows = own
	}
	var err error
	if sys.Wire, err = bound.Wire(&routed, cost); err != nil {
		return sys, fmt.Errorf("%s: bound: %w", s.name, err)
	}
	sys.Summary = scenario.Summarise(w, sys.Wire, sys.Runs)
	return sys, nil
}

// tellUsage notes what the systems' processes cost. What the kernel does for them while packets arrive is the emulator's time.
func (st *study) tellUsage() {
	var all []string
	for _, s := range st.systems {
		if u := st.cpu[s.name]; u != nil && u.bytes > 0 {
			all = append(all, fmt.Sprintf("%s %.1f", s.name, u.seconds/(u.bytes/1e9)))
		}
	}
	if len(all) > 0 {
		st.r.Manifest.Notes = append(st.r.Manifest.Notes, "Processor seconds per GB, of all processes of all hosts: "+strings.Join(all, ", "))
	}
}

// manifest says what is run, where and how.
func manifest(s *scenario.Scenario, opt Options) scenario.Manifest {
	m := scenario.Manifest{
		Runner: "lab", ScenarioHash: s.Hash(), FirstSeed: opt.Seeds.First, Seeds: opt.Seeds.Count,
		GOARCH: runtime.GOARCH, GOOS: runtime.GOOS, Encrypted: true, Notes: slices.Clone(s.Notes), Sysctls: map[string]string{},
	}
	m.Notes = append(m.Notes,
		"Lab: faces of MARS and QUIC are encrypted, TCP and MPTCP aren't. T95 is interpolated between looks 10 ms apart. Paths are faces that brought content, or subflows; times after discovery aren't known.",
		"MPTCP in the lab: every address of the producer is announced, and again after 1 s without an echo (net.mptcp.add_addr_timeout); QUIC is quic-go, whose congestion control is Reno.",
		"MPQUIC in the lab is the simulator's own endpoint code over UDP sockets, in a process per host: no other implementation of multipath QUIC was at hand. It isn't encrypted; its handshake and acknowledgements are real bytes.",
		"Kernel constants that time dilation doesn't stretch: TCP's least RTO (200 ms), delayed acknowledgements (40 ms), pacing of BBR's probes.")
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		m.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = fmt.Sprintf("%d × %s", runtime.NumCPU(), strings.TrimSpace(v))
				break
			}
		}
	}
	for _, name := range []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.core.rmem_max", "net.core.wmem_max", "net.mptcp.scheduler"} {
		if v, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/")); err == nil {
			m.Sysctls[name] = strings.Join(strings.Fields(string(v)), " ")
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		one, _, _ := strings.Cut(string(load), " ")
		m.Notes = append(m.Notes, "Load average of the machine when the lab began: "+one)
	}
	return m
}
