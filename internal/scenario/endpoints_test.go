package scenario

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// goesOn is a scenario of flows that go on, with every key of theirs.
const goesOn = `name: on
title: t
systems: [MPTCP-Oracle]
cc: [lia, ba-mpcubic]
limit: 60s
measure: {from: 5s, to: 50s, step: 500ms}
endpoints: {scheduler: roundrobin, ecn: $ecn, pace: true, buffer: 1 MiB}
sweep: {ecn: [0, 1]}
topology:
  link: {rate: 10 Mbit/s, delay: 5ms, queue: 100ms}
  nodes:
    - {name: c, role: consumer}
    - {name: r1, role: router}
    - {name: r2, role: router}
    - {name: p, role: producer}
  links:
    - {between: [c, r1]}
    - {between: [r1, p], rate: 4 Mbit/s}
    - {between: [c, r2]}
    - {between: [r2, p], ba: {rate: 2 Mbit/s}}
workload:
  flows:
    - {name: mp, consumer: c, producer: p, paths: [[c-r1, r1-p], [c-r2, r2-p]], moves: [{path: 2, to: [c-r1, r1-p], from: 20s, every: 10s}]}
    - {name: bg, consumer: c, producer: p, background: reno, start: 1s, stop: 40s, paths: [[c-r1, r1-p]]}
`

func TestFlowsThatGoOn(t *testing.T) {
	s, worlds := mustLoad(t, files{"s.yaml": goesOn})
	if diff := cmp.Diff([]string{"lia", "ba-mpcubic"}, s.Controls); diff != "" {
		t.Error(diff)
	}
	if len(worlds) != 2 {
		t.Fatalf("%d points", len(worlds))
	}
	w := &worlds[1]
	if want := (Endpoints{Scheduler: "roundrobin", ECN: true, Pace: true, Buffer: 1 << 20}); w.Endpoints != want || worlds[0].Endpoints.ECN {
		t.Errorf("%+v", w.Endpoints)
	}
	if want := (Measure{5 * time.Second, 50 * time.Second, 500 * time.Millisecond}); w.Measure != want {
		t.Errorf("%+v", w.Measure)
	}
	want := []Flow{
		{
			Name: "mp", Producer: 3, Paths: [][]int{{0, 1}, {2, 3}},
			Moves: []Move{{Path: 1, To: []int{0, 1}, From: 20 * time.Second, Every: 10 * time.Second}},
		},
		{Name: "bg", Producer: 3, Start: time.Second, Stop: 40 * time.Second, Background: "reno", Paths: [][]int{{0, 1}}},
	}
	if diff := cmp.Diff(want, w.Flows); diff != "" {
		t.Error(diff)
	}
	if got := w.Links[1].AB.Bytes; got != 50_000 { // 100 ms of 4 Mbit/s
		t.Errorf("a queue of %d bytes", got)
	}
}

// TestWriteFlowsThatGoOn: what Write writes loads as the same world.
func TestWriteFlowsThatGoOn(t *testing.T) {
	_, worlds := mustLoad(t, files{"s.yaml": goesOn})
	for i := range worlds {
		text := Write("again", "t", "MPTCP-Oracle:olia", 3, nil, &worlds[i])
		s, again := mustLoad(t, files{"s.yaml": text})
		want := worlds[i]
		want.Params = nil
		if diff := cmp.Diff(want, again[0]); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
		if diff := cmp.Diff([]string{"olia"}, s.Controls); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBadFlowsThatGoOn(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		kind           error
		want           string
	}{
		{"unknown control", "cc: [lia, ba-mpcubic]", "cc: [lia, ba-mpcubik]", ErrValue, `did you mean "ba-mpcubic"?`},
		{"control twice", "cc: [lia, ba-mpcubic]", "cc: [lia, lia]", ErrDuplicate, "lia is there twice"},
		{"unknown background", "background: reno", "background: rno", ErrValue, `did you mean "reno"?`},
		{"unknown scheduler", "scheduler: roundrobin", "scheduler: rr", ErrValue, "isn't known"},
		{"no switch", "sweep: {ecn: [0, 1]}", "sweep: {ecn: [0, 2]}", ErrValue, "neither true nor false"},
		{"huge buffer", "buffer: 1 MiB", "buffer: 2 GiB", ErrSize, "choose a smaller one"},
		{"window upside down", "from: 5s, to: 50s", "from: 50s, to: 5s", ErrValue, "let it end after its beginning"},
		{"window after the end", "to: 50s", "to: 70s", ErrValue, "the measurement ends at 1m10s"},
		{"no end", "from: 5s, to: 50s", "from: 5s", ErrMissing, "to isn't given"},
		{"tiny steps", "step: 500ms", "step: 1ns", ErrSize, "the limit is 100000"},
		{"stop before start", "stop: 40s", "stop: 500ms", ErrValue, "let it stop after its start"},
		{"no such path", "moves: [{path: 2", "moves: [{path: 3", ErrSize, "3 is too many"},
		{"move to nowhere", "to: [c-r1, r1-p], from", "to: [c-r1], from", ErrRoute, "the path ends at r1"},
		{"move without end", "to: [c-r1, r1-p], from: 20s", "from: 20s", ErrMissing, "to isn't given"},
		{"no size", "measure: {from: 5s, to: 50s, step: 500ms}\n", "", ErrMissing, "size isn't given"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(goesOn, c.old) {
				t.Fatal(c.old)
			}
			_, err := files{"s.yaml": strings.Replace(goesOn, c.old, c.new, 1)}.load()
			if err == nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v: %s", err, c.kind, c.want)
			}
		})
	}
}
