package foreign

import (
	"math"

	"mars/internal/machine"
	"mars/internal/wire"
)

// burst is how much credit an idle engine may save up; it covers coarse timers.
const burst = 10 * machine.Millisecond

// limit caps what all transfers of an engine ask for together. How large a segment is shows when it is here, so each is first
// counted as the last one was, and put right then.
type limit struct {
	rate   float64 // bytes of content per second; 0: no limit
	tokens float64 // bytes that may be asked for now
	at     machine.Time
	guess  float64 // bytes of a segment
}

// Limit caps the content that the engine asks for, in bytes per second, sent-again Interests included; 0: no limit. A limit
// below 1 B/s counts as that.
func (e *Engine) Limit(now machine.Time, bytesPerSecond float64) {
	e.now, e.limit = now, limit{at: now, guess: wire.ChunkSize}
	if bytesPerSecond > 0 && bytesPerSecond <= math.MaxInt64 {
		e.limit.rate = max(bytesPerSecond, 1)
	}
}

// opens is when the next Interest for a segment may be sent.
func (l *limit) opens(now machine.Time) machine.Time {
	if l.rate == 0 {
		return now
	}
	l.tokens = min(l.tokens+float64(l.rate*(now-l.at).Seconds()), float64(l.rate*burst.Seconds()))
	l.at = now
	if l.tokens >= 0 {
		return now
	}
	return now + machine.Time(-l.tokens/l.rate*1e9) + 1
}

// spend counts an Interest for a segment.
func (l *limit) spend() {
	if l.rate > 0 {
		l.tokens -= l.guess
	}
}

// arrived puts right what spend guessed.
func (l *limit) arrived(size int) {
	if l.rate > 0 {
		l.tokens += l.guess - float64(size)
		l.guess = max(float64(size), 1)
	}
}

// sends tells whether t has an Interest to send now that the limit allows. Questions are free.
func (e *Engine) sends(t *transfer, now machine.Time) bool {
	return t.sends(now) && (t.state != fetching || e.limit.opens(now) <= now)
}

// due is when t has something to do next.
func (e *Engine) due(t *transfer) machine.Time {
	if t.state != fetching || !t.sends(e.now) {
		return t.deadline(e.now)
	}
	return min(e.limit.opens(e.now), t.stallsAt(), t.window.deadline(e.now))
}
