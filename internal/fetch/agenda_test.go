package fetch

import (
	"slices"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

type entry struct {
	at  machine.Time
	id  uint64
	pos int
}

func (e *entry) due() (machine.Time, uint64) { return e.at, e.id }
func (e *entry) place() *int                 { return &e.pos }

// TestAgendaProperty compares an agenda with a sorted list, under entering, moving and leaving from anywhere.
func TestAgendaProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda[*entry]
		var list []*entry
		all := make([]*entry, 20)
		for i := range all {
			all[i] = &entry{id: uint64(i)}
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			e := all[rapid.IntRange(0, len(all)-1).Draw(t, "entry")]
			list = slices.DeleteFunc(list, func(x *entry) bool { return x == e })
			if rapid.Bool().Draw(t, "remove") {
				a.remove(e)
			} else {
				e.at = machine.Time(rapid.IntRange(0, 9).Draw(t, "at"))
				a.put(e)
				list = append(list, e)
			}
			slices.SortFunc(list, func(x, y *entry) int {
				if x.at != y.at {
					return int(x.at - y.at)
				}
				return int(x.id) - int(y.id)
			})
			switch {
			case len(list) == 0 && a.at() != machine.Never:
				t.Fatal("empty, and something is due")
			case len(list) > 0 && (a.first() != list[0] || a.at() != list[0].at):
				t.Fatalf("first is %v, want %v", a.first(), list[0])
			}
		}
		for _, want := range list {
			if a.first() != want {
				t.Fatalf("first is %v, want %v", a.first(), want)
			}
			a.remove(want)
			if want.pos != 0 {
				t.Fatal("it has left, and has a place")
			}
		}
	})
}
