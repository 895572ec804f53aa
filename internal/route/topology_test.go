package route

import (
	"fmt"
	"testing"

	"mars/internal/machine"
)

func TestTopology(t *testing.T) {
	r := newRig(t, Config{ID: 1, Boot: 4})
	s := r.linked(1, 2)
	s.send(says(node(2, 3, []uint64{1, 5}, "/two"), 500), says(node(5, 9, []uint64{2, 6}), 0), says(node(8, 1, nil, "/far"), 0))
	r.run(100 * ms)
	got := ""
	for _, n := range r.r.Topology() {
		got += fmt.Sprintf("%d boot %d seq %d relay %v hops %d links %v prefixes %v\n", n.ID, n.Boot, n.Seq, n.Relay, n.Hops, n.Links, n.Prefixes)
		if want := 100*ms + machine.Time(0); n.ID == 2 && n.Age != want+500*ms {
			t.Errorf("age %v", n.Age)
		}
	}
	want := `1 boot 4 seq 0 relay false hops 0 links [{2 true}] prefixes []
2 boot 7 seq 3 relay true hops 1 links [{1 true} {5 true}] prefixes [/two]
5 boot 7 seq 9 relay true hops 2 links [{2 true} {6 false}] prefixes []
8 boot 7 seq 1 relay true hops -1 links [] prefixes [/far]
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDropNames(t *testing.T) {
	seen := map[string]bool{}
	for d := range numDrops {
		if n := d.String(); n == "" || seen[n] {
			t.Errorf("reason %d is called %q", d, n)
		} else {
			seen[n] = true
		}
	}
}
