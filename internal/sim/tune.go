package sim

import (
	"fmt"
	"strconv"
	"strings"

	"mars/internal/machine"
)

// Tuning is the values that the paper leaves open and a sensitivity study varies. Zero: the profile's value.
type Tuning struct {
	Window   float64      // first W of a consumer's flow, chunks
	Standing machine.Time // what a flow may have in flight, as time of delivery
}

// Set sets one value by its name: window=CHUNKS or standing=TIME.
func (t *Tuning) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "window":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1<<20 {
			return fmt.Errorf("%q: window is a number of chunks from 1 to 1048576", text)
		}
		t.Window = float64(n)
	case "standing":
		ms, err := strconv.Atoi(strings.TrimSuffix(value, "ms"))
		if err != nil || ms < 1 || ms > 3_600_000 || !strings.HasSuffix(value, "ms") {
			return fmt.Errorf("%q: standing is a time from 1ms to 3600000ms", text)
		}
		t.Standing = machine.Time(ms) * machine.Millisecond
	default:
		return fmt.Errorf("%q: what can be tuned is window=CHUNKS and standing=TIME", text)
	}
	return nil
}
