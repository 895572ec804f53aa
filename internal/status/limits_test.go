package status

import (
	"math"
	"testing"
)

// TestJudge: what is seen, and what it means.
func TestJudge(t *testing.T) {
	carries := func(f Face) Face { f.In, f.Name, f.Sent = 1e6, "up", 1000; return f }
	for _, c := range []struct {
		what  string
		s     Sample
		faces []Face
		by    string
		face  string
	}{
		{"the fetch waits for a disk", Sample{Writing: 0.6, Held: true}, nil, ByDisk, ""},
		{"it waits for hashing", Sample{Writing: 0.1, Held: true}, nil, ByCPU, ""},
		{"the loop has no rest", Sample{Busy: 0.95}, []Face{carries(Face{PeerData: 0.5})}, ByCPU, ""},
		{"others have the processors", Sample{Starved: 0.9}, nil, ByCPU, ""},
		{"a limit was given", Sample{Limited: true}, []Face{carries(Face{})}, ByRate, ""},
		{"nothing comes", Sample{}, []Face{{Name: "up"}}, ByNobody, ""},
		{"the peer's queue toward here is full", Sample{}, []Face{carries(Face{PeerData: 0.1})}, ByPeer, "up"},
		{"requests wait at a relay", Sample{}, []Face{carries(Face{PeerAsks: 0.5, Way: "relay:1"})}, ByRelay, "up"},
		{"packets are lost", Sample{}, []Face{{Name: "other", Loss: 0.03, Sent: 10}, carries(Face{})}, ByPath, "other"},
		{"packets queue on the way", Sample{}, []Face{carries(Face{RTT: 0.05, LeastRTT: 0.01})}, ByPath, "up"},
		{"nothing stands out", Sample{}, []Face{carries(Face{RTT: 0.012, LeastRTT: 0.01})}, ByWindow, ""},
	} {
		if by, face := c.s.Judge(c.faces); by != c.by || face != c.face {
			t.Errorf("%s: %q by %q, want %q by %q", c.what, by, face, c.by, c.face)
		}
	}
}

// TestTally: most of the time decides, and within it most of the face.
func TestTally(t *testing.T) {
	var y Tally
	if y.Limits() != nil {
		t.Error("there are limits of nothing")
	}
	y.Add(1, ByDisk, "")
	y.Add(2, ByPath, "a")
	y.Add(3, ByPath, "b")
	l := y.Limits()
	if l.By != ByPath || l.Face != "b" || l.Seconds != 6 || math.Abs(l.Shares[ByDisk]-1.0/6) > 1e-9 {
		t.Errorf("%+v", l)
	}
}
