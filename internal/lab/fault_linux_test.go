package lab

import (
	"testing"
	"time"

	"mars/internal/scenario"
)

// TestFaults: what each fault does to a pipe is over when it ends.
func TestFaults(t *testing.T) {
	usual := plain(func(d *scenario.Direction) { d.Loss.Random = 0.25 })
	for _, c := range []struct {
		kind  scenario.FaultKind
		value float64
		on    func(p *pipe) bool
	}{
		{scenario.Blackhole, 0, func(p *pipe) bool { return p.hole }},
		{scenario.LinkDown, 0, func(p *pipe) bool { return p.down }},
		{scenario.SetRate, 5e6, func(p *pipe) bool { return p.dir.Rate == 5e6 }},
		{scenario.SetDelay, 0.25, func(p *pipe) bool { return p.dir.Delay == 250*time.Millisecond }},
		{scenario.SetLoss, 1, func(p *pipe) bool { return p.loss > newPipe("", usual, 1).loss }},
		{scenario.SetBurst, 0.5, func(p *pipe) bool { return p.burst.Enter > 0 }},
		{scenario.SetMTU, 700, func(p *pipe) bool { return p.dir.MTU == 700 }},
	} {
		p := newPipe("l:ab", usual, 1)
		f := &scenario.Fault{Kind: c.kind, Value: c.value}
		if c.on(p) {
			t.Errorf("%s before it begins", c.kind)
		}
		if p.fault(1*ms, f, &usual, true); !c.on(p) {
			t.Errorf("%s doesn't begin", c.kind)
		}
		if p.fault(2*ms, f, &usual, false); c.on(p) {
			t.Errorf("%s doesn't end", c.kind)
		}
		if err := checkFaults(&scenario.World{Faults: []scenario.Fault{*f}}); err != nil {
			t.Error(err)
		}
	}
	if err := checkFaults(&scenario.World{Faults: []scenario.Fault{{Kind: scenario.Exclude}}}); err != nil {
		t.Error(err)
	}
	if checkFaults(&scenario.World{Faults: []scenario.Fault{{Kind: scenario.Restart}}}) == nil {
		t.Error("a restart isn't refused")
	}
}

// TestParseSegments reads what the kernel counts.
func TestParseSegments(t *testing.T) {
	s := parseSegments("Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\nTcp: 1 -1 10 200 7 0\nUdp: OutSegs\nUdp: 5\n")
	if s != (segments{200, 7}) {
		t.Errorf("%+v", s)
	}
}
