package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What may be wrong in a scenario file. Errors of Load and Worlds satisfy errors.Is with one or several of these.
var (
	ErrSyntax    = errors.New("not a scenario file")
	ErrKey       = errors.New("unknown key")
	ErrMissing   = errors.New("missing key")
	ErrNode      = errors.New("unknown node, link or flow")
	ErrRoute     = errors.New("no route")
	ErrValue     = errors.New("bad value")
	ErrUnit      = errors.New("bad unit")
	ErrInclude   = errors.New("bad include")
	ErrSize      = errors.New("too large")
	ErrDuplicate = errors.New("duplicate name")
	ErrSystem    = errors.New("unknown system")
	ErrSweep     = errors.New("bad sweep")
)

// Error is one thing wrong in a scenario file. Its kind is one of the errors above.
type Error struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Key          string // "topology.links[0].rate"; "": the file as a whole
	Problem      string // what is wrong
	Remedy       string // what to write
	Kind         error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Problem + "; " + e.Remedy
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// maxErrors is how many errors are told at once.
const maxErrors = 20

// report collects errors, each once.
type report struct {
	list []*Error
	more int
}

func (r *report) add(e *Error) {
	switch {
	case slices.ContainsFunc(r.list, func(o *Error) bool { return *o == *e }):
	case len(r.list) == maxErrors:
		r.more++
	default:
		r.list = append(r.list, e)
	}
}

// err joins what was collected, in order; nil if there is nothing.
func (r *report) err() error {
	var all []error
	for _, e := range r.list {
		all = append(all, e)
	}
	if r.more > 0 {
		all = append(all, fmt.Errorf("and %d more: correct these first", r.more))
	}
	return errors.Join(all...)
}

// nearest returns how to name what was probably meant: "did you mean X?", or the list of what is known.
func nearest(name string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	const most = 30
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return "there are none here"
	case len(known) > most:
		return "known: " + strings.Join(known[:most], ", ") + ", …"
	}
	return "known: " + strings.Join(known, ", ")
}

// editDistance counts the insertions, deletions and replacements between a and b (Levenshtein).
func editDistance(a, b string) int {
	if max(len(a), len(b)) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0]++
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
