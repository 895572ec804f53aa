package secure

import "mars/internal/machine"

// limiter is a token bucket: rate events a second, burst of them at once.
type limiter struct {
	rate, burst int64
	tokens      machine.Time // credit in time: one event costs Second/rate
	last        machine.Time
}

// take uses one token; false: there is none.
func (l *limiter) take(now machine.Time) bool {
	cost := machine.Second / machine.Time(l.rate)
	if l.last == 0 {
		l.tokens = cost * machine.Time(l.burst)
	}
	l.tokens = min(l.tokens+now-l.last, cost*machine.Time(l.burst))
	l.last = now
	if l.tokens < cost {
		return false
	}
	l.tokens -= cost
	return true
}
