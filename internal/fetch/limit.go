package fetch

import "mars/internal/machine"

// limit caps what all flows of an engine ask for together, whatever their rates R allow.
type limit struct {
	rate   float64 // bytes of Data per second; 0: no limit
	tokens float64 // bytes that may be asked for now
	at     machine.Time
}

// Limit caps the Data that the engine asks for, in bytes per second of content and manifest, sent-again Interests included;
// 0: no limit.
func (e *Engine) Limit(now machine.Time, bytesPerSecond float64) {
	e.now = now
	e.limit = limit{rate: max(bytesPerSecond, 0), at: now}
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
