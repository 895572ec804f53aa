package forward

import (
	"fmt"
	"strings"

	"mars/internal/machine"
	"mars/internal/wire"
)

// rig drives one forwarder and tells what it sends in words.
type rig struct {
	t    failing
	fw   *Forwarder
	now  machine.Time
	sent map[machine.FaceID][]sent // everything transmitted and not yet answered, by face
	// label is sent with Interests of flows: by default that of a source.
	label wire.Label
	out   strings.Builder
	seq   uint64
}

// failing is what a rig needs of a test; rapid's and the fuzzer's do too.
type failing interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// sent is an Interest that the forwarder transmitted.
type sent struct {
	name  wire.Name
	nonce uint32
	token []byte
	wire  []byte
}

func newRig(t failing, cfg Config) *rig {
	cfg.Seed = 1
	return &rig{t: t, fw: New(cfg), sent: make(map[machine.FaceID][]sent), label: sourceLabel}
}

// sourceLabel is the label of a flow's source in its first epoch.
var sourceLabel = wire.Label{Boot: 9, Epoch: 1, Hops: topLabel.Hops, Hash: topLabel.Hash}

func (r *rig) logf(format string, args ...any) { fmt.Fprintf(&r.out, format+"\n", args...) }

// interest delivers an Interest from face.
func (r *rig) interest(face machine.FaceID, i wire.Interest, token string) {
	p := wire.Packet{PitToken: []byte(token), SizeHint: 8000, Fragment: i.Append(nil)}
	if token == "" {
		p.PitToken = nil
	}
	if wire.SplitFlow(i.Name).Kind != wire.Plain && r.label != (wire.Label{}) {
		p.Label, p.HasLabel = r.label, true
	}
	r.fw.Receive(r.now, face, 0, p.Append(nil))
}

// data answers the first Interest for name that was sent on face, or sends unsolicited Data.
func (r *rig) data(face machine.FaceID, name wire.Name, size int, fb *wire.Feedback) {
	d := wire.Data{Name: name, Content: make([]byte, size), SignatureType: wire.SignatureNull}
	p := wire.Packet{PitToken: r.take(face, name).token}
	if fb != nil {
		p.Feedback, p.HasFeedback = *fb, true
	}
	r.deliver(face, p, d.Append(nil))
}

// deliver cuts a packet into fragments of 1000 bytes and delivers them.
func (r *rig) deliver(face machine.FaceID, p wire.Packet, body []byte) {
	const piece = 1000
	count := (len(body) + piece - 1) / piece
	for i := range count {
		f := wire.Packet{}
		if i == 0 {
			f = p
		}
		f.Fragment = body[i*piece : min(len(body), (i+1)*piece)]
		if count > 1 {
			f.Sequence, f.HasSequence, f.FragIndex, f.FragCount = r.seq+uint64(i), true, uint64(i), uint64(count)
		}
		r.fw.Receive(r.now, face, 0, f.Append(nil))
	}
	r.seq += uint64(count)
}

func (r *rig) nack(face machine.FaceID, name wire.Name, reason wire.NackReason) {
	s := r.take(face, name)
	p := wire.Packet{PitToken: s.token, Nack: true, NackReason: reason, Fragment: s.wire}
	if s.wire != nil {
		r.fw.Receive(r.now, face, 0, p.Append(nil))
	}
}

func (r *rig) take(face machine.FaceID, name wire.Name) sent {
	for i, s := range r.sent[face] {
		if s.name.Equal(name) {
			r.sent[face] = append(r.sent[face][:i:i], r.sent[face][i+1:]...)
			return s
		}
	}
	return sent{}
}

// drain transmits all that is ready and logs it, whole packets only.
func (r *rig) drain() {
	buf := make([]byte, 9200)
	for rounds := 0; ; rounds++ {
		if rounds > 10_000 {
			r.t.Fatal("the forwarder never stops sending")
		}
		ready := r.fw.Ready(nil)
		moved := false
		for _, f := range ready {
			for {
				n, _ := r.fw.Transmit(r.now, f, buf)
				if n == 0 {
					break
				}
				moved = true
				r.transmitted(f, buf[:n])
			}
		}
		if !moved {
			return
		}
	}
}

func (r *rig) transmitted(face machine.FaceID, datagram []byte) {
	var p wire.Packet
	if err := p.Decode(datagram); err != nil {
		r.t.Fatalf("face %d sent what doesn't decode: %v", face, err)
	}
	if p.FragCount > 1 && p.FragIndex > 0 {
		return
	}
	token := ""
	if len(p.PitToken) > 0 && len(p.PitToken) != pitTokenLen {
		token = fmt.Sprintf(" token=%s", p.PitToken)
	}
	var i wire.Interest
	switch {
	case p.Nack:
		if err := i.Decode(p.Fragment); err != nil {
			r.t.Fatal(err)
		}
		r.logf("%d> nack %v %d nonce=%d%s", face, i.Name, p.NackReason, i.Nonce, token)
	case i.Decode(p.Fragment) == nil:
		i.Name = i.Name.Clone()
		r.sent[face] = append(r.sent[face], sent{i.Name, i.Nonce, append([]byte(nil), p.PitToken...), append([]byte(nil), p.Fragment...)})
		label := ""
		if p.HasLabel && p.Label.Hops != topLabel.Hops {
			label = fmt.Sprintf(" label=%d", p.Label.Hops)
		}
		r.logf("%d> interest %v nonce=%d hops=%d%s", face, i.Name, i.Nonce, i.HopLimit, label)
	default:
		fb := ""
		if p.HasFeedback {
			f := p.Feedback
			fb = fmt.Sprintf(" q=%d/%d,%d/%d", f.InterestItems, f.InterestCapacity, f.DataItems, f.DataCapacity)
		}
		if p.HasConvergence {
			fb += fmt.Sprintf(" tierconv=%v nodeconv=%v", p.Convergence.Tier, p.Convergence.Node)
		}
		fragments := ""
		if p.FragCount > 1 {
			fragments = fmt.Sprintf(" fragments=%d", p.FragCount)
		}
		r.logf("%d> data%s%s%s", face, token, fb, fragments)
	}
}

// checkShares checks what is counted for each downstream face.
func (r *rig) checkShares() {
	r.t.Helper()
	s := &r.fw.flows
	pending, weight := make(map[*ingress]int), make(map[*ingress]int)
	bytes, total := 0, 0
	for _, e := range s.pit.entries {
		if e.live {
			bytes += e.size()
		}
		if e.live && e.payer != nil {
			pending[e.payer] += e.size()
		}
	}
	for i, f := range s.order {
		weight[f.owner] += weigh(f.name)
		total += weigh(f.name)
		if f.place != i || f.evicted || s.flows[f.name.Hash(s.pit.seed)] != f {
			r.t.Fatalf("flow %v isn't where it should be", f.name)
		}
	}
	if bytes != s.pit.bytes || total != s.weight || len(weight) != len(s.heavy) {
		r.t.Fatalf("%d bytes pending, counted %d; flows weigh %d, counted %d", bytes, s.pit.bytes, total, s.weight)
	}
	for _, u := range s.upList {
		if o := u.asks; o.pending != pending[o] || o.weight != weight[o] || o.weight > s.cfg.MaxFaceFlows {
			r.t.Fatalf("face %d: %d bytes pending, counted %d; flows weigh %d, counted %d", u.face, pending[o], o.pending, weight[o], o.weight)
		}
	}
}

// check panics the test when the forwarder's books don't balance.
func (r *rig) check() {
	r.t.Helper()
	s := &r.fw.flows
	queued := make(map[*flow]int)
	outstanding := make(map[machine.FaceID]int)
	live := 0
	for _, e := range s.pit.entries {
		if !e.live {
			continue
		}
		live++
		if len(e.in) == 0 {
			r.t.Fatalf("pending Interest %v has no downstream", e.interest.Name)
		}
		if !e.armed {
			r.t.Fatalf("pending Interest %v would never expire", e.interest.Name)
		}
		if e.queued {
			queued[e.flow]++
		}
		for _, o := range e.out {
			if o.charge {
				outstanding[o.face]++
			}
		}
	}
	if live != s.pit.live || live != s.pit.wheel.n {
		r.t.Fatalf("%d entries live, the table says %d, the wheel %d", live, s.pit.live, s.pit.wheel.n)
	}
	r.checkShares()
	for _, f := range s.order {
		if f.live != queued[f] {
			r.t.Fatalf("flow %v counts %d queued Interests, there are %d", f.name, f.live, queued[f])
		}
	}
	for _, u := range s.upList {
		if u.outstanding != outstanding[u.face] {
			r.t.Fatalf("face %d counts %d outstanding Interests, there are %d", u.face, u.outstanding, outstanding[u.face])
		}
	}
}
