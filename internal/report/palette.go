package report

import (
	"fmt"
	"slices"
	"strings"
)

// look is how a system is told from others: in colour, by the sign of its points and the dash of its lines, so that none of
// them is needed alone.
type look struct {
	colour string // token
	sign   int
	dash   string
}

// colour is a token's value on a light and on a dark ground.
type colour struct{ token, light, dark string }

// colours of systems are after Okabe and Ito (2008), who chose them to be told apart by colour-blind people; made darker or
// lighter until each has a contrast of 3 to its ground.
var colours = []colour{
	{"bg", "#ffffff", "#14171c"},
	{"ink", "#1b1f24", "#e8eaed"},
	{"muted", "#5c6570", "#a0a8b3"},
	{"grid", "#e3e6ea", "#2c323a"},
	{"edge", "#9aa3ad", "#5d6672"},
	{"s0", "#0072b2", "#56b4f9"},
	{"s1", "#d55e00", "#ff8a4c"},
	{"s2", "#008a65", "#2fc99a"},
	{"s3", "#b0508a", "#e79ac6"},
	{"s4", "#8f6a00", "#e6b93c"},
	{"s5", "#3b4cc0", "#a9b4ff"},
	{"s6", "#6b5b4d", "#c9b8a6"},
	{"s7", "#4d4d4d", "#c4c4c4"},
}

var looks = []look{
	{"s0", 0, ""},
	{"s1", 1, "7 3"},
	{"s2", 2, "2 2"},
	{"s3", 3, "9 3 2 3"},
	{"s4", 4, "4 2"},
	{"s5", 1, "3 2"},
	{"s6", 2, "10 3"},
	{"s7", 3, "5 2 1 2"},
}

// habitual gives the systems that are compared most their look, so that it is the same in every report.
var habitual = map[string]int{
	"MARS-paper": 0, "MARS": 0, "PCON": 1, "best-route": 4, "MARS-everywhere-paper": 2, "MARS-everywhere": 2,
	"MARS-ENDPOINT-paper": 3, "MARS-ENDPOINT": 3, "MARS-IP-paper": 5, "MARS-IP": 5, "QSF-like": 6,
	"MPQUIC-Oracle": 2, "MPTCP-Oracle": 3, "MPQUIC-ECMP": 5, "MPTCP-ECMP": 6,
}

// assign gives each system a look; those that would have another's take the next that is free.
func assign(systems []string) map[string]look {
	byName := make(map[string]look, len(systems))
	var used []int
	take := func(name string, i int) {
		for n := 0; n < len(looks) && slices.Contains(used, i); n++ {
			i = (i + 1) % len(looks)
		}
		used = append(used, i)
		byName[name] = looks[i]
	}
	for _, s := range systems {
		if i, ok := habitual[s]; ok && !slices.Contains(used, i) {
			take(s, i)
		}
	}
	for _, s := range systems {
		if _, ok := byName[s]; !ok {
			take(s, len(used)%len(looks))
		}
	}
	return byName
}

// sheet is the style sheet of the colours' classes: l-… for lines, f-… for areas and texts.
func sheet() string {
	var light, dark strings.Builder
	for _, c := range colours {
		fmt.Fprintf(&light, ".l-%s{stroke:%s}.f-%s{fill:%s}", c.token, c.light, c.token, c.light)
		fmt.Fprintf(&dark, ".l-%s{stroke:%s}.f-%s{fill:%s}", c.token, c.dark, c.token, c.dark)
	}
	return light.String() + "@media(prefers-color-scheme:dark){" + dark.String() + "}"
}
