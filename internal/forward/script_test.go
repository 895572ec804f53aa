package forward

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestScripts runs testdata/*.txt: commands, and after each "----" what the forwarder sent. Commands:
//
//	new [strategy=best-route] [relay=true] [queue=N] [flows=N]
//	face ID [mtu=N] [rate=BYTES/S] [local=true]      down ID      up ID
//	route PREFIX FACE [hops=N]
//	interest FACE NAME [nonce=N] [lifetime=MS] [hops=N] [token=T] [prefix=true]
//	data FACE NAME [size=N] [int=ITEMS/CAP] [dataq=ITEMS/CAP]
//	nack FACE NAME congestion|duplicate|noroute
//	advance DURATION
//	drops
//	faces
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	var r *rig
	golden(t, file, func(fields []string) {
		if fields[0] == "new" {
			r = newRig(t, configOf(options(fields[1:])))
			return
		}
		r.command(fields)
		r.check()
	}, func() string {
		if r == nil {
			return ""
		}
		r.drain()
		r.check()
		text := r.out.String()
		r.out.Reset()
		return text
	})
}

// golden runs the commands of a script, and compares what output returns after each block with what the script says.
func golden(t *testing.T, file string, command func(fields []string), output func() string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for block := range strings.SplitSeq(string(text), "\n\n") {
		commands, _, _ := strings.Cut(block, "\n----")
		commands = strings.TrimRight(commands, "\n")
		got.WriteString(commands)
		got.WriteString("\n----\n")
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				command(strings.Fields(line))
			}
		}
		got.WriteString(output())
		got.WriteString("\n")
	}
	result := strings.TrimRight(got.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(result), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if result != string(text) {
		t.Errorf("%s differs; run go test -update and read the change. Now:\n%s", file, result)
	}
}

func options(fields []string) map[string]string {
	m := make(map[string]string)
	for _, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok && !strings.HasPrefix(f, "/") {
			m[k] = v
		}
	}
	return m
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

func configOf(o map[string]string) Config {
	c := Config{Relay: o["relay"] == "true", InterestQueue: number(o["queue"], 0), MaxFlows: number(o["flows"], 0)}
	if o["strategy"] == "best-route" {
		c.Strategy = BestRoute
	}
	return c
}

var reasons = map[string]wire.NackReason{
	"congestion": wire.NackCongestion, "duplicate": wire.NackDuplicate, "noroute": wire.NackNoRoute,
}

func (r *rig) command(f []string) {
	r.t.Helper()
	o := options(f[1:])
	var face machine.FaceID
	if len(f) > 1 {
		face = machine.FaceID(number(f[1], 0))
	}
	switch f[0] {
	case "face", "up":
		r.fw.FaceUp(r.now, face, machine.Face{MTU: number(o["mtu"], 1400), Rate: float64(number(o["rate"], 0)), Local: o["local"] == "true"})
	case "down":
		r.fw.FaceDown(r.now, face)
	case "gone":
		r.fw.FaceGone(r.now, face)
	case "route":
		r.fw.AddRoute(wire.MustParseName(f[1]), NextHop{Face: machine.FaceID(number(f[2], 0)), Hops: number(o["hops"], 1)})
	case "interest":
		i := wire.Interest{
			Name: wire.MustParseName(f[2]), Nonce: uint32(number(o["nonce"], 1)), HasNonce: true, CanBePrefix: o["prefix"] == "true",
			Lifetime: uint64(number(o["lifetime"], 4000)), HopLimit: uint8(number(o["hops"], 10)), HasHopLimit: true,
		}
		r.interest(face, i, o["token"])
	case "data":
		var fb *wire.Feedback
		if o["int"] != "" || o["dataq"] != "" {
			fb = &wire.Feedback{}
			fmt.Sscanf(o["int"], "%d/%d", &fb.InterestItems, &fb.InterestCapacity)
			fmt.Sscanf(o["dataq"], "%d/%d", &fb.DataItems, &fb.DataCapacity)
		}
		r.data(face, wire.MustParseName(f[2]), number(o["size"], 10), fb)
	case "nack":
		r.nack(face, wire.MustParseName(f[2]), reasons[f[3]])
	case "advance":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			r.t.Fatal(err)
		}
		r.now += machine.Time(d)
		r.fw.Advance(r.now)
	case "drops":
		for _, reason := range DropReasons() {
			if n := r.fw.Dropped(reason); n > 0 {
				r.logf("dropped %d: %v", n, reason)
			}
		}
	case "faces":
		for _, s := range r.fw.Stats(nil) {
			r.logf("face %d up=%v suspended=%v outstanding=%d R=%.0f", s.ID, s.Up, s.Suspended, s.Outstanding, s.Rate)
		}
	default:
		r.t.Fatalf("unknown command %q", f[0])
	}
}
