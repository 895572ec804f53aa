package channel

import (
	"math/rand/v2"

	"mars/internal/scenario"
)

// Burst is the Gilbert loss model: in the bad state packets are lost with a chance of their own. The zero value loses nothing.
type Burst struct {
	Enter, Leave, Loss Chance
	bad                bool
}

// NewBurst is that of a direction.
func NewBurst(l scenario.Loss) Burst {
	return Burst{Enter: NewChance(l.BurstEnter), Leave: NewChance(l.BurstLeave), Loss: NewChance(l.BurstLoss)}
}

// A burst of SetBurst begins so often that a tenth of the packets meet one.
const (
	burstMean  = 10 // packets
	burstLeave = 1.0 / burstMean
	burstEnter = burstLeave / 9
)

// FaultBurst is the fault scenario.SetBurst: bursts that lose that part of their packets.
func FaultBurst(loss float64) Burst {
	return Burst{Enter: NewChance(burstEnter), Leave: NewChance(burstLeave), Loss: NewChance(loss)}
}

// Loses draws for one packet; without bursts it draws nothing.
func (b *Burst) Loses(r *rand.Rand) bool {
	if b.Enter == 0 {
		return false
	}
	if b.bad {
		b.bad = !b.Leave.Hits(r)
	} else {
		b.bad = b.Enter.Hits(r)
	}
	return b.bad && b.Loss.Hits(r)
}
