package report

import (
	"math"
	"strconv"
	"testing"
)

// luminance is that of WCAG 2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestContrast: text can be read and lines be seen on both grounds (WCAG 2 §1.4.3 and §1.4.11).
func TestContrast(t *testing.T) {
	contrast := func(a, b string) float64 {
		x, y := luminance(t, a), luminance(t, b)
		return (max(x, y) + 0.05) / (min(x, y) + 0.05)
	}
	ground := colours[0]
	for _, c := range colours[1:] {
		least := 4.5 // names of systems are written in their colours
		switch c.token {
		case "grid":
			continue // meant to be hardly seen
		case "edge":
			least = 2
		case "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7":
			least = 3.8 // bold, and beside a legend in ink
		}
		if light, dark := contrast(c.light, ground.light), contrast(c.dark, ground.dark); light < least || dark < least {
			t.Errorf("%s: contrast %.2f on light, %.2f on dark", c.token, light, dark)
		}
	}
}

// TestAssign: systems never share a look, and those that are known keep theirs.
func TestAssign(t *testing.T) {
	got := assign([]string{"new", "PCON", "MARS-paper", "MARS", "best-route", "other"})
	if got["MARS-paper"] != looks[0] || got["PCON"] != looks[1] || got["best-route"] != looks[4] {
		t.Errorf("%v", got)
	}
	seen := map[look]string{}
	for name, l := range got {
		if seen[l] != "" {
			t.Errorf("%s and %s look the same", name, seen[l])
		}
		seen[l] = name
	}
}
