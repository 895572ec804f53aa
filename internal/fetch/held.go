package fetch

// Held is why the engine asks for no more at the moment, for people who ask what limits a transfer.
type Held struct {
	Transfers   int // that have something to fetch
	Application int // of these, whose application has as much as it may have to settle
	Limited     bool
	InFlight    int     // Interests, of all flows
	Window      float64 // that may be, of all flows
}

// Held looks at all transfers.
func (e *Engine) Held() (h Held) {
	for _, t := range e.transfers { // order: sums only
		if t.state != active {
			continue
		}
		h.Transfers++
		if t.outCount+t.kept >= e.cfg.MaxUnsettled || t.ahead > 0 && t.cursor < t.end && !t.within(t.cursor) {
			h.Application++
		}
	}
	for _, f := range e.flows.byDest { // order: sums only
		if f.transfers > 0 {
			h.InFlight += f.inflight
			h.Window += f.window
		}
	}
	h.Limited = e.limit.rate > 0 && e.limit.tokens < 0
	return h
}
