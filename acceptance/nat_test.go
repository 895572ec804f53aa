//go:build acceptance

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newSingle is a transfer in which a consumer reaches the producer by one path. serve are flags of `mars serve`.
func newSingle(w *world, size int64, serve ...string) *transfer {
	w.t.Helper()
	x := &transfer{world: w, size: size}
	dir := w.t.TempDir()
	x.file, x.dest = filepath.Join(dir, "data", "file"), filepath.Join(dir, "copy")
	if err := os.Mkdir(filepath.Dir(x.file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	fill(w.t, x.file, size)
	x.producer = x.start("producer", append([]string{"serve", filepath.Dir(x.file), "--prefix", "/site/data", "--log-level", "info"}, serve...)...)
	x.producer.says("serving")
	return x
}

// getFrom starts a fetch on a host, slow enough to be disturbed.
func (x *transfer) getFrom(host, via string) *process {
	return x.start(host, "get", "/site/data/file", "-o", x.dest, "--json", "--limit-rate", "4M", "--via", via)
}

// succeeds waits for a fetch to end with the right bytes at dest.
func (x *transfer) succeeds(get *process, dest string) event {
	x.t.Helper()
	if code := get.exit(patience); code != 0 {
		x.t.Fatalf("exit code %d", code)
	}
	if out, err := exec.Command("cmp", x.file, dest).CombinedOutput(); err != nil || len(out) > 0 {
		x.t.Fatalf("cmp: %v: %s", err, out)
	}
	e, ok := get.last("complete")
	if !ok || e.Bytes != x.size || len(e.Paths) != 1 {
		x.t.Fatalf("the closing event is %+v", e)
	}
	return e
}

// Addresses around a NAT; outside it has one at a time.
const (
	insideConsumer, insideNAT = "10.73.1.2", "10.73.1.1"
	outsideProducer           = "10.73.2.1"
	outsideNAT, movedNAT      = "10.73.2.2", "10.73.2.3"
)

// TestNATChangesItsMapping: the consumer is behind a NAT, which gets another address outside in the middle of a transfer, as
// home routers do at night. The producer then hears a stranger, who goes on asking.
//
//	consumer ─ inside ─ nat ─ outside ─ producer
func TestNATChangesItsMapping(t *testing.T) {
	w := newHosts(t, "consumer", "nat", "producer")
	w.link("inside", "nat", insideNAT, "consumer", insideConsumer)
	w.link("outside", "producer", outsideProducer, "nat", outsideNAT)
	w.on("nat", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	w.ip("consumer", "route", "add", "default", "via", insideNAT)
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skipf("a NAT takes nftables: %v", err)
	}
	rules := "table ip nat { chain out { type nat hook postrouting priority 100; oifname outside masquerade; }; }"
	if out, err := w.command("nat", "nft", rules).CombinedOutput(); err != nil {
		t.Skipf("this kernel has no NAT: %v: %s", err, out)
	}
	x := newSingle(w, 32<<20)
	get := x.getFrom("consumer", uri("producer", outsideProducer))
	x.producer.says("remote=" + outsideNAT + ":")
	x.reach(get, 0.3)
	w.ip("nat", "address", "add", movedNAT+"/24", "dev", "outside")
	w.ip("nat", "address", "delete", outsideNAT+"/24", "dev", "outside") // the kernel forgets its mappings
	if left := w.on("nat", "ip", "address", "show", "dev", "outside"); !strings.Contains(left, movedNAT) {
		w.ip("nat", "address", "add", movedNAT+"/24", "dev", "outside") // it was secondary, and went with the first
	}
	x.producer.says("=" + movedNAT + ":") // its face has followed, or there is a new one
	e := x.succeeds(get, x.dest)
	t.Logf("%d MB in %.1f s with a change of address", e.Bytes>>20, e.Seconds)
}
