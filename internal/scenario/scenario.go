package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Scenario is one scenario file with what it includes. World by World it says what is run.
type Scenario struct {
	Name  string
	Title string
	// Notes are assumptions and reconstructions ("[R] …"), to be printed with every table.
	Notes   []string
	Systems []string // at least one, of KnownSystems
	// Controls are the congestion controllers with which each endpoint system is run; none: with its default.
	Controls []string
	Seeds    Seeds
	// Series is the length of the steps of FlowResult.Series; 0: none asked for.
	Series time.Duration
	Paper  []PaperPoint

	root   *value
	sweep  []sweptParam
	worlds []World
}

// Seeds are First, First+1, … of which Count are run.
type Seeds struct {
	First uint64
	Count int
}

// PaperPoint is a value of the source paper and the points of the sweep that it belongs to: those where every parameter of At
// has that value.
type PaperPoint struct {
	PaperValue
	At []Param
}

// KnownSystems returns the names that a scenario may list, in the order in which they are told. Those of endpoints may name their
// congestion control, as in TCP:bbr; TCP and QUIC how many connections share an object, as in 8xTCP.
func KnownSystems() []string {
	return []string{
		"MARS", "MARS-IP", "MARS-ENDPOINT", "MARS-everywhere",
		"MARS-paper", "MARS-IP-paper", "MARS-ENDPOINT-paper", "MARS-everywhere-paper",
		"PCON", "PCON-loop-free", "PCON-even", "best-route", "QSF-like",
		"MPTCP-ECMP", "MPTCP-Oracle", "MPQUIC-ECMP", "MPQUIC-Oracle", "TCP", "QUIC",
	}
}

// connections are several TCP or QUIC connections per object.
var connections = regexp.MustCompile(`^[1-9][0-9]{0,2}x(TCP|QUIC)$`)

func parseSystem(name string) (string, error) {
	base, control, named := strings.Cut(name, ":")
	if named {
		if _, err := parseControl(control); err != nil {
			return "", err
		}
	}
	endpoints := strings.HasSuffix(base, "TCP") || strings.HasSuffix(base, "QUIC") || strings.HasPrefix(base, "MP")
	if !slices.Contains(KnownSystems(), base) && !connections.MatchString(base) || named && !endpoints {
		return "", bad(ErrSystem, nearest(base, KnownSystems()), "unknown system %q", name)
	}
	return name, nil
}

// Load reads a scenario file and what it includes, and expands every point of its sweep. What is wrong comes as one or more
// *Error, joined, each with file, line and column.
func Load(path string) (*Scenario, error) {
	return loadFrom(filepath.Clean(path), os.ReadFile)
}

// loadFrom is Load with the files in the caller's hands.
func loadFrom(path string, read func(string) ([]byte, error)) (*Scenario, error) {
	l := &loader{read: read}
	root := l.load(path, place{file: path}, nil)
	if root == nil || len(l.report.list) > 0 {
		return nil, l.report.err()
	}
	s := &Scenario{root: root}
	s.head(&l.report)
	if len(l.report.list) == 0 {
		s.expand(&l.report)
	}
	if err := l.report.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Worlds returns every point of the sweep, the first parameter of the file changing slowest. The caller owns them.
func (s *Scenario) Worlds() ([]World, error) {
	var r report
	again := &Scenario{root: s.root, sweep: s.sweep}
	again.expand(&r)
	return again.worlds, r.err()
}

// Hash is the SHA-256 of the expanded scenario: of all that decides about a run's outcome, however the file is written.
func (s *Scenario) Hash() string {
	text, err := json.Marshal(struct {
		Schema  int
		Name    string
		Systems []string
		Seeds   Seeds
		Series  time.Duration
		Worlds  []World
		CC      []string `json:",omitempty"`
	}{SchemaVersion, s.Name, s.Systems, s.Seeds, s.Series, s.worlds, s.Controls})
	if err != nil {
		panic(err) // the loader lets no number in that JSON can't hold
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// PaperAt returns the paper's values for one point, in the order of the file.
func (s *Scenario) PaperAt(w *World) (list []PaperValue) {
	for _, p := range s.Paper {
		if !slices.ContainsFunc(p.At, func(at Param) bool { return !slices.Contains(w.Params, at) }) {
			list = append(list, p.PaperValue)
		}
	}
	return list
}

// ParamMap returns the point's parameters as Point has them.
func (w *World) ParamMap() map[string]float64 {
	m := make(map[string]float64, len(w.Params))
	for _, p := range w.Params {
		m[p.Name] = p.Value
	}
	return m
}

// FlowIndex returns the index of the flow with that name, or −1.
func (w *World) FlowIndex(name string) int {
	return slices.IndexFunc(w.Flows, func(f Flow) bool { return f.Name == name })
}
