package forward

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestQSFQueues: the fuller the queue that a face reports, the fewer Interests go there, and none is forgotten.
func TestQSFQueues(t *testing.T) {
	r := weighted(t, Config{Strategy: QSF})
	reported := map[machine.FaceID]uint32{2: 100, 3: 50, 4: 0}
	used := map[machine.FaceID]int{}
	for n := range 6000 {
		by := r.ask(n)
		if len(by) != 1 {
			t.Fatalf("Interest %d left by %v", n, by)
		}
		if n >= 100 {
			used[by[0]]++
		}
		r.data(by[0], segment(n), 100, &wire.Feedback{DataItems: reported[by[0]], DataCapacity: 100})
		r.drain()
	}
	// B̂ is the same for all while the clock stands: weights .01, .5 and 1.
	if used[1] > 0 || used[2] < 10 || used[2] > 100 || used[3] < 1700 || used[3] > 2200 {
		t.Fatalf("Interests by face: %v", used)
	}
}

// TestQSFReports: a node reports its own queue toward each downstream, whatever it was told itself.
func TestQSFReports(t *testing.T) {
	r := weighted(t, Config{Strategy: QSF})
	by := r.ask(0)
	r.out.Reset()
	r.data(by[0], segment(0), 10, &wire.Feedback{DataItems: 77, DataCapacity: 100})
	r.drain()
	if got, want := r.out.String(), "1> data token=T q=0/0,0/100\n"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

// TestQSFIdle: a face that delivered little because little was asked of it keeps the weight that it began with; one that
// delivered much has more.
func TestQSFIdle(t *testing.T) {
	slow, fast := newUpstream(1, machine.Face{}), newUpstream(2, machine.Face{})
	ways, weights := []*upstream{slow, fast}, make([]float64, 2)
	hdr := wire.Packet{HasFeedback: true, Feedback: wire.Feedback{DataCapacity: 100}}
	for now := machine.Time(0); now < machine.Second; now += 10 * machine.Millisecond {
		slow.heardQSF(now, &hdr, 100)
		fast.heardQSF(now, &hdr, 100_000)
		weighQSF(now, ways, weights)
	}
	if weights[0] != initialRate || weights[1] < 9e6 || weights[1] > 11e6 {
		t.Fatalf("weights %v", weights)
	}
}
