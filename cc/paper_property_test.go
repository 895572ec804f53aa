package cc

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// call is one call of a controller's methods with arbitrary arguments.
type call struct {
	method int
	gap    machine.Time
	a, b   float64
}

func (c call) String() string { return fmt.Sprintf("{%d +%d %v %v}", c.method, c.gap, c.a, c.b) }

func calls(t *rapid.T) []call {
	value := rapid.OneOf(
		rapid.Float64(),
		rapid.Float64Range(0, 1),
		rapid.Float64Range(0, 1e7),
		rapid.SampledFrom([]float64{0, 1, 0.5, 0.8, math.NaN(), math.Inf(1), math.Inf(-1), -1, math.MaxFloat64, math.SmallestNonzeroFloat64}),
	)
	gap := rapid.OneOf(
		rapid.Int64Range(0, int64(30*ms)),
		rapid.Int64Range(0, int64(machine.Second)),
		rapid.Int64Range(0, 1e15),
		rapid.Just(int64(0)),
	)
	one := rapid.Custom(func(t *rapid.T) call {
		return call{rapid.IntRange(0, 4).Draw(t, "method"), machine.Time(gap.Draw(t, "gap")), value.Draw(t, "a"), value.Draw(t, "b")}
	})
	return rapid.SliceOfN(one, 0, 200).Draw(t, "calls")
}

// play runs calls and returns R and B̂ after each.
func play(p Paper, list []call) (states [][2]float64) {
	now := machine.Time(0)
	for _, c := range list {
		now += c.gap
		switch c.method {
		case 0:
			p.OnFeedback(now, c.a, c.b)
		case 1:
			p.OnDelivered(now, c.a)
		case 2:
			p.OnCongestion(now)
		case 3:
			p.OnRTT(c.gap)
		case 4:
			p.Advance(now)
		}
		states = append(states, [2]float64{p.Rate(), p.Estimate()})
	}
	return states
}

// TestRateIsSaneProperty: whatever is fed, at whatever times, R is a number between its bounds and B̂ one that is not
// negative; and the same calls give the same bits.
func TestRateIsSaneProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := PaperConfig{
			GammaMax: rapid.SampledFrom([]float64{PaperGammaConsumer, PaperGammaForwarder}).Draw(t, "gamma"),
			Min:      rapid.Float64Range(1e-3, 1e6).Draw(t, "min"), Consumer: rapid.Bool().Draw(t, "consumer"),
		}
		cfg.Initial = cfg.Min * rapid.Float64Range(1, 1e5).Draw(t, "initial")
		list := calls(t)
		states := play(NewPaper(cfg), list)
		for i, s := range states {
			if !(s[0] >= cfg.Min && s[0] <= paperMaxRate) {
				t.Fatalf("R = %v after %v", s[0], list[:i+1])
			}
			if !(s[1] >= 0 && s[1] <= math.MaxFloat64) {
				t.Fatalf("B̂ = %v after %v", s[1], list[:i+1])
			}
		}
		if again := play(NewPaper(cfg), list); !slices.Equal(states, again) {
			t.Fatal("the same calls gave another result")
		}
	})
}
