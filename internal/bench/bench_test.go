package bench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestForwarder forwards for a moment, and looks whether the figures belong together.
func TestForwarder(t *testing.T) {
	for _, o := range []ForwarderOptions{{Content: 1200, MTU: 1472}, {Content: 8000, MTU: 1472}, {Content: 8000, MTU: 8972, Cores: 2}} {
		o.For = 20 * time.Millisecond
		r, err := Forwarder(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		fragments := float64((o.Content + o.MTU - 1) / o.MTU)
		if r.Data < 20 || r.DatagramsOut < 1+fragments || r.DatagramsOut > 1.5*(1+fragments) || r.OverheadShare <= 0 || r.OverheadShare > 0.15 {
			t.Errorf("%+v", r)
		}
		if want := r.DataRate * float64(8*o.Content); r.ContentRate != want || r.PacketRate != 2*r.DataRate {
			t.Errorf("rates of %+v", r)
		}
	}
	if _, err := Forwarder(t.Context(), ForwarderOptions{Content: 9000, MTU: 1472, For: 1}); err == nil {
		t.Error("content that no Data holds was taken")
	}
}

func TestForwarderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Forwarder(ctx, ForwarderOptions{Content: 1200, MTU: 1472, For: time.Hour}); err == nil {
		t.Error("no error")
	}
}

func TestCrypto(t *testing.T) {
	results, err := Crypto(t.Context(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Rate <= 0 || (r.Bytes > 0) != (r.Bandwidth > 0) {
			t.Errorf("%+v", r)
		}
	}
	if len(results) != 11 {
		t.Errorf("%d results", len(results))
	}
}

// TestReport has the keys that programs rely on, and text that says what the limit is.
func TestReport(t *testing.T) {
	r := Report{Start: Start{SchemaVersion: SchemaVersion, CPUs: 2}}
	busy := PathResult{Test: "busy", Bytes: 1e9, Runs: []Run{{BitRate: 3e9, PerGB: 5}, {BitRate: 2e9, PerGB: 6}, {BitRate: 4e9, PerGB: 4}}}
	idle := PathResult{Test: "idle", Bytes: 1e9, Runs: []Run{{BitRate: 1e8, PerGB: 5, Drops: 7}}}
	busy.summarize()
	idle.summarize()
	r.End.Paths = []PathResult{busy, idle}
	r.Conclude()
	var text, out strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"busy: the processors", "idle: waiting", "dropped 7 datagrams", "3.00 Gbit/s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q isn't in\n%s", want, &text)
		}
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(out.String()), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"start", "intervals", "end"} {
		if keys[key] == nil {
			t.Errorf("no %s in %s", key, &out)
		}
	}
}
