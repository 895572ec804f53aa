package bench

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// SchemaVersion is that of the JSON; it changes when a key changes its meaning or goes away.
const SchemaVersion = 1

// Report is what a benchmark found. Keys end in their units.
type Report struct {
	Start     Start      `json:"start"`
	Intervals []Interval `json:"intervals"`
	End       End        `json:"end"`
}

// Start is under which circumstances it ran.
type Start struct {
	SchemaVersion int      `json:"schema_version"`
	Version       string   `json:"version"`
	Time          string   `json:"time"` // UTC, RFC 3339
	CPUs          int      `json:"cpus"`
	OS            string   `json:"os"`
	Arch          string   `json:"arch"`
	Go            string   `json:"go"`
	Load          float64  `json:"load_average_1min"` // −1: not known
	Tests         []string `json:"tests"`
}

// Interval is a part of one transfer.
type Interval struct {
	Test    string  `json:"test"`
	Run     int     `json:"run"`
	Start   float64 `json:"start_s"`
	End     float64 `json:"end_s"`
	Bytes   int64   `json:"bytes"` // verified and stored in it
	BitRate float64 `json:"bits_per_second"`
}

// End has the results, and what they tell about this machine.
type End struct {
	Forwarder []ForwarderResult `json:"forwarder,omitempty"`
	Crypto    []CryptoResult    `json:"crypto,omitempty"`
	Paths     []PathResult      `json:"paths,omitempty"`
	Latency   []LatencyResult   `json:"latency,omitempty"`
	Beside    []BesideResult    `json:"beside,omitempty"`
	Limits    []string          `json:"limits"` // sentences for people
}

// ForwarderResult is a forwarder in this process without sockets. Whoever makes and takes its packets isn't counted.
type ForwarderResult struct {
	Content       int     `json:"content_bytes"`  // of each Data
	MTU           int     `json:"datagram_bytes"` // the largest
	Cores         int     `json:"cores"`          // a forwarder on each, at once
	Data          int64   `json:"data"`           // forwarded in all
	PerData       float64 `json:"ns_per_data"`    // with its Interest; of one core
	PacketRate    float64 `json:"packets_per_second"`
	DataRate      float64 `json:"data_per_second"`
	ContentRate   float64 `json:"content_bits_per_second"`
	Allocations   float64 `json:"allocations_per_data"`
	DatagramsIn   float64 `json:"datagrams_in_per_data"`
	DatagramsOut  float64 `json:"datagrams_out_per_data"`
	OverheadShare float64 `json:"header_share"` // of the bytes on the wire toward the consumer, that aren't content
}

// CryptoResult is one operation on one core.
type CryptoResult struct {
	Operation string  `json:"operation"`
	Bytes     int     `json:"bytes,omitempty"` // of each message
	Rate      float64 `json:"operations_per_second"`
	Bandwidth float64 `json:"bytes_per_second,omitempty"`
}

// Run is one transfer.
type Run struct {
	Seconds  float64 `json:"seconds"`
	BitRate  float64 `json:"bits_per_second"` // of content
	Producer float64 `json:"producer_cpu_s"`  // of its process, with the kernel's part
	Consumer float64 `json:"consumer_cpu_s"`
	Nodes    float64 `json:"nodes_cpu_s,omitempty"` // of forwarders in processes of their own
	PerGB    float64 `json:"cpu_s_per_gb"`          // all of the above
	Resent   uint64  `json:"resent_interests"`
	Drops    uint64  `json:"kernel_drops"` // at the UDP sockets
	Load     float64 `json:"load_average_1min"`
}

// PathResult is an object that goes from process to process.
type PathResult struct {
	Test      string  `json:"test"`
	Over      string  `json:"over"`  // loopback or veth
	Shape     string  `json:"shape"` // embedded: an engine in each forwarder's process; applications: four processes
	MTU       int     `json:"mtu_bytes"`
	Datagram  int     `json:"datagram_bytes"` // the largest that the faces were given
	Encrypted bool    `json:"encrypted"`
	Offload   bool    `json:"segmentation_offload"`
	Stored    bool    `json:"stored"` // written to a file, and not only verified
	Bytes     int64   `json:"bytes"`
	Prepare   float64 `json:"prepare_cpu_s_per_gb"` // hashing at the producer, once per object, not part of the runs
	Runs      []Run   `json:"runs"`
	BitRate   float64 `json:"median_bits_per_second"`
	PerGB     float64 `json:"median_cpu_s_per_gb"`
}

// LatencyResult is a small object that is fetched again and again.
type LatencyResult struct {
	Test      string  `json:"test"`
	Over      string  `json:"over"`
	Encrypted bool    `json:"encrypted"`
	Bytes     int     `json:"bytes"`
	Fetches   int     `json:"fetches"`
	Median    float64 `json:"median_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
}

// BesideResult is other software over the same way.
type BesideResult struct {
	Test    string  `json:"test"`
	What    string  `json:"what"`
	MTU     int     `json:"mtu_bytes"`
	BitRate float64 `json:"median_bits_per_second"`
	PerGB   float64 `json:"median_cpu_s_per_gb"` // of the processes named in what; −1: not known
}

// JSON writes the report.
func (r *Report) JSON(w io.Writer) error {
	if r.Intervals == nil {
		r.Intervals = []Interval{}
	}
	if r.End.Limits == nil {
		r.End.Limits = []string{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// median of values; 0 without any.
func median[T cmp.Ordered](values []T) (m T) {
	if len(values) == 0 {
		return m
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// quantile is the value below which the part q of the sorted values is.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
