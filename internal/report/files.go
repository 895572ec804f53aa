package report

import (
	"fmt"
	"strings"

	"mars/internal/scenario"
)

// File is one picture as a file.
type File struct {
	Name string
	Text []byte
}

// SVG returns every figure of the results as a file of its own, which brings its colours with it, light and dark.
func SVG(results []*scenario.Result) (all []File) {
	boards(results, func(name string, p *picture) {
		all = append(all, File{name + ".svg", []byte(p.svg("f", true))})
	})
	return all
}

// boards calls do with every figure of the results and the name of its file. With several results the names begin with the
// scenario's, and with a number where scenarios are the same.
func boards(results []*scenario.Result, do func(name string, p *picture)) {
	for i, r := range results {
		for _, f := range newStudy(r).figures() {
			name := f.name
			if len(results) > 1 {
				name = fmt.Sprintf("%d-%s-%s", i+1, plain(r.Scenario), f.name)
			}
			do(name, f.board())
		}
	}
}

// plain leaves of a name what may be in the name of a file.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}
