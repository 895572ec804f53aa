package lab

import (
	"fmt"
	"strconv"
	"strings"

	"mars/cc"
	"mars/internal/scenario"
)

// system says what runs on the hosts of a scenario.
type system struct {
	name string

	mars     bool
	everyone bool // relays run the strategy of the ends
	routers  bool // relays are plain IP routers
	single   bool // consumers know one next hop
	wait     bool // Data wait for discovery
	detours  bool
	profile  string // of nodes

	stream Stream
	routes func(w *scenario.World, flow int) [][]int // that a connection gets
}

// systems are those that the lab has. Those of endpoints may name their congestion control, as in MPTCP-Oracle:bbr.
var systems = []system{
	{name: "MARS", mars: true, profile: "mars", detours: true, routes: oracle},
	{name: "MARS-IP", mars: true, profile: "mars", routers: true, detours: true, routes: oracle},
	{name: "MARS-ENDPOINT", mars: true, profile: "mars", single: true, detours: true, routes: shortest},
	{name: "MARS-everywhere", mars: true, profile: "mars", everyone: true, detours: true},
	{name: "MARS-paper", mars: true, profile: "paper", wait: true, routes: oracle},
	{name: "MARS-IP-paper", mars: true, profile: "paper", routers: true, wait: true, routes: oracle},
	{name: "MARS-ENDPOINT-paper", mars: true, profile: "paper", single: true, wait: true, routes: shortest},
	{name: "MARS-everywhere-paper", mars: true, profile: "paper", everyone: true, wait: true},
	{name: "TCP", stream: Stream{Protocol: "tcp", Count: 1}, routes: shortest},
	{name: "QUIC", stream: Stream{Protocol: "quic", Count: 1}, routes: shortest},
	{name: "MPTCP-ECMP", stream: Stream{Protocol: "mptcp", Count: 1}, routes: shortest},
	{name: "MPTCP-Oracle", stream: Stream{Protocol: "mptcp", Count: 1}, routes: oracle},
	{name: "MPQUIC-ECMP", stream: Stream{Protocol: "mpquic", Count: 1}, routes: shortest},
	{name: "MPQUIC-Oracle", stream: Stream{Protocol: "mpquic", Count: 1}, routes: oracle},
}

// multipath tells whether connections have a subflow for each route.
func (s *system) multipath() bool {
	return s.stream.Protocol == "mptcp" || s.stream.Protocol == "mpquic"
}

// ours tells whether hosts themselves count what they send: the kernel doesn't know.
func (s *system) ours() bool { return s.stream.Protocol == "quic" || s.stream.Protocol == "mpquic" }

// Systems are the names of the systems that the lab has.
func Systems() []string {
	var names []string
	for i := range systems {
		names = append(names, systems[i].name)
	}
	return append(names, "8xTCP")
}

// controls are the congestion controls of endpoints that the kernel is asked for.
var controls = []string{"cubic", "bbr", "reno"}

const defaultControl = "cubic"

func findSystem(name string) (system, error) {
	base, control, named := strings.Cut(name, ":")
	count := 1
	if n, rest, ok := strings.Cut(base, "x"); ok && (rest == "TCP" || rest == "QUIC") {
		k, err := strconv.Atoi(n)
		if err != nil || k < 1 || k > 256 {
			return system{}, fmt.Errorf("%w: %q: %q is not a number of connections from 1 to 256", ErrNothing, name, n)
		}
		base, count = rest, k
	}
	for _, s := range systems {
		if s.name != base || named && (s.mars || s.stream.Protocol == "quic") {
			continue
		}
		s.name = name
		if !s.mars {
			s.stream.Count = count
		}
		if s.stream.Protocol == "mpquic" { // with the controllers of our own
			s.stream.Control = control
			if _, err := cc.Lookup(control); named && err != nil {
				return system{}, fmt.Errorf("%w: %q: %w", ErrNothing, name, err)
			}
			return s, nil
		}
		s.stream.Control = defaultControl
		if named {
			s.stream.Control = control
		}
		for _, c := range controls {
			if c == s.stream.Control {
				return s, nil
			}
		}
		return system{}, fmt.Errorf("%w: %q: the lab has the congestion controls %s", ErrNothing, name, strings.Join(controls, ", "))
	}
	return system{}, fmt.Errorf("%w: no system %q in the lab: there are %s; those of endpoints may name their congestion control, as in TCP:bbr", ErrNothing, name, strings.Join(Systems(), ", "))
}
