//go:build acceptance

package acceptance

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds one run of `mars get`; nothing is asserted about times.
const patience = 4 * time.Minute

// transfer is a world in which a file of random bytes can be fetched over the direct path and through the relay.
type transfer struct {
	*world
	file, dest      string
	size            int64
	producer, relay *process
}

func newTransfer(t *testing.T, size int64) *transfer {
	t.Helper()
	x := &transfer{world: newWorld(t), size: size}
	dir := t.TempDir()
	x.file, x.dest = filepath.Join(dir, "data", "file"), filepath.Join(dir, "copy")
	if err := os.Mkdir(filepath.Dir(x.file), 0o755); err != nil {
		t.Fatal(err)
	}
	fill(t, x.file, size)
	x.producer = x.start("producer", "serve", filepath.Dir(x.file), "--prefix", "/site/data",
		"--listen", "udp4://"+producerDirect+":6363", "--listen", "udp4://"+producerBack+":6363")
	x.producer.says("serving")
	x.startRelay()
	return x
}

// startRelay starts the relay.
func (x *transfer) startRelay() {
	x.t.Helper()
	x.relay = x.start("relay", "node", "--role", "relay", "--listen", "udp4://"+relaySide+":6363",
		"--face", "up="+uri("producer", producerBack), "--route", "/site=up")
	x.relay.says("listening")
}

// fill makes a file of random bytes.
func fill(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	source := rand.NewChaCha8([32]byte{1})
	block := make([]byte, 1<<20)
	w := bufio.NewWriterSize(f, len(block))
	for left := size; left > 0; left -= int64(len(block)) {
		block = block[:min(left, int64(len(block)))]
		_, _ = source.Read(block) // never fails
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// get starts a fetch over both paths.
func (x *transfer) get() *process {
	return x.start("consumer", "get", "/site/data/file", "-o", x.dest, "--json",
		"--via", uri("producer", producerDirect), "--via", uri("relay", relaySide))
}

// reach waits until the partial file holds this share of the file; it fails the test if the fetch ends before.
func (x *transfer) reach(get *process, share float64) {
	x.t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if info, err := os.Stat(x.dest + ".mars-part"); err == nil {
			const block = 512 // the file is sparse: what isn't there yet takes no blocks
			if blocks := info.Sys().(*syscall.Stat_t).Blocks; float64(blocks*block) >= share*float64(x.size) {
				return
			}
		}
		select {
		case <-get.done:
			x.t.Fatalf("the fetch ended before %.0f%% were here: exit code %d", 100*share, get.cmd.ProcessState.ExitCode())
		case <-poll.C:
		}
	}
}

// ends waits for a fetch to succeed and compares the files. It returns the closing event.
func (x *transfer) ends(get *process) event {
	x.t.Helper()
	if code := get.exit(patience); code != 0 {
		x.t.Fatalf("exit code %d", code)
	}
	if out, err := exec.Command("cmp", x.file, x.dest).CombinedOutput(); err != nil || len(out) > 0 {
		x.t.Fatalf("cmp: %v: %s", err, out)
	}
	left, err := filepath.Glob(x.dest + ".*")
	if err != nil || len(left) > 0 {
		x.t.Errorf("the fetch left %v (%v)", left, err)
	}
	e, ok := get.last("complete")
	if !ok || e.Bytes != x.size || len(e.Paths) != 2 {
		x.t.Fatalf("the closing event is %+v", e)
	}
	return e
}

// report prints what is of interest and not asserted, after ending producer and relay.
func (x *transfer) report(e event, fetches ...*process) {
	x.t.Helper()
	fetched := e.Bytes - e.Resumed
	x.t.Logf("%d MB in %.2f s, %.0f Mbit/s; %s %d MB, %s %d MB", fetched>>20, e.Seconds, 8*float64(fetched)/e.Seconds/1e6,
		e.Paths[0].Name, e.Paths[0].Bytes>>20, e.Paths[1].Name, e.Paths[1].Bytes>>20)
	x.producer.kill()
	x.relay.kill()
	for _, p := range append([]*process{x.producer, x.relay}, fetches...) {
		x.t.Log(p.cost())
	}
	if len(fetches) == 1 {
		gigabytes := func(b int64) float64 { return max(float64(b), 1) / 1e9 }
		x.t.Logf("CPU-s/GB: producer %.1f, relay %.1f of what it carried, consumer %.1f", x.producer.seconds()/gigabytes(fetched),
			x.relay.seconds()/gigabytes(e.Paths[1].Bytes), fetches[0].seconds()/gigabytes(fetched))
	}
	for _, host := range []string{"producer", "relay", "consumer"} {
		x.t.Logf("%s's kernel dropped %s datagrams", host, x.kernelDrops(host))
	}
}

// TestKilledFetchResumes kills a fetch of 1 GB in its middle. What was there is not fetched again.
func TestKilledFetchResumes(t *testing.T) {
	x := newTransfer(t, 1<<30)
	first := x.get()
	x.reach(first, 0.4)
	first.kill()
	if _, err := os.Lstat(x.dest); err == nil {
		t.Fatal("a killed fetch left a file at its destination")
	}
	before := x.received("consumer")
	second := x.get()
	e := x.ends(second)
	came, told := x.received("consumer")-before, e.Paths[0].Bytes+e.Paths[1].Bytes
	if e.Resumed < x.size*3/10 {
		t.Errorf("only %d of %d bytes were resumed", e.Resumed, x.size)
	}
	if limit := x.size * 3 / 4; came >= limit || told >= limit {
		t.Errorf("%d bytes came by the links, %d by the faces", came, told)
	}
	x.report(e, first, second)
}

// TestFetch fetches 1 GB undisturbed.
func TestFetch(t *testing.T) {
	x := newTransfer(t, 1<<30)
	get := x.get()
	e := x.ends(get)
	x.report(e, get)
}

// TestRelayKilled: the direct path carries on when the relay is gone.
func TestRelayKilled(t *testing.T) {
	x := newTransfer(t, 256<<20)
	get := x.get()
	x.reach(get, 0.3)
	x.relay.kill()
	select {
	case <-get.done:
		t.Fatal("the fetch ended before the relay did")
	default:
	}
	e := x.ends(get)
	if e.Paths[1].Bytes == 0 {
		t.Error("the relay had carried nothing")
	}
	x.report(e, get)
}

// TestInterruptedFetchResumes: a person who presses Ctrl-C is told so by the exit code, and can go on.
func TestInterruptedFetchResumes(t *testing.T) {
	x := newTransfer(t, 256<<20)
	first := x.get()
	x.reach(first, 0.3)
	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := first.exit(patience); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if e, _ := first.last("error"); e.Code != "interrupted" {
		t.Errorf("the closing event is %+v", e)
	}
	second := x.get()
	e := x.ends(second)
	if e.Resumed < x.size/5 {
		t.Errorf("only %d of %d bytes were resumed", e.Resumed, x.size)
	}
	x.report(e, first, second)
}

// TestLoss drops 1% of what comes by the direct path, at random. What the kernel takes for one packet there may be a train
// of datagrams.
func TestLoss(t *testing.T) {
	x := newTransfer(t, 128<<20)
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skipf("random loss takes nftables: %v", err)
	}
	rules := "table ip loss { chain in { type filter hook input priority 0; iifname direct meta l4proto udp numgen random mod 100 == 0 counter drop; }; }"
	if out, err := x.command("consumer", "nft", rules).CombinedOutput(); err != nil {
		t.Skipf("this kernel can't drop at random: %v: %s", err, out)
	}
	get := x.get()
	e := x.ends(get)
	dropped := counted(t, x.on("consumer", "nft", "list", "table", "ip", "loss"))
	t.Logf("%d packets dropped on the direct path", dropped)
	if dropped == 0 {
		t.Error("nothing was lost")
	}
	x.report(e, get)
}

var counter = regexp.MustCompile(`counter packets (\d+)`)

// counted reads the first counter of a listing.
func counted(t *testing.T, listing string) int {
	t.Helper()
	m := counter.FindStringSubmatch(listing)
	if m == nil {
		t.Fatalf("no counter in %s", strings.TrimSpace(listing))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
