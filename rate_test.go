package mars

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]struct{ link, transfer Rate }{
		"0":         {0, 0},
		"100":       {100, 800},
		"1k":        {1e3, 8 << 10},
		"10M":       {10e6, 80 << 20},
		"10m":       {10e6, 80 << 20},
		"1.5G":      {1.5e9, 12 << 30},
		"2T":        {2e12, 16 << 40},
		" 10 Mbit ": {10e6, 10e6},
		"10Mbit":    {10e6, 10e6},
		"100kbit/s": {100e3, 100e3},
		"100Mbps":   {100e6, 100e6},
		"100Mb/s":   {100e6, 100e6},
		"3 bits/s":  {3, 3},
		"20MB/s":    {160e6, 160e6},
		"20MB":      {160e6, 160e6},
		"16MiB/s":   {128 << 20, 128 << 20},
		"1Gibit":    {1 << 30, 1 << 30},
		"4Ki":       {4 << 10, 32 << 10},
		"8B":        {64, 64},
	} {
		if got, err := ParseRate(text); err != nil || got != want.link {
			t.Errorf("ParseRate(%q) = %d, %v; want %d", text, got, err, want.link)
		}
		if got, err := ParseByteRate(text); err != nil || got != want.transfer {
			t.Errorf("ParseByteRate(%q) = %d, %v; want %d", text, got, err, want.transfer)
		}
	}
	for _, text := range []string{
		"", "M", "fast", "-1M", "+1M", "1e6", "1.2.3M", ".", "10X", "10Mbyte", "10Mb", "10M/s", "10 M B", "1kit", "1i", "10iB", "1,5M", "9999999T",
		"0.1bit", "NaN", "Inf", "10MM", "٣M",
	} {
		if got, err := ParseRate(text); err == nil || !strings.Contains(err.Error(), "100Mbit") {
			t.Errorf("ParseRate(%q) = %d, %v", text, got, err)
		}
	}
}

// TestRateString: what is printed reads back as the same rate.
func TestRateString(t *testing.T) {
	for rate, want := range map[Rate]string{0: "0bit", 1: "1bit", 1000: "1kbit", 1500: "1500bit", 100e6: "100Mbit", 2500e6: "2500Mbit", 3e12: "3Tbit"} {
		if got := rate.String(); got != want {
			t.Errorf("%d is %q, not %q", int64(rate), got, want)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		rate := Rate(rapid.Int64Range(0, 1<<50).Draw(r, "rate"))
		if got, err := ParseRate(rate.String()); err != nil || got != rate {
			r.Fatalf("%d, %v", got, err)
		}
	})
	if got := Rate(80).BytesPerSecond(); got != 10 {
		t.Errorf("80 bit/s are %v B/s", got)
	}
}
