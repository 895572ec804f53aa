package wire

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

// Every field of ours by hand from docs/protocol.md, "Hop header", on an idle packet.
const hopHex = `
	64 4d
	fd0384 1c                   # feedback
	  00000001 000003e8 00002710  #   Interest queue: 1 of 1000, 10 ms
	  00000002 00000400 00004e20  #   Data queue: 2 of 1024, 20 ms
	  89abcdef                    #   depart
	fd0388 01 02                # convergence: NodeConv
	fd038c 12                   # label
	  01020304 00000007 0003 1122334455667788
	fd0390 04 cafebabe          # path tag
	fd0394 02 1f40              # size hint 8000
	fd0398 00                   # bad`

func TestHopGolden(t *testing.T) {
	b := unhex(t, hopHex)
	var p Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", p, Packet{
		Feedback: Feedback{
			InterestItems: 1, InterestCapacity: 1000, InterestSojourn: 10_000,
			DataItems: 2, DataCapacity: 1024, DataSojourn: 20_000, Depart: 0x89abcdef, HasDepart: true,
		},
		HasFeedback: true, Convergence: Convergence{Node: true}, HasConvergence: true,
		Label: Label{Boot: 0x01020304, Epoch: 7, Hops: 3, Hash: 0x1122334455667788}, HasLabel: true,
		PathTag: 0xcafebabe, HasPathTag: true, SizeHint: 8000, Bad: true,
	})
	same(t, "encoded", p.Append(nil), b)

	p = Packet{HasFeedback: true}
	same(t, "feedback without depart", p.Append(nil),
		unhex(t, "64 1c fd0384 18 000000000000000000000000 000000000000000000000000"))
}

func TestHopRejects(t *testing.T) {
	for _, c := range []struct {
		what, value string
		err         Error
	}{
		{"feedback of 23 bytes", "fd0384 17 0000000000000000000000000000000000000000000000", ErrLength},
		{"feedback of 26 bytes", "fd0384 1a 0000000000000000000000000000000000000000000000000000", ErrLength},
		{"empty feedback", "fd0384 00", ErrLength},
		{"empty convergence", "fd0388 00", ErrLength},
		{"convergence of 2 bytes", "fd0388 02 0000", ErrLength},
		{"reserved bit of convergence", "fd0388 01 04", ErrValue},
		{"label of 17 bytes", "fd038c 11 0000000000000000000000000000000000", ErrLength},
		{"label of 19 bytes", "fd038c 13 00000000000000000000000000000000000000", ErrLength},
		{"path tag of 3 bytes", "fd0390 03 000000", ErrLength},
		{"path tag of 8 bytes", "fd0390 08 0000000000000000", ErrLength},
		{"size hint of 3 bytes", "fd0394 03 000000", ErrNumber},
		{"bad of 1 byte", "fd0398 01 00", ErrLength},
		{"two labels", "fd038c 12 000000000000000000000000000000000000 fd038c 12 000000000000000000000000000000000000", ErrOrder},
		{"label before convergence", "fd038c 12 000000000000000000000000000000000000 fd0388 01 00", ErrOrder},
	} {
		t.Run(c.what, func(t *testing.T) {
			var p Packet
			wantError(t, p.Decode(packet(t, TypeLinkPacket, c.value)), c.err)
		})
	}
}

func TestLabelLess(t *testing.T) { // MARS §5.2: lexicographic by hops, then hash
	ordered := []Label{{Hops: 0, Hash: 1<<64 - 1}, {Hops: 1}, {Hops: 1, Hash: 1}, {Hops: 1, Hash: 1 << 63}, {Hops: 2}, {Hops: 65535}}
	for i, a := range ordered {
		for j, b := range ordered {
			a.Boot, b.Epoch = uint32(j), uint32(i) // which don't matter
			if a.Less(b) != (cmp.Compare(i, j) < 0) {
				t.Errorf("%+v below %+v: %v", a, b, a.Less(b))
			}
		}
	}
}

// drawHop fills MARS's fields of p.
func drawHop(t *rapid.T, p *Packet) {
	u32 := func(what string) uint32 { return rapid.Uint32().Draw(t, what) }
	if p.HasFeedback = rapid.Bool().Draw(t, "has feedback"); p.HasFeedback {
		p.Feedback = Feedback{
			InterestItems: u32("i items"), InterestCapacity: u32("i capacity"), InterestSojourn: u32("i sojourn"),
			DataItems: u32("d items"), DataCapacity: u32("d capacity"), DataSojourn: u32("d sojourn"),
		}
		if p.Feedback.HasDepart = rapid.Bool().Draw(t, "has depart"); p.Feedback.HasDepart {
			p.Feedback.Depart = u32("depart")
		}
	}
	if p.HasConvergence = rapid.Bool().Draw(t, "has convergence"); p.HasConvergence {
		p.Convergence = Convergence{rapid.Bool().Draw(t, "tier"), rapid.Bool().Draw(t, "node")}
	}
	if p.HasLabel = rapid.Bool().Draw(t, "has label"); p.HasLabel {
		p.Label = Label{u32("boot"), u32("epoch"), rapid.Uint16().Draw(t, "hops"), rapid.Uint64().Draw(t, "hash")}
	}
	if p.HasPathTag = rapid.Bool().Draw(t, "has path tag"); p.HasPathTag {
		p.PathTag = u32("path tag")
	}
	p.SizeHint = number().Draw(t, "size hint")
	p.Bad = rapid.Bool().Draw(t, "bad")
}
