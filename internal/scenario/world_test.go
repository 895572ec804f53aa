package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everything uses every key that isn't a generator's.
const everything = `name: everything
title: every key
notes: one
systems: [MARS-paper, TCP]
seeds: {first: 7, count: 2}
limit: 2 min
series: 100ms
sweep:
  loss: [0, 0.1%]
  rate: [20 Mbit/s, 40 Mbit/s]
topology:
  link: {rate: $rate, delay: 5ms, jitter: 1ms, queue: "100 packets, 64 KiB", mtu: 9000}
  nodes:
    - {name: c, role: consumer}
    - {name: r, role: relay, mars: true}
    - {name: i, role: router}
    - {name: p, role: producer}
  links:
    - between: [c, r]
      loss: $loss
      ab: {rate: 1 Gbit/s}
      ba: {delay: 0, discipline: codel-mark, loss: {random: 1%, burst: {enter: 0.01%, leave: 10%, loss: 50%}}}
    - {between: [r, i], red: {min: 20 packets, max: 60 packets, probability: 10%}}
    - {between: [i, p]}
    - {between: [r, p], name: short, queue: 64 KiB}
    - {between: [c, i], when: 0}
workload:
  size: 1 MB
  chunk: 8 kB
  starts: [0s, 500ms]
  flows:
    - {consumer: c, producer: p}
    - {name: second, consumer: c, producer: p, size: 3 MiB, group: 1, paths: [[c-r, short], [c-r, r-i, i-p]]}
    - {name: third, consumer: c, producer: p, start: 3s, group: 1, chunk: 1 KiB}
faults:
  - {kind: blackhole, at: 1s, for: 2s, link: c-r, after: second}
  - {kind: restart, at: 1s, node: r}
  - {kind: delay, at: 1s, link: r-i, value: 20ms}
  - {kind: loss, at: 1s, link: r-i, value: 2%}
  - {kind: rate, at: 1s, link: r-i, value: 5 Mbit/s}
  - {kind: exclude, at: 1s, link: c-r}
  - {kind: down, at: 0, link: short}
paper:
  - {system: MARS-paper, metric: jain, value: 0.99, at: {loss: 0.001}, source: there}
  - {system: TCP, metric: jain, value: 99%}
`

func mustLoad(t *testing.T, f files) (*Scenario, []World) {
	t.Helper()
	s, err := f.load()
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	return s, worlds
}

func TestEverything(t *testing.T) {
	s, worlds := mustLoad(t, files{"s.yaml": everything})
	if s.Name != "everything" || !slices.Equal(s.Notes, []string{"one"}) || s.Seeds != (Seeds{7, 2}) || s.Series != 100*time.Millisecond {
		t.Errorf("%+v", s)
	}
	if len(worlds) != 4 {
		t.Fatalf("%d points", len(worlds))
	}
	plain := Direction{
		Rate: 20e6, Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Packets: 100, Bytes: 64 << 10, Discipline: DropTail, MTU: 9000,
	}
	with := func(change func(*Direction)) Direction {
		d := plain
		change(&d)
		return d
	}
	red := with(func(d *Direction) { d.Discipline, d.MarkMin, d.MarkMax, d.MarkProb = RED, 20, 60, 0.1 })
	bytes := with(func(d *Direction) { d.Packets = 0 })
	want := World{
		Params: []Param{{"loss", 0.001}, {"rate", 20e6}},
		Nodes:  []Node{{Name: "c", Role: Consumer}, {Name: "r", Role: Relay, MARS: true}, {Name: "i", Role: Router}, {Name: "p", Role: Producer}},
		Links: []Link{
			{
				"c-r", 0, 1,
				with(func(d *Direction) { d.Loss.Random, d.Rate = 0.001, 1e9 }),
				with(func(d *Direction) {
					d.Delay, d.Discipline, d.Loss = 0, CoDelMark, Loss{Random: 0.01, BurstEnter: 0.0001, BurstLeave: 0.1, BurstLoss: 0.5}
				}),
			},
			{"r-i", 1, 2, red, red},
			{"i-p", 2, 3, plain, plain},
			{"short", 1, 3, bytes, bytes},
		},
		Flows: []Flow{
			{Name: "c-p", Producer: 3, Bytes: 1e6, ChunkSize: 8000},
			{Name: "second", Producer: 3, Bytes: 3 << 20, ChunkSize: 8000, Group: 1, Start: 500 * time.Millisecond, Paths: [][]int{{0, 3}, {0, 1, 2}}},
			{Name: "third", Producer: 3, Bytes: 1e6, ChunkSize: 1024, Group: 1, Start: 3 * time.Second},
		},
		Faults: []Fault{
			{At: time.Second, For: 2 * time.Second, After: "second", Kind: Blackhole, Link: 0, Node: -1},
			{At: time.Second, Kind: Restart, Link: -1, Node: 1},
			{At: time.Second, Kind: SetDelay, Link: 1, Node: -1, Value: 0.02},
			{At: time.Second, Kind: SetLoss, Link: 1, Node: -1, Value: 0.02},
			{At: time.Second, Kind: SetRate, Link: 1, Node: -1, Value: 5e6},
			{At: time.Second, Kind: Exclude, Link: 0, Node: -1},
			{Kind: LinkDown, Link: 3, Node: -1},
		},
		Limit: 2 * time.Minute,
	}
	if diff := cmp.Diff(want, worlds[2]); diff != "" {
		t.Error(diff)
	}
	if got := s.PaperAt(&worlds[2]); len(got) != 2 || got[0].Value != 0.99 || got[0].Source != "there" || got[1].Value != 0.99 {
		t.Errorf("paper: %+v", got)
	}
	if got := s.PaperAt(&worlds[0]); len(got) != 1 || got[0].System != "TCP" {
		t.Errorf("paper at another point: %+v", got)
	}
	if w := &worlds[0]; w.FlowIndex("third") != 2 || w.FlowIndex("fourth") != -1 {
		t.Error("FlowIndex")
	}
	if got := worlds[3].ParamMap(); len(got) != 2 || got["rate"] != 40e6 {
		t.Errorf("%v", got)
	}
}

// TestWorldsAreTheCallers: what a caller does to one reaches nobody else.
func TestWorldsAreTheCallers(t *testing.T) {
	s, worlds := mustLoad(t, files{"s.yaml": everything})
	before := s.Hash()
	worlds[0].Links[0].AB.Rate, worlds[0].Flows[1].Paths[0][0], worlds[0].Params[0].Value = 1, 9, 9
	again, err := s.Worlds()
	if err != nil || again[0].Links[0].AB.Rate != 1e9 || again[0].Flows[1].Paths[0][0] != 0 || again[0].Params[0].Value != 0 || s.Hash() != before {
		t.Errorf("%+v %v", again[0], err)
	}
}

// TestHash: how a file is written doesn't matter, what it says does.
func TestHash(t *testing.T) {
	hash := func(f files) string {
		s, _ := mustLoad(t, f)
		return s.Hash()
	}
	plain := hash(swap("name: s", "name: s"))
	for what, f := range map[string]files{
		"a comment":   swap("limit: 60s", "limit: 60s # a minute"),
		"units":       swap("limit: 60s", "limit: 1 min"),
		"more units":  swap("40 Mbit/s", "0.04 Gbit/s"),
		"a title":     swap("title: t", "title: u"),
		"percent":     swap("[0, 1%]", "[0, 0.01]"),
		"an include":  {"s.yaml": "include: a.yaml\nname: s\n", "a.yaml": strings.Replace(small, "name: s", "name: a", 1)},
		"the default": swap("limit: 60s", "limit: 60s\nseeds: {count: 10}"),
	} {
		if hash(f) != plain {
			t.Errorf("%s changes the hash", what)
		}
	}
	for what, f := range map[string]files{
		"name":   swap("name: s", "name: z"),
		"system": swap("[MARS]", "[MARS-paper]"),
		"seeds":  swap("limit: 60s", "limit: 60s\nseeds: {count: 11}"),
		"value":  swap("[0, 1%]", "[0, 2%]"),
		"rate":   swap("40 Mbit/s", "41 Mbit/s"),
		"fault":  swap("workload:", "faults: [{kind: down, at: 1s, link: c-r}]\nworkload:"),
	} {
		if hash(f) == plain {
			t.Errorf("another %s has the same hash", what)
		}
	}
}

// TestInclude: keys of the including file win, mappings are merged, lists replaced, and an empty value removes.
func TestInclude(t *testing.T) {
	s, worlds := mustLoad(t, files{
		"s.yaml":       "include: [x/base.yaml, more.yaml]\nname: top\nsweep:\ntopology:\n  consumer_link: {loss: 2%}\n  core_link: {delay: 2ms}\n",
		"x/base.yaml":  "include: inner.yaml\nname: base\ntitle: t\nlimit: 60s\nworkload: {size: 1 MB}\nsystems: [MARS]\nsweep: {loss: [0, 1%]}\ntopology: {consumer_link: {loss: $loss, delay: 9ms}}\n",
		"x/inner.yaml": "topology: {generate: core, cores: 2, consumers: 1, producers: 1, link: {rate: 40 Mbit/s, delay: 5ms, queue: 10 packets}}\n",
		"more.yaml":    "systems: [PCON, TCP]\n",
	})
	if s.Name != "top" || !slices.Equal(s.Systems, []string{"PCON", "TCP"}) || len(worlds) != 1 {
		t.Fatalf("%s %v, %d points", s.Name, s.Systems, len(worlds))
	}
	w := worlds[0]
	for _, c := range []struct {
		link  string
		loss  float64
		delay time.Duration
	}{{"con0-core0", 0.02, 9}, {"core0-core1", 0, 2}, {"core0-edge0", 0, 5}} {
		i := slices.IndexFunc(w.Links, func(l Link) bool { return l.Name == c.link })
		if i < 0 || w.Links[i].AB.Loss.Random != c.loss || w.Links[i].BA.Delay != c.delay*time.Millisecond {
			t.Errorf("%s: %+v", c.link, w.Links)
		}
	}
}

// TestIncludeRemoves: an empty value takes one parameter out of an included sweep.
func TestIncludeRemoves(t *testing.T) {
	base := strings.Replace(small, "loss: [0, 1%]", "loss: [0, 1%]\n  rate: [20 Mbit/s, 40 Mbit/s]", 1)
	base = strings.Replace(base, "between: [r, p]", "between: [r, p]\n      rate: $rate", 1)
	_, worlds := mustLoad(t, files{
		"s.yaml":    "include: base.yaml\nsweep: {loss: }\ntopology:\n  links: [{between: [c, r], rate: $rate}, {between: [r, p]}]\n",
		"base.yaml": base,
	})
	if len(worlds) != 2 || len(worlds[0].Params) != 1 || worlds[1].Links[0].AB.Rate != 40e6 {
		t.Errorf("%+v", worlds)
	}
}

// TestLossIsReplaced: a link's own losses are all that it has; nothing of the default is left beneath them.
func TestLossIsReplaced(t *testing.T) {
	f := swap("queue: 1000 packets}", "queue: 1000 packets, loss: {random: 5%, burst: {enter: 1%, leave: 10%, loss: 50%}}}")
	f["s.yaml"] = strings.Replace(f["s.yaml"], "between: [r, p]", "between: [r, p]\n      loss: {random: 2%}\n    - name: x\n      between: [r, p]\n      ab: {loss: {burst: {enter: 2%, leave: 20%, loss: 1}}}", 1)
	_, worlds := mustLoad(t, f)
	whole := Loss{0.05, 0.01, 0.1, 0.5}
	for i, want := range [][2]Loss{
		{}, // loss: 0
		{{Random: 0.02}, {Random: 0.02}},
		{{BurstEnter: 0.02, BurstLeave: 0.2, BurstLoss: 1}, whole},
	} {
		if l := worlds[0].Links[i]; l.AB.Loss != want[0] || l.BA.Loss != want[1] {
			t.Errorf("%s: %+v and %+v, want %+v", l.Name, l.AB.Loss, l.BA.Loss, want)
		}
	}
}
