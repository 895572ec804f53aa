package forward

import (
	"mars/cc"
	"mars/internal/machine"
)

// Upstream defaults: what profile `paper` leaves open at forwarders.
const (
	// initialRate is 20 Mbit/s: a first burst of a chunk every 3 ms hurts no path that is worth having, and Algorithm 1
	// needs 14 τ_R for each doubling from there.
	initialRate = 2.5e6
	// minRate keeps a chunk of feedback coming about every 100 ms.
	minRate = 80e3
	// rateBurst is how much Interest credit an idle face may save up: it covers coarse timers.
	rateBurst = 2 * machine.Millisecond

	// A face is suspended when Interests are outstanding and nothing at all has come for
	// max(suspendRTTs·SRTT, suspendMin), and probed with a backoff (protocol.md §8, blackhole; the paper has no rule).
	suspendRTTs = 3
	suspendMin  = 300 * machine.Millisecond
	probeMin    = 250 * machine.Millisecond
	probeMax    = 4 * machine.Second
)

// upstream is the flow side of one face: the rate at which Interests may leave by it (Algorithm 1, one per upstream
// face), the flows that take turns on it, and whether it answers at all.
type upstream struct {
	face  machine.FaceID
	local bool // an application on this node: no rate
	up    bool
	since machine.Time // that it is up
	used  bool         // Interests have left by it, or a flow may use it: without, its end concerns nobody

	ctrl    cc.Paper
	tokens  float64 // bytes of expected Data that may be asked for now
	tokenAt machine.Time
	backlog bool // Interests wait for tokens
	resume  machine.Time

	line   *uplink // of the default profile; nil: Algorithm 1
	oneWay oneWay

	turns          // of the flows with Interests for this face
	asks  *ingress // what the same face asks here

	outstanding int          // Interests sent and not answered
	silentSince machine.Time // when the oldest reason to expect an answer began
	srtt        machine.Time
	sample      machine.Time // the last round trip
	suspended   bool
	probeAt     machine.Time
	backoff     machine.Time
	sent        uint64 // Interests sent through Algorithm 1's gate
	seen        seen

	codel *codel  // of the face's Data queue; nil: none
	full  float64 // occupancy of the peer's Data queue toward here as last reported (QSF)
}

func newUpstream(id machine.FaceID, f machine.Face) *upstream {
	return &upstream{
		face: id, local: f.Local, up: true,
		ctrl: newFaceController(), turns: turns{groups: make(map[*ingress]*group)}, asks: &ingress{face: id, heap: -1},
	}
}

func newFaceController() cc.Paper {
	return cc.NewPaper(cc.PaperConfig{GammaMax: cc.PaperGammaForwarder, Initial: initialRate, Min: minRate})
}

func (u *upstream) usable() bool { return u.up && !u.suspended }

// affords tells whether Algorithm 1's rate allows another Interest now, and if not, when.
func (u *upstream) affords(now machine.Time) (bool, machine.Time) {
	if u.local {
		return true, 0
	}
	if u.suspended {
		return now >= u.probeAt, u.probeAt
	}
	u.ctrl.Advance(now)
	u.tokens, u.tokenAt = u.credit(now), now
	if u.tokens > 0 && now >= u.resume {
		return true, 0
	}
	if now >= u.resume {
		u.backlog = true
		u.resume = now + wait(u.ctrl.Rate(), u.tokens)
	}
	return false, u.resume
}

// credit is how many bytes of Data may be asked for now.
func (u *upstream) credit(now machine.Time) float64 {
	rate := u.ctrl.Rate()
	return min(u.tokens+float64(rate*(now-u.tokenAt).Seconds()), max(burst(rate, u.backlog, rateBurst), DefaultCost))
}

// idle tells whether the face has credit that it doesn't use.
func (u *upstream) idle(now machine.Time) bool {
	if u.line != nil {
		return u.usable() && u.line.room(DefaultCost)
	}
	return u.usable() && (u.local || now >= u.resume && u.credit(now) > 0)
}

// spare tells whether the face was left with credit when it was last asked.
func (u *upstream) spare() bool {
	if u.line != nil {
		return u.line.room(DefaultCost)
	}
	return !u.backlog
}

// owed is the time that the answers still due take at the face's rate, seconds.
func (u *upstream) owed() float64 {
	if u.local {
		return 0
	}
	if u.line != nil {
		return u.line.flight / max(u.line.Rate(), 1)
	}
	return float64(float64(u.outstanding)*DefaultCost) / u.ctrl.Rate()
}

// onSent accounts for an Interest that leaves now.
func (u *upstream) onSent(now machine.Time, cost float64) {
	u.sent++
	if u.local {
		return
	}
	u.tokens -= cost
	if u.outstanding == 0 {
		u.silentSince = now
	}
	u.outstanding++
	if u.suspended { // this was a probe
		u.backoff = min(2*u.backoff, probeMax)
		u.probeAt = now + u.backoff
	}
}

// onHeard notes that the peer answered anything at all; it ends a suspension.
func (u *upstream) onHeard(now machine.Time) (resumed bool) {
	u.silentSince = now
	if !u.suspended {
		return false
	}
	u.suspended, u.backoff, u.seen.changed = false, 0, now
	u.tokens, u.tokenAt = 0, now
	if u.line != nil && u.alone() {
		u.line.Return(now)
	}
	return true
}

func (u *upstream) onRTT(rtt machine.Time) {
	u.ctrl.OnRTT(rtt)
	u.sample = rtt
	u.seen.rtt(rtt)
	if u.srtt == 0 {
		u.srtt = rtt
	}
	u.srtt += (rtt - u.srtt) / 8
}

// silenceDeadline is when the face counts as silent, if nothing comes.
func (u *upstream) silenceDeadline() machine.Time {
	if u.local || u.suspended || u.outstanding == 0 || !u.up {
		return machine.Never
	}
	return u.silentSince + max(suspendRTTs*u.srtt, suspendMin)
}

func (u *upstream) suspend(now machine.Time) {
	u.suspended, u.seen.changed = true, now
	u.backoff = probeMin
	u.probeAt = now + u.backoff
}
