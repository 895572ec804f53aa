//go:build planted

package disk

import (
	"testing"

	"mars/internal/planted"
)

// TestPlanted plants the bug of this package. A crash shows it within a thousand schedules, and the same crash is harmless without it.
func TestPlanted(t *testing.T) {
	defer planted.Plant(planted.None)
	for seed := range uint64(1000) {
		planted.Plant(planted.JournalFirst)
		wrong := crashes(t, seed)
		planted.Plant(planted.None)
		if wrong == "" {
			continue
		}
		if clean := crashes(t, seed); clean != "" {
			t.Fatalf("without the bug, too: %s", clean)
		}
		t.Log(wrong)
		return
	}
	t.Fatal("not found in 1000 schedules")
}
