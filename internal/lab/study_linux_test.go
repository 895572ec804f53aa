package lab

import (
	"errors"
	"testing"
)

// TestUnheld: a run is made again only when the machine held it up, only so often, and its result has no say in it.
func TestUnheld(t *testing.T) {
	held := []string{"late"}
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		held  [][]string // of each try
		fails int        // the try that fails; 0: none
		tries int
		stays bool // held up
	}{
		{"good at once", [][]string{nil}, 0, 1, false},
		{"good at last", [][]string{held, held, nil}, 0, 3, false},
		{"never good", [][]string{held, held, held, held, nil}, 0, tries, true},
		{"broken", [][]string{held, held}, 2, 0, false},
	} {
		made, told := 0, 0
		o, err := unheld(func() (outcome, error) {
			if made++; made == c.fails {
				return outcome{}, broken
			}
			return outcome{Held: c.held[made-1], Invalid: []string{"subflows"}}, nil
		}, func(string, ...any) { told++ })
		if c.fails > 0 {
			if !errors.Is(err, broken) || made != c.fails {
				t.Errorf("%s: %v after %d", c.name, err, made)
			}
			continue
		}
		if err != nil || o.Tries != c.tries || made != c.tries || len(o.Held) > 0 != c.stays {
			t.Errorf("%s: %v, %d tries of %d made, held %v", c.name, err, o.Tries, made, o.Held)
		}
		if want := made - 1; told != want && !(c.stays && told == made) {
			t.Errorf("%s: told %d times", c.name, told)
		}
		if again := repeated([][]outcome{{o}, {o}}); again != 2*(made-1) {
			t.Errorf("%s: %d repeated", c.name, again)
		}
	}
}
