package sim

import (
	"hash/fnv"
	"math/rand/v2"
)

// stream is the random stream of that name in the run with that seed. Streams are independent: a draw more in one leaves
// the others alone, so every compared system meets the same losses.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// chance is a probability as a threshold for 64 random bits.
type chance uint64

func newChance(p float64) chance {
	switch {
	case !(p > 0):
		return 0
	case p >= 1:
		return 1<<64 - 1
	}
	return chance(float64(p*(1<<53))) << 11
}

// hits draws once; a chance of 0 draws nothing.
func (c chance) hits(r *rand.Rand) bool { return c != 0 && r.Uint64() < uint64(c) }
