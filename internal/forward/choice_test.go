package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestChoice: the longest prefix with a choice says how a flow's Interests are forwarded, and only from then on.
func TestChoice(t *testing.T) {
	r := newRig(t, Config{Relay: true})
	for id := range machine.FaceID(3) {
		r.fw.FaceUp(0, id+1, machine.Face{MTU: 1400})
	}
	r.fw.AddRoute(nil, NextHop{Face: 2, Hops: 1})
	r.fw.AddRoute(nil, NextHop{Face: 3, Hops: 1})
	asked := 0
	// inFlow tells whether an Interest for a chunk of an object below prefix becomes one of a flow.
	inFlow := func(prefix string) bool {
		t.Helper()
		asked++
		flow := wire.MustParseName(fmt.Sprintf("%s/source%d", prefix, asked))
		chunk := flow.Clone().Append(wire.TypeKeyword, []byte(wire.KeywordTransmission)).AppendString(wire.TypeGeneric, "o").
			AppendNumber(wire.TypeVersion, 1).AppendNumber(wire.TypeSegment, 0)
		r.interest(1, wire.Interest{Name: chunk, Nonce: uint32(asked), HasNonce: true, HopLimit: 9, HasHopLimit: true}, "")
		r.drain()
		_, ok := r.fw.Flow(flow)
		if n := len(r.sent[2]); !ok && (n != 1 || len(r.sent[3]) > 0) { // a flow's may wait for its turn
			t.Fatalf("%v left %d times by the nearest face", chunk, n)
		}
		clear(r.sent)
		return ok
	}
	expect := func(when string, want map[string]bool) {
		t.Helper()
		for prefix, flow := range want {
			if got := inFlow(prefix); got != flow {
				t.Errorf("%s: %s goes as a flow: %v, want %v", when, prefix, got, flow)
			}
		}
	}
	name := wire.MustParseName
	expect("at first", map[string]bool{"/a": true, "/a/b": true, "/c": true})
	r.fw.Choose(name("/a"), BestRoute)
	expect("best-route for /a", map[string]bool{"/a": false, "/a/b": false, "/c": true})
	r.fw.Choose(name("/a/b"), Mars)
	expect("mars for /a/b", map[string]bool{"/a": false, "/a/b": true, "/a/b/x": true, "/c": true})
	r.fw.Choose(nil, BestRoute)
	expect("best-route for everything", map[string]bool{"/a": false, "/a/b": true, "/c": false})
	got := fmt.Sprint(r.fw.Choices(nil))
	if want := fmt.Sprint([]Choice{{nil, BestRoute}, {name("/a"), BestRoute}, {name("/a/b"), Mars}}); got != want {
		t.Errorf("chosen are %s, want %s", got, want)
	}
	r.fw.Unchoose(nil)
	r.fw.Unchoose(name("/a"))
	r.fw.Unchoose(name("/never"))
	expect("unset", map[string]bool{"/a": true, "/a/b": true, "/c": true})
	if got, want := fmt.Sprint(r.fw.Choices(nil)), fmt.Sprint([]Choice{{nil, Mars}, {name("/a/b"), Mars}}); got != want {
		t.Errorf("chosen are %s, want %s", got, want)
	}
	r.check()
}
