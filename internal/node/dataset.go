package node

import (
	"fmt"
	"slices"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// maxSegment is the content of a dataset's segment, bytes. Entries may be cut: clients join segments first.
	maxSegment = 8000
	// maxSets and maxKept, bytes, bound the datasets whose later segments may still be asked for.
	maxSets = 16
	maxKept = 16 << 20
	// setFreshness tells caches how long a dataset holds, ms.
	setFreshness = 1000
)

// datasets are the latest answers to dataset Interests: a client asks for the first segment of what is current, and for the
// rest by version (NFD wiki, StatusDataset).
type datasets struct {
	kept    []dataset // oldest first
	version uint64    // of the newest
}

type dataset struct {
	name    wire.Name // with its version
	content []byte
}

// answer is the Data for a dataset Interest, of which rest is what follows the dataset's name; nil: there is none.
func (s *datasets) answer(now machine.Time, i *wire.Interest, rest wire.Name, list func() [][]byte) []byte {
	version, rest, named := rest.Next()
	segment, rest, numbered := rest.Next()
	switch {
	case len(rest) > 0, !named && !i.CanBePrefix, named && version.Type != wire.TypeVersion:
		return nil
	case !named:
		return s.take(now, i.Name, list()).segment(0)
	case !numbered && !i.CanBePrefix, numbered && segment.Type != wire.TypeSegment:
		return nil
	}
	n, ok := uint64(0), true
	if numbered {
		n, ok = segment.Number()
	}
	for k := range s.kept {
		if d := &s.kept[k]; ok && i.Name.HasPrefix(d.name) {
			return d.segment(n)
		}
	}
	return nil
}

// take keeps a new version of a dataset.
func (s *datasets) take(now machine.Time, name wire.Name, entries [][]byte) *dataset {
	s.version = max(s.version+1, uint64(now/machine.Microsecond))
	d := dataset{name: name.Clone().AppendNumber(wire.TypeVersion, s.version)}
	for _, e := range entries {
		d.content = append(d.content, e...)
	}
	s.kept = append(s.kept, d)
	size := 0
	for _, k := range s.kept {
		size += len(k.content)
	}
	for len(s.kept) > maxSets || len(s.kept) > 1 && size > maxKept {
		size -= len(s.kept[0].content)
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	return &s.kept[len(s.kept)-1]
}

// segment is the Data of one segment; nil when there is none.
func (d *dataset) segment(n uint64) []byte {
	final := uint64(max(len(d.content)-1, 0) / maxSegment)
	if n > final {
		return nil
	}
	from := int(n) * maxSegment
	p := wire.Data{
		Name: d.name.Clone().AppendNumber(wire.TypeSegment, n), Freshness: setFreshness,
		FinalBlock: wire.Name(nil).AppendNumber(wire.TypeSegment, final),
		Content:    d.content[from:min(from+maxSegment, len(d.content)):len(d.content)],
	}
	if p.Content == nil {
		p.Content = []byte{}
	}
	sign(&p)
	return p.Append(nil)
}

// lister returns what makes a dataset's entries; nil: there is no such dataset.
func (n *Node) lister(what string) func(now machine.Time) [][]byte {
	switch what {
	case "faces/list":
		return func(machine.Time) [][]byte { return n.listFaces(&wire.FaceFilter{}) }
	case "rib/list":
		return n.listRIB
	case "fib/list":
		return n.listFIB
	case "strategy-choice/list":
		return n.listStrategies
	case "cs/info": // there is no content store
		return func(machine.Time) [][]byte { return [][]byte{wire.AppendCSInfo(nil, 0, 0, 0, 0, 0)} }
	case "status/general":
		return n.listStatus
	}
	return nil
}

// listFaces tells the faces that a filter wants.
func (n *Node) listFaces(wanted *wire.FaceFilter) (all [][]byte) {
	for _, s := range n.fw.Stats(nil) {
		if !s.Up {
			continue
		}
		f := wire.FaceStatus{
			ID: uint64(s.ID), Local: s.Local, OnDemand: s.Local || n.onDemand[s.ID],
			InInterests: s.InterestsIn, InData: s.DataIn, InNacks: s.NacksIn,
			OutInterests: s.InterestsOut, OutData: s.DataOut, OutNacks: s.NacksOut, InBytes: s.BytesIn, OutBytes: s.BytesOut,
		}
		f.URI, f.LocalURI = n.faceURIs(s.ID, s.Local)
		if wanted.Matches(&f) {
			all = append(all, f.Append(nil))
		}
	}
	return all
}

// faceURIs names a face the way that NFD's tools know.
func (n *Node) faceURIs(id machine.FaceID, local bool) (remote, here string) {
	if id >= localBase {
		return "internal://", "internal://"
	}
	if n.manage.cfg.URIs != nil {
		remote, here = n.manage.cfg.URIs(id)
	}
	switch {
	case remote != "":
	case local:
		remote = fmt.Sprintf("fd://%d", id)
	default:
		remote = "null://"
	}
	if here == "" {
		here = "null://"
	}
	return remote, here
}

func (n *Node) listRIB(now machine.Time) (all [][]byte) {
	for _, p := range n.rib.prefixes() {
		var routes []wire.RouteStatus
		for _, r := range n.rib.byPrefix[string(p)] {
			s := wire.RouteStatus{FaceID: uint64(r.face), Origin: r.origin, Cost: uint64(r.cost), Flags: r.flags}
			if r.expires != machine.Never {
				s.Expiration, s.HasExpiration = uint64(max(r.expires-now, 0)/machine.Millisecond), true
			}
			routes = append(routes, s)
		}
		all = append(all, wire.AppendRIBEntry(nil, p, routes))
	}
	return all
}

func (n *Node) listFIB(machine.Time) (all [][]byte) {
	for _, r := range n.fw.Routes(nil) {
		var hops []wire.NextHopStatus
		for _, h := range r.Hops {
			hops = append(hops, wire.NextHopStatus{FaceID: uint64(h.Face), Cost: uint64(h.Hops)})
		}
		all = append(all, wire.AppendFIBEntry(nil, r.Prefix, hops))
	}
	return all
}

func (n *Node) listStatus(now machine.Time) [][]byte {
	version := n.manage.cfg.Version
	if version == "" {
		version = "MARS"
	}
	g := wire.GeneralStatus{
		Version: version, Start: n.manage.cfg.Start,
		Current: n.manage.cfg.Start + uint64(now/machine.Millisecond),
		FIB:     uint64(len(n.fw.Routes(nil))), PIT: uint64(n.fw.Pending()),
		Unsatisfied: n.fw.Dropped(forward.DropExpired),
	}
	for _, s := range n.fw.Stats(nil) {
		g.InInterests, g.OutInterests = g.InInterests+s.InterestsIn, g.OutInterests+s.InterestsOut
		g.InData, g.OutData = g.InData+s.DataIn, g.OutData+s.DataOut
		g.InNacks, g.OutNacks = g.InNacks+s.NacksIn, g.OutNacks+s.NacksOut
	}
	g.Satisfied = g.InData - min(g.InData, n.fw.Dropped(forward.DropUnsolicited))
	return [][]byte{g.Append(nil)}
}
