package scenario

import (
	"maps"
	"slices"
)

// SchemaVersion is that of Result.
const SchemaVersion = 1

// Result is what a runner writes: the same from the simulator and the lab (schema: docs/result.schema.json).
type Result struct {
	SchemaVersion int      `json:"schema_version"`
	Scenario      string   `json:"scenario"`
	Title         string   `json:"title,omitempty"`
	Manifest      Manifest `json:"manifest"`
	Points        []Point  `json:"points"`
}

// Manifest says what was run, where and how.
type Manifest struct {
	Runner       string            `json:"runner"` // sim, lab
	Version      string            `json:"version"`
	ScenarioHash string            `json:"scenario_hash"` // SHA-256 of the expanded scenario
	FirstSeed    uint64            `json:"first_seed"`
	Seeds        int               `json:"seeds"`
	GOARCH       string            `json:"goarch"`
	GOOS         string            `json:"goos"`
	CPU          string            `json:"cpu,omitempty"`
	Kernel       string            `json:"kernel,omitempty"`
	Encrypted    bool              `json:"encrypted"`
	Dilation     float64           `json:"dilation,omitempty"`
	Sysctls      map[string]string `json:"sysctls,omitempty"`
	Invalid      []string          `json:"invalid,omitempty"` // why the run doesn't count
	Notes        []string          `json:"notes,omitempty"`   // assumptions and reconstructions, to be printed with every table
}

// Point is one set of swept parameters.
type Point struct {
	Params  map[string]float64 `json:"params"`
	Bounds  Bounds             `json:"bounds"`
	Systems []System           `json:"systems"`
	Paper   []PaperValue       `json:"paper,omitempty"`
}

// Bounds are the limits of physics for equal treatment of all flows (evaluation.md, "The bound"): seconds from a flow's start
// to 95% and 100% of its object. −1: none was found.
type Bounds struct {
	PayloadT95  []float64 `json:"payload_t95_s"` // per flow: headers free, every path within the stretch
	PayloadT100 []float64 `json:"payload_t100_s"`
	MaxT95      float64   `json:"max_t95_s"`     // of PayloadT95
	Isolated    []float64 `json:"isolated_mbps"` // per flow: max-flow if it were alone
}

// PaperValue is a number of the source paper beside which ours is printed.
type PaperValue struct {
	System string  `json:"system"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Source string  `json:"source,omitempty"`
}

// System is one system at one point, over all seeds.
type System struct {
	Name    string    `json:"name"`
	Summary Summary   `json:"summary"`
	Wire    WireBound `json:"wire_bound"`
	Runs    []Run     `json:"runs"`
	// Measured is how the figures of the runs spread, where flows were measured over a window: by the names of Run.Measured.
	Measured map[string]Spread `json:"measured,omitempty"`
}

// WireBound is Bounds with the system's own headers charged: IP bytes per payload byte of first transmissions, Interests and
// acknowledgements included, and the loss rate taken off.
type WireBound struct {
	MaxT95  float64 `json:"max_t95_s"`
	MaxT100 float64 `json:"max_t100_s"`
	// BytesPerByte is the IP bytes of first transmissions on one link per byte of payload that it carries.
	BytesPerByte float64 `json:"bytes_per_payload_byte"`
}

// Estimate is a statistic over seeds with its bootstrap confidence interval. −1 stands for what is not known because flows had
// not ended at the limit: for times it means later than that.
type Estimate struct {
	Median float64    `json:"median"`
	CI95   [2]float64 `json:"ci95"`
}

// Summary is computed by Summarise from the runs, and by nothing else.
type Summary struct {
	MaxT95               Estimate `json:"max_t95_s"`
	MaxT95AfterDiscovery Estimate `json:"max_t95_after_discovery_s"`
	MedianT95            Estimate `json:"median_t95_s"`
	MinT95               Estimate `json:"min_t95_s"`
	MaxT100              Estimate `json:"max_t100_s"`
	Tail                 Estimate `json:"tail_s"`     // median over flows of T100 − T95
	TailShare            Estimate `json:"tail_share"` // and of (T100 − T95)/T100
	Jain                 Estimate `json:"jain"`       // median over groups
	MinJain              Estimate `json:"jain_min"`   // of the groups
	Overhead             Estimate `json:"overhead"`   // IP bytes sent on all links per payload byte and link of the shortest path, less 1
	RetransmitRatio      Estimate `json:"retransmit_ratio"`
	Paths                Estimate `json:"paths"`           // validated by the source, median over flows
	DiscoveryMS          Estimate `json:"discovery_ms"`    // median over groups of the slowest of the group, as the paper counts
	DiscoveryShare       Estimate `json:"discovery_share"` // median over flows of discovery ÷ T100
	BoundRatio           Estimate `json:"bound_ratio"`     // max T95 over its wire bound
	Unfinished           int      `json:"unfinished"`      // flows that had not ended at the limit, over all runs
	Flows                int      `json:"flows"`           // of that many
}

// Run is one system with one seed.
type Run struct {
	Seed       uint64       `json:"seed"`
	TraceHash  string       `json:"trace_hash"`
	Flows      []FlowResult `json:"flows"`
	LinkBytes  int64        `json:"link_bytes"`                 // IP bytes sent, over all links
	LinkDrops  int64        `json:"link_drops"`                 // by full queues
	LinkLosses int64        `json:"link_losses"`                // by the loss model
	Looped     int64        `json:"looped_interests,omitempty"` // Interests that came back to a node that had them
	Events     int64        `json:"events"`                     // packets sent, each on one link
	SimSeconds float64      `json:"sim_s"`
	WallSecond float64      `json:"wall_s,omitempty"` // not part of what must repeat
	// Values are the metrics of this run alone, by name; −1: not known. Summarise sets them.
	Values map[string]float64 `json:"values,omitempty"`
	// Measured are the figures of a window, by name (measure.go); none where flows are timed to their end.
	Measured map[string]float64 `json:"measured,omitempty"`
}

// FlowResult is one flow of one run. Times count from the flow's start. A flow that didn't end has T95 or T100 −1.
type FlowResult struct {
	Name              string  `json:"name"`
	Group             int     `json:"group"`
	T95               float64 `json:"t95_s"`
	T95AfterDiscovery float64 `json:"t95_after_discovery_s"`
	T100              float64 `json:"t100_s"`
	Goodput           float64 `json:"goodput_mbps"` // object ÷ T100
	Paths             int     `json:"paths"`
	DiscoveryMS       float64 `json:"discovery_ms"`
	Requests          int64   `json:"requests"` // first transmissions, chunks or packets
	Resent            int64   `json:"resent"`   // and repeated ones
	Corrupt           int64   `json:"corrupt"`
	// Series is the goodput in Mbit/s over SeriesStep-long steps from the flow's start; empty unless asked for.
	SeriesStep float64   `json:"series_step_s,omitempty"`
	Series     []float64 `json:"series_mbps,omitempty"`
	// Graph is where the flow's requests may go when discovery has ended; empty unless asked for.
	Graph []Hop `json:"graph,omitempty"`
	// Subflows are those of a flow that was measured over a window, in the order of its paths.
	Subflows []Subflow `json:"subflows,omitempty"`
	// Detections are what its congestion control took for shared bottlenecks, from the first verdict on: a new one for each change.
	Detections []Detection `json:"detections,omitempty"`
}

// Subflow is one path of a measured flow.
type Subflow struct {
	Goodput float64 `json:"goodput_mbps"` // received over the window
	Lost    int64   `json:"lost"`         // segments taken for lost, over the whole run
	// Series is what it received in Mbit/s over the steps of the measurement, from the beginning of the run; kept of the first seed.
	Series []float64 `json:"series_mbps,omitempty"`
}

// Detection is a verdict on shared bottlenecks: subflows with the same number share one.
type Detection struct {
	At     float64 `json:"at_s"`
	Groups []int   `json:"groups"`
}

// Hop is one way on from a node for the requests of a flow.
type Hop struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Tier  int    `json:"tier,omitempty"` // of candidates that are equally far, from 0
	State string `json:"state"`          // what discovery found, or "route" where a node only follows its routes
	Used  bool   `json:"used"`
	Why   string `json:"why,omitempty"` // why it isn't used
}

// Systems are the names of a result's systems, each once, in order.
func (r *Result) Systems() []string {
	var names []string
	for i := range r.Points {
		for j := range r.Points[i].Systems {
			if name := r.Points[i].Systems[j].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// at is the point of these parameters; nil: there is none.
func (r *Result) at(params map[string]float64) *Point {
	i := slices.IndexFunc(r.Points, func(p Point) bool { return maps.Equal(p.Params, params) })
	if i < 0 {
		return nil
	}
	return &r.Points[i]
}

// Has tells whether the result has a point of these parameters.
func (r *Result) Has(params map[string]float64) bool { return r.at(params) != nil }
