package channel

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream is the random stream of that name in the run with that seed. Streams are independent: a draw more in one leaves
// the others alone, so every compared system meets the same losses.
func Stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Chance is a probability as a threshold for 64 random bits.
type Chance uint64

// NewChance is p, 0…1.
func NewChance(p float64) Chance {
	switch {
	case !(p > 0):
		return 0
	case p >= 1:
		return 1<<64 - 1
	}
	return Chance(float64(p*(1<<53))) << 11
}

// Hits draws once; a chance of 0 draws nothing.
func (c Chance) Hits(r *rand.Rand) bool { return c != 0 && r.Uint64() < uint64(c) }
