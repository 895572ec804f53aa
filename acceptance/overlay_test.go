//go:build acceptance

package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// overlay is six nodes, each on a host of its own, that are told their neighbours and nothing else:
//
//	consumer ─┬─ a ─┬─ d ─┬─ producer
//	          │     ╳     │
//	          └─ b ─┴─ e ─┘          (a–e and b–d too)
type overlay struct {
	*world
	file, dest string
	relays     map[string]*process
}

// overlayLinks are the links between nodes; the first end dials the second. Link i has the addresses 10.72.i.1 and .2.
var overlayLinks = [][2]string{{"a", "d"}, {"a", "e"}, {"b", "d"}, {"b", "e"}, {"d", "producer"}, {"e", "producer"}, {"consumer", "a"}, {"consumer", "b"}}

func linkAddr(i, end int) string { return fmt.Sprintf("10.72.%d.%d", i+1, end+1) }

func newOverlay(t *testing.T, size int64) *overlay {
	t.Helper()
	o := &overlay{world: newHosts(t, "consumer", "a", "b", "d", "e", "producer"), relays: map[string]*process{}}
	for i, l := range overlayLinks {
		o.link(fmt.Sprintf("l%d", i+1), l[0], linkAddr(i, 0), l[1], linkAddr(i, 1))
	}
	dir := t.TempDir()
	o.file, o.dest = filepath.Join(dir, "data", "file"), filepath.Join(dir, "copy")
	if err := os.Mkdir(filepath.Dir(o.file), 0o755); err != nil {
		t.Fatal(err)
	}
	fill(t, o.file, size)
	t.Setenv("MARS_NODE_GUEST_RATE", "40Mbit") // of the producer's faces, so that there is time for things to happen
	o.start("producer", "serve", filepath.Dir(o.file), "--prefix", "/site/data", "--listen", "udp4://0.0.0.0:6363").says("serving")
	t.Setenv("MARS_NODE_GUEST_RATE", "")
	os.Unsetenv("MARS_NODE_GUEST_RATE")
	for _, r := range []string{"d", "e", "a", "b"} {
		o.relay(r)
	}
	return o
}

// relay starts a relay that knows the neighbours it dials.
func (o *overlay) relay(name string) {
	o.t.Helper()
	args := []string{"node", "--role", "relay", "--listen", "udp4://0.0.0.0:6363"}
	for i, l := range overlayLinks {
		if l[0] == name {
			args = append(args, "--face", l[1]+"="+uri(l[1], linkAddr(i, 1)))
		}
	}
	o.relays[name] = o.start(name, args...)
	o.relays[name].says("listening")
}

// vias are the consumer's ways into the overlay.
func (o *overlay) vias() (args []string) {
	for i, l := range overlayLinks {
		if l[0] == "consumer" {
			args = append(args, "--via", uri(l[1], linkAddr(i, 1)))
		}
	}
	return args
}

// graph is what these tests read of `mars path --json`.
type graph struct {
	Nodes []struct {
		Node     string `json:"node"`
		Answered bool   `json:"answered"`
		Paths    []struct {
			Peer string `json:"peer"`
			Used bool   `json:"used"`
		} `json:"paths"`
	} `json:"nodes"`
}

// path asks for the graph. ok: the producer is reached.
func (o *overlay) path() (g graph, ok bool) {
	cmd := o.command("consumer", append([]string{o.binary, "path", "/site/data/file", "--json"}, o.vias()...)...)
	cmd.Env = append(cmd.Environ(), own("consumer")...)
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &g) != nil {
		return g, false
	}
	return g, g.count() > 0
}

// count counts the distinct ways from the consumer to the producer; −1: there is a loop.
func (g graph) count() int {
	used := map[string][]string{}
	for _, n := range g.Nodes {
		for _, p := range n.Paths {
			if p.Used {
				used[n.Node] = append(used[n.Node], p.Peer)
			}
		}
	}
	var walk func(at string, trail []string) int
	walk = func(at string, trail []string) int {
		if at == "local" {
			return 1
		}
		if slices.Contains(trail, at) {
			return -1000
		}
		ways := 0
		for _, next := range used[at] {
			ways += walk(next, append(trail, at))
		}
		return ways
	}
	if len(g.Nodes) == 0 {
		return 0
	}
	return max(walk(g.Nodes[0].Node, nil), -1)
}

// waitForPaths waits until `mars path` shows as many ways as wanted says.
func (o *overlay) waitForPaths(what string, wanted func(ways int) bool) {
	o.t.Helper()
	began := time.Now()
	last := 0
	for time.Since(began) < 30*time.Second {
		g, _ := o.path()
		if last = g.count(); last < 0 {
			o.t.Fatalf("%s: the paths form a loop: %+v", what, g)
		}
		if wanted(last) {
			o.t.Logf("%s: %d ways after %.1f s", what, last, time.Since(began).Seconds())
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	tree, _ := o.command("consumer", append([]string{o.binary, "path", "/site/data/file"}, o.vias()...)...).CombinedOutput()
	o.t.Fatalf("%s: %d ways\n%s", what, last, tree)
}

// TestOverlayChanges: a link is pulled, a relay killed, and both come back, during a transfer. It ends with the right bytes,
// and `mars path` tells each change.
func TestOverlayChanges(t *testing.T) {
	o := newOverlay(t, 96<<20)
	o.waitForPaths("at rest", func(ways int) bool { return ways >= 4 }) // a and b, each by d and e
	get := o.start("consumer", append([]string{"get", "/site/data/file", "-o", o.dest, "--json", "--trust", keyOf("producer").public.String()}, o.vias()...)...)
	x := &transfer{world: o.world, file: o.file, dest: o.dest, size: 96 << 20}
	x.reach(get, 0.05)
	o.ip("a", "link", "set", "l1", "down") // a–d
	o.waitForPaths("link a–d pulled", func(ways int) bool { return ways == 3 })
	o.relays["e"].kill()
	o.waitForPaths("relay e killed", func(ways int) bool { return ways == 1 }) // b–d
	o.ip("a", "link", "set", "l1", "up")
	o.relay("e")
	o.waitForPaths("both are back", func(ways int) bool { return ways >= 4 })
	back, _ := get.last("progress")
	if code := get.exit(patience); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if out, err := exec.Command("cmp", o.file, o.dest).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("cmp: %v: %s", err, out)
	}
	e, _ := get.last("complete")
	if len(back.Paths) == 2 && back.Bytes < x.size/2 && e.Paths[0].Bytes < back.Paths[0].Bytes+x.size/20 {
		t.Errorf("path1 carried %d bytes when everything was back, and %d in the end: the transfer doesn't use it again", back.Paths[0].Bytes, e.Paths[0].Bytes)
	}
	t.Logf("%d MB in %.1f s; %s", e.Bytes>>20, e.Seconds, strings.TrimSpace(fmt.Sprint(e.Paths)))
}
