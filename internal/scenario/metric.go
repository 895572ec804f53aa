package scenario

import "slices"

// Metric is one statistic of a Summary: its name in JSON and how people read it.
type Metric struct {
	Name     string
	Head     string // of a column, with its unit
	What     string // what is measured, in words
	Decimals int
	Percent  bool // the value is a part of one
	Better   int  // −1: less is better, +1: more is, 0: neither
}

// Metrics lists every metric, in the order of Summary's fields.
func Metrics() []Metric {
	return []Metric{
		{"max_t95_s", "max T95 s", "the slowest flow's time from its request to 95% of its object", 2, false, -1},
		{"max_t95_after_discovery_s", "after discovery s", "the slowest flow's time from the end of its discovery to 95% of its object", 2, false, -1},
		{"median_t95_s", "median T95 s", "the median flow's time from its request to 95% of its object", 2, false, -1},
		{"min_t95_s", "min T95 s", "the fastest flow's time from its request to 95% of its object", 2, false, -1},
		{"max_t100_s", "max T100 s", "the slowest flow's time from its request to its whole object", 2, false, -1},
		{"tail_s", "tail s", "the median flow's time for the last 5% of its object", 2, false, -1},
		{"tail_share", "tail %", "the same as a part of its T100; a constant rate has 5%", 2, true, -1},
		{"jain", "Jain", "Jain's index of average goodput, median over groups of flows", 5, false, +1},
		{"jain_min", "lowest Jain", "Jain's index of average goodput, the least fair group's", 5, false, +1},
		{"overhead", "overhead %", "IP bytes sent on all links beyond the payload over the links of the shortest paths", 1, true, -1},
		{"retransmit_ratio", "resent %", "requests repeated, of those made", 2, true, -1},
		{"paths", "paths", "paths validated at the source, the median flow's", 1, false, 0},
		{"discovery_ms", "discovery ms", "the slowest discovery of a group, median over groups", 0, false, -1},
		{"discovery_share", "discovery % of T100", "discovery as a part of T100, the median flow's", 1, true, -1},
		{"bound_ratio", "÷ bound", "max T95 over the limit of physics with the system's own headers", 3, false, -1},
	}
}

// MetricOf returns the metric of a name.
func MetricOf(name string) (Metric, bool) {
	all := Metrics()
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return all[i], true
}

// Text writes a value of the metric without its unit; "–" for −1, which isn't known.
func (m Metric) Text(x float64) string {
	return column{decimals: m.Decimals, percent: m.Percent}.text(x)
}

// Metric returns the estimate of a metric; −1 throughout for a name that there isn't.
func (s *Summary) Metric(name string) Estimate {
	if i := slices.Index(metrics, name); i >= 0 {
		return *s.estimates()[i]
	}
	return Estimate{-1, [2]float64{-1, -1}}
}
