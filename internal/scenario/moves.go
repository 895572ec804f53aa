package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Move changes one of a flow's routes again and again: at From it becomes To, after Every what it was before, and so on. The hosts
// aren't told.
type Move struct {
	Path  int   // index into Flow.Paths
	To    []int // indices into World.Links from consumer to producer
	From  time.Duration
	Every time.Duration // 0: it stays
}

// move reads a change of a route of f.
func (b *builder) move(key string, v *value, f *Flow) {
	s := b.d.section(key, v)
	var m Move
	ok := need(s, "path", "2", &m.Path, integer(1, max(len(f.Paths), 1)))
	ok = need(s, "from", "20s", &m.From, parseDuration) && ok
	read(s, "every", &m.Every, parsePositiveDuration)
	m.Path--
	if to := s.get("to"); to == nil {
		s.missing("to", "[c-r2, r2-p]")
	} else if path, good := b.path(s.sub("to"), to, f); ok && good {
		m.To = path
		f.Moves = append(f.Moves, m)
	}
	if len(f.Paths) == 0 {
		b.d.fail(s.at, s.key, ErrRoute, "list the flow's paths", "a move needs paths to change")
	}
	s.done()
}

func (w *World) movesText(moves []Move) string {
	var all []string
	for _, m := range moves {
		s := fmt.Sprintf("{path: %d, to: %s, from: %s", m.Path+1, w.route(m.To), duration(m.From))
		if m.Every > 0 {
			s += ", every: " + duration(m.Every)
		}
		all = append(all, s+"}")
	}
	return strings.Join(all, ", ")
}

// Route is what path k of the flow is at a time.
func (f *Flow) Route(k int, at time.Duration) []int {
	route := f.Paths[k]
	for i := range f.Moves {
		m := &f.Moves[i]
		if m.Path != k || at < m.From {
			continue
		}
		if m.Every == 0 || (at-m.From)/m.Every%2 == 0 {
			route = m.To
		}
	}
	return route
}

// Changes are the times before end at which routes of the flow change, in order.
func (f *Flow) Changes(end time.Duration) (all []time.Duration) {
	for _, m := range f.Moves {
		for at := m.From; at < end; at += m.Every {
			all = append(all, at)
			if m.Every == 0 {
				break
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Bottleneck is the direction of a link, 2·index for AB and one more for BA, that is the slowest of a route on the way to the
// consumer; of several the one next to the producer.
func (w *World) Bottleneck(f *Flow, route []int) int {
	at, slowest, least := f.Consumer, -1, 0.0
	for _, i := range route {
		l := &w.Links[i]
		direction, d := 2*i, &l.AB
		if l.A == at { // data come from B
			direction, d = 2*i+1, &l.BA
		}
		if slowest < 0 || d.Rate <= least {
			slowest, least = direction, d.Rate
		}
		at, _ = l.other(at)
	}
	return slowest
}
