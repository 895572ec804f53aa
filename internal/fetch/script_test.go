package fetch

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/wire"
)

var update = flag.Bool("update", false, "write the scripts' results into testdata/script")

// TestScripts plays testdata/script/*.txt: lines that begin with > are commands, those with # say what they show, and the
// others are what happened, which must happen again. See script for the commands.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newScript(t)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				command, isCommand := strings.CutPrefix(line, "> ")
				if isCommand || strings.HasPrefix(line, "#") || line == "" {
					s.out.WriteString(line + "\n")
				}
				if isCommand {
					s.run(command)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(s.out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := s.out.String(); got != string(text) {
				t.Errorf("%s happens otherwise; see the difference with -update.\n%s", file, firstDifference(got, string(text)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// script plays commands:
//
//	object NAME SIZE [CHUNK]   the producer has this; a second time: it has another version now
//	start NAME [ahead=N] [stall=D]
//	accept NAME [claimed=A-B]
//	answer WHAT                Data comes for the Interests that wait; WHAT is "all", or labels and ranges of chunks: a/0-9
//	twice WHAT, corrupt WHAT   it comes twice, or with a wrong bit; the latter leaves the Interest waiting
//	lose WHAT                  nothing ever comes
//	nack REASON WHAT           the network refuses: congestion, noroute
//	say "CODE" WHAT            the producer refuses
//	settle WHAT, wrong WHAT    the application is done with chunks
//	hold, release              the application leaves chunks lying, or settles all at once (as it does at first)
//	wait D                     time passes
//	cancel NAME, stats NAME
type script struct {
	t       *testing.T
	e       *Engine
	p       producer
	now     machine.Time
	out     strings.Builder
	ids     map[string]ID
	names   map[ID]string
	waiting []question // Interests without an answer, each once, in order of the last sending
	here    map[string]Event
	held    bool
	run1    sends
	buf     [wire.MaxPacket]byte
}

func newScript(t *testing.T) *script {
	return &script{
		t: t, e: New(Config{Src: source, MaxUnsettled: 20}), ids: map[string]ID{}, names: map[ID]string{}, here: map[string]Event{},
	}
}

// sends is a run of Interests for consecutive chunks.
type sends struct {
	from, to    machine.Time
	object      string
	first, last int64
}

func (s *script) say(format string, args ...any) {
	s.flush()
	fmt.Fprintf(&s.out, format+"\n", args...)
}

func (s *script) flush() {
	r := s.run1
	s.run1 = sends{}
	switch {
	case r.object == "":
	case r.first == r.last:
		fmt.Fprintf(&s.out, "%s → %s/%d\n", clock(r.from), r.object, r.first)
	default:
		fmt.Fprintf(&s.out, "%s…%s → %s/%d-%d\n", clock(r.from), clock(r.to), r.object, r.first, r.last)
	}
}

func clock(at machine.Time) string {
	return strconv.FormatFloat(float64(at)/1e6, 'f', 1, 64)
}

// run plays one command.
func (s *script) run(command string) {
	verb, rest, _ := strings.Cut(command, " ")
	args := strings.Fields(rest)
	switch verb {
	case "object":
		s.object(args)
	case "start":
		s.start(args)
	case "accept":
		s.accept(args)
	case "answer", "twice", "corrupt", "lose", "nack", "say":
		s.network(verb, args)
	case "settle", "wrong":
		for _, label := range s.chosen(args, slices.Sorted(keys(s.here))) {
			s.settle(label, verb == "settle")
		}
	case "hold":
		s.held = true
	case "release":
		s.held = false
		for _, label := range s.chosen([]string{"all"}, slices.Sorted(keys(s.here))) {
			s.settle(label, true)
		}
	case "wait":
		s.wait(args[0])
	case "cancel":
		s.e.Cancel(s.now, s.ids[args[0]])
	case "stats":
		st := s.e.Stats(s.ids[args[0]])
		s.say("%d bytes, %d resumed, %d corrupt, %d resent; W %.3f, R %.0f, RTT %s, %d in flight", st.Bytes, st.Resumed,
			st.Corrupt, st.Resent, st.Window, st.Rate, clock(st.RTT), st.InFlight)
	default:
		s.t.Fatalf("no such command: %s", command)
	}
	s.drain()
	s.flush()
}

func keys(m map[string]Event) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) duration(text string) machine.Time {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return machine.Time(d)
}

func (s *script) object(args []string) {
	chunkSize := 0
	if len(args) > 2 {
		chunkSize = s.number(args[2])
	}
	o := newObject("/s/"+args[0], s.number(args[1]), chunkSize, uint64(len(s.p.objects)))
	s.p.objects = slices.Insert(s.p.objects, 0, o) // find takes the newest
}

func (s *script) start(args []string) {
	r := Request{Name: wire.MustParseName("/s/" + args[0])}
	for _, a := range args[1:] {
		if v, ok := strings.CutPrefix(a, "ahead="); ok {
			r.MaxAhead = int64(s.number(v))
		} else if v, ok := strings.CutPrefix(a, "stall="); ok {
			r.Stall = s.duration(v)
		}
	}
	id := s.e.Start(s.now, r)
	s.ids[args[0]], s.names[id] = id, args[0]
}

func (s *script) accept(args []string) {
	var claimed func(int64) bool
	if len(args) > 1 {
		from, to, _ := strings.Cut(strings.TrimPrefix(args[1], "claimed="), "-")
		first, last := int64(s.number(from)), int64(s.number(to))
		claimed = func(i int64) bool { return i >= first && i <= last }
	}
	s.e.Accept(s.now, s.ids[args[0]], claimed)
}

// chosen is those of the labels that the arguments name, in order.
func (s *script) chosen(args, labels []string) (list []string) {
	for _, a := range args {
		n := len(list)
		object, span, _ := strings.Cut(a, "/")
		from, to, isRange := strings.Cut(span, "-")
		for _, l := range labels {
			o, number, _ := strings.Cut(l, "/")
			i, err := strconv.Atoi(number)
			inRange := isRange && err == nil && o == object && i >= s.number(from) && i <= s.number(to)
			if (a == "all" || a == l || inRange) && !slices.Contains(list, l) {
				list = append(list, l)
			}
		}
		if len(list) == n && a != "all" {
			s.t.Fatalf("%s: there is none among %v", a, labels)
		}
	}
	return list
}

// network is what comes back, or doesn't.
func (s *script) network(verb string, args []string) {
	reason := ""
	if verb == "nack" || verb == "say" {
		reason, args = args[0], args[1:]
	}
	if verb == "say" && strings.HasPrefix(reason, `"`) {
		for !strings.HasSuffix(reason, `"`) {
			reason, args = reason+" "+args[0], args[1:]
		}
		reason = strings.Trim(reason, `"`)
	}
	var labels []string
	for _, q := range s.waiting {
		labels = append(labels, s.p.label(q))
	}
	for _, label := range s.chosen(args, labels) {
		i := slices.IndexFunc(s.waiting, func(q question) bool { return s.p.label(q) == label })
		q := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		switch verb {
		case "answer":
			s.receive(s.p.answer(q))
		case "twice":
			s.receive(s.p.answer(q))
			s.receive(s.p.answer(q))
		case "corrupt":
			s.receive(corrupt(s.p.answer(q)))
		case "nack":
			s.receive(s.p.nack(q, map[string]wire.NackReason{"congestion": wire.NackCongestion, "noroute": wire.NackNoRoute}[reason]))
		case "say":
			s.receive(s.p.refuse(q, reason))
		}
	}
}

func (s *script) receive(datagram []byte) {
	s.e.Receive(s.now, Face, machine.NotECT, datagram)
	s.events()
}

// wait lets time pass, with every deadline on the way.
func (s *script) wait(d string) {
	end := s.now + s.duration(d)
	s.drain()
	for s.e.Deadline() <= end {
		s.now = s.e.Deadline()
		s.e.Advance(s.now)
		s.drain()
	}
	s.now = end
	s.e.Advance(s.now)
}

// drain takes what the engine has to send and to tell.
func (s *script) drain() {
	s.events()
	for len(s.e.Ready(nil)) > 0 {
		n, _ := s.e.Transmit(s.now, Face, s.buf[:])
		if n > 0 {
			s.sent(parse(s.buf[:n]))
		}
		s.events()
	}
	if at := s.e.Deadline(); at <= s.now {
		s.t.Fatalf("at %s: drained, and the deadline is %s", clock(s.now), clock(at))
	}
}

func (s *script) sent(q question) {
	label := s.p.label(q)
	s.waiting = slices.DeleteFunc(s.waiting, func(w question) bool { return s.p.label(w) == label })
	s.waiting = append(s.waiting, q)
	object, _, _ := strings.Cut(label, "/")
	if r := &s.run1; q.kind == chunk && r.object == object && r.last+1 == q.index {
		r.to, r.last = s.now, q.index
		return
	}
	if q.kind == chunk {
		s.flush()
		s.run1 = sends{s.now, s.now, object, q.index, q.index}
		return
	}
	s.say("%s → %s", clock(s.now), label)
}

// events tells what happened, chunks in one line.
func (s *script) events() {
	var came []string
	for list := s.e.Events(nil); len(list) > 0; list = append(list[1:], s.e.Events(nil)...) {
		ev := list[0]
		name := s.names[ev.ID]
		switch ev.Kind {
		case Resolved:
			s.say("%s: %d bytes in %d chunks", name, ev.Object.Layout.Size, ev.Object.Layout.Chunks())
		case Chunk:
			label := fmt.Sprintf("%s/%d", name, ev.Chunk)
			s.here[label] = ev
			what := label
			if ev.Data == nil {
				what += " claimed"
			}
			came = append(came, what)
			if !s.held {
				s.settle(label, ev.Data == nil || sha256.Sum256(ev.Data) == ev.Want)
			}
		default:
			if came != nil {
				s.say("← %s", strings.Join(came, " "))
				came = nil
			}
			s.say("%s: %s", name, map[bool]string{true: "done", false: fmt.Sprint(ev.Err)}[ev.Kind == Done])
		}
	}
	if came != nil {
		s.say("← %s", strings.Join(came, " "))
	}
}

// settle is the application's answer to a chunk.
func (s *script) settle(label string, ok bool) {
	ev := s.here[label]
	delete(s.here, label)
	s.e.Settle(s.now, ev.ID, ev.Chunk, ev.Data, ok)
}
