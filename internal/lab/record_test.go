package lab

import (
	"reflect"
	"testing"

	"mars/internal/scenario"
)

// TestRecords: a run is found again by all that decides about it, and by nothing less.
func TestRecords(t *testing.T) {
	r := records{dir: t.TempDir() + "/runs", hash: "abc"}
	at := r.path(map[string]float64{"loss": 0.01, "a": 1}, 2, "TCP", 7)
	if _, ok := r.load(at); ok {
		t.Fatal("found before it was run")
	}
	want := outcome{Run: scenario.Run{Seed: 7, Flows: []scenario.FlowResult{{Name: "f", T100: 2.5}}}, CPU: 1.5, Invalid: []string{"why"}}
	if err := r.save(at, want); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.load(r.path(map[string]float64{"a": 1, "loss": 0.01}, 2, "TCP", 7)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, other := range []string{
		r.path(map[string]float64{"loss": 0.02, "a": 1}, 2, "TCP", 7),
		r.path(map[string]float64{"loss": 0.01, "a": 1}, 3, "TCP", 7),
		r.path(map[string]float64{"loss": 0.01, "a": 1}, 2, "TCP:bbr", 7),
		r.path(map[string]float64{"loss": 0.01, "a": 1}, 2, "TCP", 8),
		records{dir: r.dir, hash: "abd"}.path(map[string]float64{"loss": 0.01, "a": 1}, 2, "TCP", 7),
	} {
		if _, ok := r.load(other); ok {
			t.Error("another run is taken for it")
		}
	}
	if err := (records{}).save("nowhere/x", want); err != nil {
		t.Error(err)
	}
}
