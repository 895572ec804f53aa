package cc

import (
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// bicRound acknowledges one window as one: BIC's rules are per round trip.
func bicRound(b *Bic) { b.OnAck(0, b.Window()) }

func TestBicReno(t *testing.T) {
	b := NewBic(2)
	for _, want := range []float64{4, 8, 16} { // by what is acknowledged, up to 14 and past it at once
		bicRound(&b)
		wantNear(t, "window in slow start", b.Window(), want, 0)
	}
	b = NewBic(12)
	b.OnLoss(0)
	wantNear(t, "window after a loss below 14", b.Window(), 6, 0)
	bicRound(&b)
	wantNear(t, "window a round trip later, past the threshold", b.Window(), 7, 1e-12)
	for range 10 {
		b.OnECN(0)
	}
	wantNear(t, "least window", b.Window(), bicMin, 0)
}

// TestBicSearch follows the search of the paper: S_max a round trip while the middle is further away than that, then half of
// what is left, then beyond the maximum by steps that double.
func TestBicSearch(t *testing.T) {
	b := NewBic(100)
	bicRound(&b)
	wantNear(t, "window without a known maximum", b.Window(), 116, 1e-12)
	b.OnLoss(0) // the first one: fast convergence, since nothing was too much before
	wantNear(t, "window after the first loss", b.Window(), 58, 1e-12)
	wantNear(t, "maximum after it", b.most, 87, 1e-12)
	for b.Window() < 300 { // up to a loss above the last maximum
		bicRound(&b)
	}
	most := b.Window()
	b.most = most - 1
	b.OnLoss(0)
	wantNear(t, "maximum after a loss above the last one", b.most, most, 0)
	window := most / 2
	for window < most-1e-4 {
		step := min((most-window)/2, 16)
		window += step
		bicRound(&b)
		wantNear(t, "window in the search", b.Window(), window, 1e-9)
	}
	for !b.probing {
		bicRound(&b)
	}
	at := b.Window()
	for _, step := range []float64{1, 2, 4, 8} {
		bicRound(&b)
		at += step
		wantNear(t, "window when probing", b.Window(), at, 1e-9)
	}
	bicRound(&b)
	wantNear(t, "window once the step is S_max", b.Window(), at+16, 1e-9)
}

func TestBicConverges(t *testing.T) {
	b := NewBic(200)
	b.most = 150
	b.OnLoss(0) // above the last maximum: 200 was too much
	b.OnLoss(0) // and 100, too
	wantNear(t, "maximum after a loss below the last one", b.most, (100+50)/2, 1e-12)
}

// TestBicBounds: whatever happens, the window stays in its range and a loss never widens it.
func TestBicBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBic(rapid.Float64Range(2, 1<<24).Draw(t, "initial"))
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			before := b.Window()
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				b.OnLoss(0)
			case 1:
				b.OnTimeout(0)
			default:
				b.OnRTT(machine.Millisecond)
				b.OnAck(0, 1)
				if b.Window() < before {
					t.Fatalf("the window fell from %v to %v with an acknowledgement", before, b.Window())
				}
				continue
			}
			if b.Window() > before {
				t.Fatalf("the window grew from %v to %v with a loss", before, b.Window())
			}
			if w := b.Window(); !(w >= bicMin && w <= bicMost) {
				t.Fatalf("window %v", w)
			}
		}
	})
}

func TestBicRange(t *testing.T) {
	for _, initial := range []float64{0, 1.9, 1 << 25} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewBic(%v) didn't panic", initial)
				}
			}()
			NewBic(initial)
		}()
	}
}
