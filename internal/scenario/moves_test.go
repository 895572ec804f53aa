package scenario

import (
	"slices"
	"testing"
	"time"
)

func TestRoute(t *testing.T) {
	f := Flow{Paths: [][]int{{0}, {1}}, Moves: []Move{{Path: 1, To: []int{2}, From: 20 * time.Second, Every: 10 * time.Second}}}
	for at, want := range map[time.Duration]int{0: 1, 19: 1, 20: 2, 29: 2, 30: 1, 45: 2, 59: 1} {
		if got := f.Route(1, at*time.Second); got[0] != want {
			t.Errorf("at %d s: %v", at, got)
		}
		if got := f.Route(0, at*time.Second); got[0] != 0 {
			t.Errorf("the other path moves: %v", got)
		}
	}
	if got := f.Changes(41 * time.Second); !slices.Equal(got, []time.Duration{20e9, 30e9, 40e9}) {
		t.Errorf("%v", got)
	}
	f.Moves[0].Every = 0
	if got := f.Route(1, time.Hour); got[0] != 2 || len(f.Changes(time.Hour)) != 1 {
		t.Errorf("a move that stays: %v, %v", got, f.Changes(time.Hour))
	}
}

// TestBottleneck: the slowest link in the direction of data, which come from the producer.
func TestBottleneck(t *testing.T) {
	_, worlds := mustLoad(t, files{"s.yaml": goesOn})
	w := &worlds[0]
	f := &w.Flows[0]
	for k, want := range []int{2*1 + 1, 2*3 + 1} {
		if got := w.Bottleneck(f, f.Paths[k]); got != want {
			t.Errorf("path %d: %d, want %d", k, got, want)
		}
	}
	w.Links[0].BA.Rate, w.Links[0].AB.Rate = 1e6, 1e9
	if got := w.Bottleneck(f, f.Paths[0]); got != 1 {
		t.Errorf("direction %d", got)
	}
}
