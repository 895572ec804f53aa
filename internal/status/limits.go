package status

// The limiters of a transfer: what it would be faster without.
const (
	ByDisk    = "disk"     // the destination takes no more
	ByCPU     = "cpu"      // the processors of this host
	ByRate    = "limit"    // the rate limit that its user gave
	ByPeer    = "peer_cap" // a neighbour sends no more than its configuration lets it
	ByRelay   = "relay"    // a relay can't get it any faster
	ByPath    = "path"     // loss, or queues on the way to a neighbour
	ByWindow  = "window"   // what may be in flight, for the round trip
	ByNobody  = "waiting"  // nothing comes: no answer yet
	ByNothing = ""         // nothing was fetched
)

// Limits is what a node's fetches were held up by: looked at a few times a second while there was something to fetch.
type Limits struct {
	Seconds float64            `json:"seconds"`             // that were looked at
	By      string             `json:"limiter"`             // by which most of the time went
	Face    string             `json:"face,omitempty"`      // the one that it is about, for a path, peer or relay
	Shares  map[string]float64 `json:"limiter_time_ratios"` // of that time, by limiter
}

// Sample is what a node sees of its fetches in a short interval.
type Sample struct {
	Writing float64 // share of the interval in which the destination was written to
	Held    bool    // the fetch waits for what it got to be verified and written
	Busy    float64 // share in which the node's loop worked
	Starved float64 // share in which a thread of the process waited for a processor
	Limited bool    // the rate limit holds it up
}

// What counts as much.
const (
	muchWriting = 0.5
	muchBusy    = 0.85
	muchStarved = 0.5
	// A peer's queue is filled by congestion control to a few per cent where that hop is what limits, and is empty elsewhere.
	muchQueued = 0.02
	muchLoss   = 0.01
	// A round trip is long by this much when packets queue on the way: half as long again, and 5 ms.
	longer, longerBy = 1.5, 0.005
)

// Judge names the limiter of an interval, and the face that it is about.
func (s *Sample) Judge(faces []Face) (by, face string) {
	switch {
	case s.Held && s.Writing >= muchWriting, s.Writing >= muchBusy:
		return ByDisk, ""
	case s.Busy >= muchBusy, s.Starved >= muchStarved, s.Held:
		return ByCPU, ""
	case s.Limited:
		return ByRate, ""
	}
	var most *Face
	for i := range faces {
		if f := &faces[i]; f.In >= Idle && (most == nil || f.In > most.In) {
			most = f
		}
	}
	switch {
	case most == nil:
		return ByNobody, ""
	case most.PeerData >= muchQueued:
		return ByPeer, most.Label()
	case most.PeerAsks >= muchQueued && most.Way != "direct":
		return ByRelay, most.Label()
	}
	for i := range faces {
		if f := &faces[i]; f.Loss >= muchLoss && f.Sent > 0 {
			return ByPath, f.Label()
		}
	}
	if most.LeastRTT > 0 && most.RTT > most.LeastRTT*longer+longerBy {
		return ByPath, most.Label()
	}
	return ByWindow, ""
}

// Tally counts judgements.
type Tally struct {
	seconds float64
	by      map[string]float64
	faces   map[string]map[string]float64
}

// Add counts an interval.
func (t *Tally) Add(seconds float64, by, face string) {
	if t.by == nil {
		t.by, t.faces = map[string]float64{}, map[string]map[string]float64{}
	}
	t.seconds += seconds
	t.by[by] += seconds
	if t.faces[by] == nil {
		t.faces[by] = map[string]float64{}
	}
	t.faces[by][face] += seconds
}

// Limits is what was counted; nil: nothing.
func (t *Tally) Limits() *Limits {
	if t.seconds == 0 {
		return nil
	}
	l := &Limits{Seconds: t.seconds, By: largest(t.by), Shares: map[string]float64{}}
	for by, s := range t.by {
		l.Shares[by] = s / t.seconds
	}
	l.Face = largest(t.faces[l.By])
	return l
}

// largest is the key with the largest value, of several the first.
func largest(of map[string]float64) (key string) {
	most := 0.0
	for k, v := range of {
		if v > most || v == most && k < key {
			key, most = k, v
		}
	}
	return key
}
