package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Write returns one world as a scenario file with one system and one seed: what loads as that world again. Swept parameters are
// gone, since they have their values.
func Write(name, title, system string, seed uint64, notes []string, w *World) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("name: %s\ntitle: %q\n", name, title)
	if len(notes) > 0 {
		p("notes:\n")
		for _, n := range notes {
			p("  - %q\n", n)
		}
	}
	system, control, _ := strings.Cut(system, ":")
	p("systems: [%s]\n", system)
	if control != "" {
		p("cc: [%s]\n", control)
	}
	p("seeds: {first: %d, count: 1}\nlimit: %s\n%s\ntopology:\n  nodes:\n", seed, duration(w.Limit), w.settings())
	for _, n := range w.Nodes {
		mars := ""
		if n.MARS {
			mars = ", mars: true"
		}
		p("    - {name: %s, role: %s%s}\n", n.Name, n.Role, mars)
	}
	p("  links:\n")
	for _, l := range w.Links {
		p("    - {between: [%s, %s], name: %s", w.Nodes[l.A].Name, w.Nodes[l.B].Name, l.Name)
		if l.AB == l.BA {
			p(", %s}\n", l.AB.text())
		} else {
			p(", ab: {%s}, ba: {%s}}\n", l.AB.text(), l.BA.text())
		}
	}
	p("\nworkload:\n  flows:\n")
	for _, f := range w.Flows {
		p("    - {name: %s, consumer: %s, producer: %s", f.Name, w.Nodes[f.Consumer].Name, w.Nodes[f.Producer].Name)
		if f.Bytes > 0 {
			p(", size: %d B", f.Bytes)
		}
		if f.ChunkSize > 0 {
			p(", chunk: %d B", f.ChunkSize)
		}
		p(", group: %d, start: %s", f.Group, duration(f.Start))
		if f.Stop > 0 {
			p(", stop: %s", duration(f.Stop))
		}
		if f.Background != "" {
			p(", background: %s", f.Background)
		}
		if len(f.Paths) > 0 {
			p(", paths: %s", w.routes(f.Paths))
		}
		if len(f.Moves) > 0 {
			p(", moves: [%s]", w.movesText(f.Moves))
		}
		p("}\n")
	}
	if len(w.Faults) > 0 {
		p("\nfaults:\n")
	}
	for i := range w.Faults {
		p("  - {%s}\n", w.faultText(&w.Faults[i]))
	}
	return b.String()
}

func (d *Direction) text() string {
	s := fmt.Sprintf("rate: %s, delay: %s", rate(d.Rate), duration(d.Delay))
	var queue []string
	if d.Packets > 0 {
		queue = append(queue, fmt.Sprintf("%d packets", d.Packets))
	}
	if d.Bytes > 0 {
		queue = append(queue, fmt.Sprintf("%d B", d.Bytes))
	}
	s += fmt.Sprintf(", queue: %q", strings.Join(queue, ", "))
	if d.Jitter > 0 {
		s += ", jitter: " + duration(d.Jitter)
	}
	if d.MTU != defaultMTU {
		s += fmt.Sprintf(", mtu: %d", d.MTU)
	}
	switch d.Discipline {
	case CoDelMark:
		s += ", discipline: codel-mark"
	case RED:
		s += fmt.Sprintf(", red: {min: %d packets, max: %d packets, probability: %s}", d.MarkMin, d.MarkMax, fraction(d.MarkProb))
	}
	if l := d.Loss; l.BurstEnter > 0 {
		s += fmt.Sprintf(", loss: {random: %s, burst: {enter: %s, leave: %s, loss: %s}}",
			fraction(l.Random), fraction(l.BurstEnter), fraction(l.BurstLeave), fraction(l.BurstLoss))
	} else if l.Random > 0 {
		s += ", loss: " + fraction(l.Random)
	}
	return s
}

func (w *World) routes(paths [][]int) string {
	var all []string
	for _, p := range paths {
		all = append(all, w.route(p))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (w *World) route(path []int) string {
	var names []string
	for _, l := range path {
		names = append(names, w.Links[l].Name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func (w *World) faultText(f *Fault) string {
	s := fmt.Sprintf("kind: %s", f.Kind)
	if f.Link >= 0 && f.Kind.strikesLink() {
		s += ", link: " + w.Links[f.Link].Name
	}
	if f.Node >= 0 && f.Kind.strikesNode() {
		s += ", node: " + w.Nodes[f.Node].Name
	}
	s += ", at: " + duration(f.At)
	if f.After != "" {
		s += ", after: " + f.After
	}
	if f.For > 0 {
		s += ", for: " + duration(f.For)
	}
	switch f.Kind {
	case SetRate:
		s += ", value: " + rate(f.Value)
	case SetDelay:
		s += ", value: " + duration(time.Duration(math.Round(float64(f.Value*1e9))))
	case SetMTU:
		s += fmt.Sprintf(", value: %d", int(f.Value))
	case SetLoss, SetBurst, Reorder, Duplicate, Corrupt, Skew:
		s += ", value: " + fraction(f.Value)
	}
	return s
}

// duration writes a time in the largest unit in which it is whole.
func duration(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d%u.size == 0 {
			return fmt.Sprintf("%d%s", d/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dns", int64(d))
}

func rate(r float64) string {
	if m := r / 1e6; float64(m*1e6) == r {
		return fraction(m) + " Mbit/s"
	}
	return fraction(r) + " bit/s"
}

func fraction(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
