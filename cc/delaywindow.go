package cc

import "mars/internal/machine"

// DelayWindow bounds the bytes in flight such that about Target of queueing delay stands at the bottleneck: FAST TCP's update (Wei et
// al., IEEE/ACM Trans. Netw. 14(6), 2006) with an explicit target, paced. It is the default profile's control of Interests, one per
// upstream face and one per flow on it.
//
//	slow start   W += acked while window-limited, until a bucket's least delay passes Target/2 or the rate stops growing
//	steady       W += gain · (acked/W) · (step + W/srtt · (Target − d)), d the least delay of the last round
//	far beyond   W = greatest rate · (base + Target), when d passes farBeyond targets: the capacity has dropped
//
// What a round trip takes longer than the shortest one, and isn't queueing at what the window controls, is queueing of requests on their
// way there, behind the other direction's data: it comes and goes faster than W can follow, so as much more may be in flight
// as arrives meanwhile.
//
// Losses shrink it only where they are more than chance: single ones are the business of whoever repairs them.
type DelayWindow struct {
	cfg  DelayWindowConfig
	w    float64 // bytes
	slow bool

	srtt, base machine.Time // smoothed round trip, and the least of the last baseLife
	older      machine.Time // the least of the one before
	baseAt     machine.Time
	other      machine.Time // smoothed: a round trip without the queueing that this window controls

	// Buckets of a quarter of a round trip where the target is met: least delay in each.
	bucket   [4]machine.Time // newest first
	bucketAt machine.Time    // when the newest began
	fresh    bool            // the newest has a sample

	// A round: what was acknowledged, and lost.
	roundAt     machine.Time
	heard       machine.Time // when something was acknowledged last
	acked, lost float64
	limited     bool // the window was what bound
	rates       [rateRounds]float64
	grew        int // rounds in slow start in which the rate did not
	idle        int // rounds in a row below the target and limited
	holdUntil   machine.Time

	// Drains: for a round trip the window is less than what the path holds, so that all who share a queue see it empty.
	born, drainAt, drainTo machine.Time
	hidden                 bool // the bottleneck's queue is one that nobody reports
}

// DelayWindowConfig sets up a DelayWindow.
type DelayWindowConfig struct {
	Target  machine.Time // of queueing delay at the bottleneck
	Step    float64      // bytes: what stands in the queue where the target is met, beside its delay's worth
	Initial float64      // bytes
	Least   float64      // bytes
	Most    float64      // bytes
}

const (
	windowGain = 0.25
	farBeyond  = 4 // targets
	rateRounds = 10
	baseLife   = 10 * machine.Second
	// firstTrip is what a round trip is taken for before the first: a burst that meets others' at a bottleneck looks like a queue there.
	firstTrip = 30 * machine.Millisecond
	// growth that makes a round of slow start count as one in which the rate grew.
	windowGrowth = 1.2
	flatRounds   = 3
)

// NewDelayWindow returns a DelayWindow in slow start.
func NewDelayWindow(cfg DelayWindowConfig) DelayWindow {
	return DelayWindow{cfg: cfg, w: cfg.Initial, slow: true, base: machine.Never, older: machine.Never, bucket: [4]machine.Time{-1, -1, -1, -1}}
}

// Begin sets the first W, bytes, unless something has come back already.
func (d *DelayWindow) Begin(w float64) {
	if d.srtt == 0 {
		d.w = w
		d.bound()
	}
}

// Bytes is W, or less while a queue is drained.
func (d *DelayWindow) Bytes() float64 {
	if d.drainTo > 0 {
		return max(float64(d.w*drainShare*float64(d.minRTT()))/float64(max(d.srtt, d.minRTT())), d.cfg.Least) + d.extra()
	}
	return d.w + d.extra()
}

// extra is what arrives during the queueing that others cause, bytes.
func (d *DelayWindow) extra() float64 {
	if d.slow || d.srtt == 0 {
		return 0
	}
	return float64(d.w * float64(max(0, d.other-d.minRTT())) / float64(d.srtt))
}

// OnOther takes in what of a round trip wasn't queueing at what this window controls.
func (d *DelayWindow) OnOther(took machine.Time) {
	if d.srtt > 0 {
		d.other += (took - d.other) / 4
	}
}

const (
	drainShare = 0.95
	drainEarly = machine.Second     // between drains in the first drainYoung of a flow
	drainYoung = 3 * machine.Second //
	drainEvery = 4 * machine.Second // and later
)

// drain begins and ends drains. Those of all who share a queue must coincide: they are bound to the clock.
func (d *DelayWindow) drain(now machine.Time) {
	if d.drainTo > 0 && now >= d.drainTo {
		d.drainTo = 0
	}
	if d.born == 0 {
		d.born = now
		d.drainAt = (now/drainEarly + 1) * drainEarly
	}
	if now < d.drainAt {
		return
	}
	every := machine.Time(drainEvery)
	if now-d.born < drainYoung {
		every = drainEarly
	}
	d.drainAt = (now/every + 1) * every
	if !d.slow && d.hidden {
		d.drainTo = now + d.srtt
	}
	d.hidden = false
}

// Rate is what W amounts to, bytes per second; 0 before the first round trip.
func (d *DelayWindow) Rate() float64 {
	if d.srtt == 0 {
		return 0
	}
	return d.w / d.srtt.Seconds()
}

// Pace is the rate at which to send, bytes per second; 0: at once.
func (d *DelayWindow) Pace() float64 {
	if d.srtt == 0 {
		return d.cfg.Initial / firstTrip.Seconds()
	}
	if d.slow {
		return float64(2 * d.Rate())
	}
	return float64(1.5 * d.Bytes() / d.srtt.Seconds())
}

// SRTT is the smoothed round trip; 0 before the first.
func (d *DelayWindow) SRTT() machine.Time { return d.srtt }

// Slow tells whether it is in slow start.
func (d *DelayWindow) Slow() bool { return d.slow }

// Hidden notes that the queue is one that nobody reports: what is known of it is how much longer the trip takes than the shortest
// one, which who comes later doesn't know.
func (d *DelayWindow) Hidden() { d.hidden = true }

// Limited notes that something waits that the window has no room for.
func (d *DelayWindow) Limited() { d.limited = true }

// OnAck takes in that bytes arrived at now. rtt is their round trip, 0 if nobody knows; delay is how long they were queued at what
// this window controls, −1 if nobody knows.
func (d *DelayWindow) OnAck(now machine.Time, bytes float64, rtt, delay machine.Time) {
	if rtt > 0 {
		d.onRTT(now, rtt)
	}
	d.acked += bytes
	d.heard = now
	if d.srtt == 0 {
		return
	}
	if delay >= 0 {
		d.onDelay(now, delay)
	}
	d.drain(now)
	if d.roundAt == 0 {
		d.roundAt = now
	}
	if d.slow && d.limited && now >= d.holdUntil {
		d.w = min(d.w+bytes, d.cfg.Most)
	}
	if now-d.roundAt >= d.srtt {
		d.endRound(now)
	}
	if !d.slow && d.drainTo == 0 {
		d.steer(now, bytes)
	}
}

func (d *DelayWindow) onRTT(now machine.Time, rtt machine.Time) {
	if d.srtt == 0 {
		d.srtt, d.other, d.bucketAt = rtt, rtt, now
	}
	d.srtt += (rtt - d.srtt) / 8
	if now-d.baseAt >= baseLife {
		d.older, d.base, d.baseAt = d.base, rtt, now
	}
	d.base = min(d.base, rtt)
}

// onDelay keeps the least delay of each quarter of a round trip.
func (d *DelayWindow) onDelay(now, delay machine.Time) {
	if now-d.bucketAt >= min(d.srtt, d.minRTT()+d.target())/4 { // not of srtt: what is seen late of a long queue would keep it long
		if d.slow && d.fresh && d.bucket[0] > d.target()/2 {
			d.leave(now)
		}
		copy(d.bucket[1:], d.bucket[:3])
		d.bucketAt, d.bucket[0], d.fresh = now, delay, true
		return
	}
	if !d.fresh || delay < d.bucket[0] {
		d.bucket[0], d.fresh = delay, true
	}
}

// least is the least delay of the last round; −1: not known.
func (d *DelayWindow) least() machine.Time {
	least := machine.Time(-1)
	for _, b := range d.bucket {
		if b >= 0 && (least < 0 || b < least) {
			least = b
		}
	}
	return least
}

// rate is the greatest of the last rounds.
func (d *DelayWindow) rate() float64 {
	r := 0.0
	for _, x := range d.rates {
		r = max(r, x)
	}
	return r
}

func (d *DelayWindow) minRTT() machine.Time { return min(d.base, d.older) }

// share is W for the greatest rate and the target.
func (d *DelayWindow) share() float64 {
	return float64(d.rate() * (d.minRTT() + d.target()).Seconds())
}

// leave ends slow start. What came in this round so far tells the rate, too.
func (d *DelayWindow) leave(now machine.Time) {
	d.slow = false
	if took := now - d.roundAt; took >= d.srtt/2 {
		d.rates[0] = max(d.rates[0], d.acked/took.Seconds())
	}
	if fit := d.share(); fit > 0 {
		d.w = min(max(fit, float64(0.6*d.w)), float64(2*d.w))
	}
	d.bound()
}

func (d *DelayWindow) bound() { d.w = min(max(d.w, d.cfg.Least), d.cfg.Most) }

// endRound looks back on a round trip.
func (d *DelayWindow) endRound(now machine.Time) {
	took := (now - d.roundAt).Seconds()
	rate, before := d.acked/took, d.rate()
	if d.limited || rate > before { // what the sender didn't use tells nothing about the path
		copy(d.rates[1:], d.rates[:rateRounds-1])
		d.rates[0] = rate
	}
	if d.slow && d.limited {
		if rate > float64(windowGrowth*before) {
			d.grew = 0
		} else if d.grew++; d.grew >= flatRounds {
			d.leave(now)
		}
	}
	least := d.least()
	if share := d.lost / max(d.lost+d.acked, 1); share > 0.05 && d.lost > 4*d.cfg.Step || share > 0.03 && least > d.cfg.Target && d.lost > 2*d.cfg.Step {
		d.w = float64(d.w * 0.8)
		d.slow = false
		d.bound()
	}
	if !d.slow && least > farBeyond*d.target() && now >= d.holdUntil {
		d.rates = [rateRounds]float64{rate}
		if fit := d.share(); fit < d.w {
			d.w = fit
			d.holdUntil = now + d.srtt
			d.bound()
		}
	}
	if !d.slow && d.limited && least >= 0 && least < d.cfg.Target/4 {
		d.idle++
	} else {
		d.idle = 0
	}
	d.roundAt, d.acked, d.lost, d.limited = now, 0, 0, false
}

// steer is the update of the steady state.
func (d *DelayWindow) steer(now machine.Time, bytes float64) {
	least := d.least()
	if least < 0 {
		return
	}
	part := bytes / d.w
	push := d.cfg.Step + float64(d.w/d.srtt.Seconds()*(d.cfg.Target-least).Seconds())
	change := float64(windowGain * part * push)
	if change > 0 {
		if !d.limited {
			return
		}
		if d.idle >= 3 { // capacity has come: growth doubles slowly
			change = min(float64(change*float64(int(1)<<min(d.idle-2, 6))), bytes)
		}
	}
	d.w += change
	d.bound()
}

// OnLoss takes in that bytes were lost. Where nothing arrives any more no round ends: what is sent may crowd itself out.
func (d *DelayWindow) OnLoss(now machine.Time, bytes float64) {
	d.lost += bytes
	if d.lost >= d.w/2 && now-d.heard > 2*max(d.srtt, firstTrip) {
		d.w, d.slow, d.lost, d.heard = d.w/2, false, 0, now
		d.bound()
	}
}

// target is the queueing to aim at: Target, and what a step takes at the rate that the path has shown. A chunk takes its time.
func (d *DelayWindow) target() machine.Time {
	if r := d.rate(); r > 0 {
		return d.cfg.Target + machine.Time(d.cfg.Step/r*1e9)
	}
	return d.cfg.Target
}

// Return begins anew after a silence, from a part of what there was.
func (d *DelayWindow) Return(now machine.Time) {
	d.w = float64(d.w * 0.75)
	d.slow, d.grew, d.idle = true, 0, 0
	d.bucket = [4]machine.Time{-1, -1, -1, -1}
	d.fresh, d.bucketAt, d.roundAt = false, now, now
	d.acked, d.lost = 0, 0
	d.bound()
}
