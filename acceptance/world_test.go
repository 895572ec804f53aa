//go:build acceptance

package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A world is three hosts, each in a network namespace of its own:
//
//	consumer ─ direct ───────────── producer
//	       └── side ─ relay ─ back ────┘
//
// The links are named by what they lead to, the same at both ends; sockets have the buffers that the system gives.
type world struct {
	t      *testing.T
	binary string
}

// Addresses of the hosts, by link.
const (
	producerDirect, consumerDirect = "10.71.1.1", "10.71.1.2"
	relaySide, consumerSide        = "10.71.2.1", "10.71.2.2"
	producerBack, relayBack        = "10.71.3.1", "10.71.3.2"
)

// namespaces of ours are called marsacc-<pid of the test>-<host>.
const namespacePrefix = "marsacc-"

// newWorld makes the three hosts and their links.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newHosts(t, "producer", "relay", "consumer")
	w.link("direct", "producer", producerDirect, "consumer", consumerDirect)
	w.link("side", "relay", relaySide, "consumer", consumerSide)
	w.link("back", "producer", producerBack, "relay", relayBack)
	return w
}

// newHosts makes a namespace for each host and takes them away at the end of the test. It skips the test where that can't be done.
func newHosts(t *testing.T, hosts ...string) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making network namespaces takes root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("making network namespaces takes iproute2: %v", err)
	}
	w := &world{t: t, binary: mars(t)}
	removeLeftovers(t)
	for _, host := range hosts {
		name := namespace(host)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("this system lets us make no network namespace: %v: %s", err, out)
		}
		t.Cleanup(func() { remove(t, name) })
		w.ip(host, "link", "set", "lo", "up")
	}
	return w
}

func namespace(host string) string { return fmt.Sprintf("%s%d-%s", namespacePrefix, os.Getpid(), host) }

// removeLeftovers removes the namespaces of tests that didn't come to their end. Their processes ended with them.
func removeLeftovers(t *testing.T) {
	names, err := filepath.Glob("/run/netns/" + namespacePrefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		name := filepath.Base(path)
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, namespacePrefix), "-")
		if _, err := os.Stat("/proc/" + pid); err == nil {
			continue // another run, or ours
		}
		remove(t, name)
	}
}

func remove(t *testing.T, name string) {
	if out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
		t.Errorf("namespace %s stays: %v: %s", name, err, out)
	}
}

// link joins two hosts.
func (w *world) link(name, a, addrA, b, addrB string) {
	w.t.Helper()
	w.ip(a, "link", "add", name, "type", "veth", "peer", "name", name, "netns", namespace(b))
	w.ip(a, "address", "add", addrA+"/24", "dev", name)
	w.ip(b, "address", "add", addrB+"/24", "dev", name)
	w.ip(a, "link", "set", name, "up")
	w.ip(b, "link", "set", name, "up")
}

func (w *world) ip(host string, args ...string) {
	w.t.Helper()
	w.run(exec.Command("ip", append([]string{"-n", namespace(host)}, args...)...))
}

// on runs a command on a host to its end and returns what it printed.
func (w *world) on(host string, args ...string) string {
	w.t.Helper()
	return w.run(w.command(host, args...))
}

func (w *world) command(host string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", namespace(host)}, args...)...)
}

func (w *world) run(cmd *exec.Cmd) string {
	w.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// received is the number of bytes that came to a host by its links so far, headers included.
func (w *world) received(host string) (sum int64) {
	w.t.Helper()
	for line := range strings.Lines(w.on(host, "cat", "/proc/net/dev")) {
		name, counters, ok := strings.Cut(strings.TrimSpace(line), ":")
		if fields := strings.Fields(counters); ok && name != "lo" && len(fields) > 0 {
			n, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// kernelDrops is the number of datagrams that a host's kernel dropped so far since a socket's buffer was full.
func (w *world) kernelDrops(host string) string {
	w.t.Helper()
	var titles []string
	for line := range strings.Lines(w.on(host, "cat", "/proc/net/snmp")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		if titles == nil {
			titles = fields
			continue
		}
		for i, title := range titles {
			if title == "RcvbufErrors" {
				return fields[i]
			}
		}
	}
	return "unknown"
}
