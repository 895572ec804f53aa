package cc

import (
	"fmt"
	"strings"
)

// Algorithm is a congestion controller by name.
type Algorithm struct {
	Name        string // as on the command line
	Description string // one line
	Source      string
	// Reconstruction tells what had to be made up because the source wasn't available in full; empty: nothing. Results that are shown
	// say so.
	Reconstruction string

	make func(mss int) Controller
}

// MaxMSS is the largest segment that New takes, bytes.
const MaxMSS = 1 << 16

// New returns a controller for segments of mss bytes, 1…MaxMSS.
func (a Algorithm) New(mss int) (Controller, error) {
	if mss < 1 || mss > MaxMSS {
		return nil, fmt.Errorf("cc: segments of %d bytes: use 1 to %d", mss, MaxMSS)
	}
	if a.make == nil {
		return nil, fmt.Errorf("cc: an Algorithm that isn't of Algorithms: use Lookup")
	}
	return a.make(mss), nil
}

// window makes the constructor of a conn.
func window(r rule, hystart bool) func(int) Controller {
	return func(mss int) Controller {
		c := newConn(mss, r)
		c.hystart = hystart
		return c
	}
}

// Algorithms lists all controllers, single-path ones first. Those run every subflow for itself.
func Algorithms() []Algorithm {
	const (
		asLe   = "coupling is that of le-mpcubic"
		mpquic = "De Coninck and Bonaventure, CoNEXT 2017"
		asCode = "its β 0.85 and α_c 0.97, with RFC 9438, RFC 9406 and OLIA's draft for all else"
	)
	return []Algorithm{
		{"reno", "NewReno", "RFC 5681, RFC 6582", "", window(reno{}, false)},
		{"cubic", "CUBIC with HyStart++", "RFC 9438, RFC 9406", "", window(mpcubic{}, true)},
		{"bbr", "BBR v1, by model instead of loss", "draft-cardwell-iccrg-bbr-congestion-control-00", "", newBBR},
		{"lia", "Linked Increases", "RFC 6356", "", window(lia{}, false)},
		{"olia", "Opportunistic Linked Increases", "draft-khalili-mptcp-congestion-control-05", "", window(olia{}, false)},
		{"balia", "Balanced Linked Adaptation", "draft-walid-mptcp-congestion-control-04", "", window(balia{}, false)},
		{"u-mpcubic", "CUBIC per subflow, uncoupled", "RFC 9438", "", window(mpcubic{}, true)},
		{"le-mpcubic", "MPCUBIC of Le et al.", "IEEE Communications Letters, 2012", "the text wasn't available: CUBIC with C·f² and α_c·f", window(lecubic{}, true)},
		{
			"coupled-cubic", "Coupled CUBIC", "“Coupled CUBIC congestion control”, 2021",
			"only the abstract was available: f times CUBIC's increment", window(coupledcubic{}, true),
		},
		{"ferlin-mpcubic", "MPCUBIC behind shared-bottleneck detection by delay", "RFC 8382; Ferlin et al., INFOCOM 2016", asLe, newFerlin},
		{
			"ba-mpcubic", "bottleneck-aware MPCUBIC: ECN, loss and RTT filters", "Sensors 2021, 21(18), 6289",
			"pseudocode wasn't available: evidence, decision and hysteresis; " + asLe, func(mss int) Controller { return newBA(mss, true) },
		},
		{
			"ba-mpcubic-noecn", "bottleneck-aware MPCUBIC: loss and RTT filters", "Sensors 2021, 21(18), 6289",
			"as ba-mpcubic", func(mss int) Controller { return newBA(mss, false) },
		},
		{"cubic-mpquic", "CUBIC as two connections, of mp-quic's first path", mpquic, asCode, window(twinCubic{}, true)},
		{"olia-mpquic", "OLIA with the decrease of two connections, of mp-quic's other paths", mpquic, asCode, window(twinOLIA{}, true)},
	}
}

// Lookup finds an algorithm by name. The error lists what there is.
func Lookup(name string) (Algorithm, error) {
	all := Algorithms()
	names := make([]string, len(all))
	for i, a := range all {
		if a.Name == name {
			return a, nil
		}
		names[i] = a.Name
	}
	return Algorithm{}, fmt.Errorf("cc: no congestion controller %q: use one of %s", name, strings.Join(names, ", "))
}
