package fetch

import (
	"math"
	"slices"

	"mars/internal/machine"
)

// limit caps what all flows of an engine ask for together, whatever their rates R allow.
type limit struct {
	rate   float64 // bytes of Data per second; 0: no limit
	tokens float64 // bytes that may be asked for now
	at     machine.Time
}

// Limit caps the Data that the engine asks for, in bytes per second of content and manifest, sent-again Interests included;
// 0: no limit. A limit below 1 B/s counts as that.
func (e *Engine) Limit(now machine.Time, bytesPerSecond float64) {
	e.now, e.limit = now, limit{at: now}
	if bytesPerSecond > 0 && bytesPerSecond <= math.MaxInt64 {
		e.limit.rate = max(bytesPerSecond, 1)
	}
	for _, f := range slices.Clone(e.flows.agenda.heap) { // those that wait for the old limit needn't
		e.flows.stir(now, f)
	}
}

// affords tells whether an Interest may be sent now, and if not, when.
func (l *limit) affords(now machine.Time) (bool, machine.Time) {
	if l.rate == 0 {
		return true, 0
	}
	l.tokens = min(l.tokens+float64(l.rate*(now-l.at).Seconds()), float64(l.rate*rateBurst.Seconds()))
	l.at = now
	if l.tokens >= 0 {
		return true, 0
	}
	return false, now + machine.Time(-l.tokens/l.rate*1e9) + 1
}

// spend counts an Interest that asks for size bytes.
func (l *limit) spend(size int) {
	if l.rate > 0 {
		l.tokens -= float64(size)
	}
}
