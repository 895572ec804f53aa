package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mars"
)

const (
	demoSize   = 64 << 20
	demoPrefix = "/demo"
	demoObject = demoPrefix + "/object"
)

// demoCaps are the rates at which the three relays send toward the consumer: UDP payload, bits per second.
var demoCaps = []mars.Rate{60e6, 45e6, 30e6}

func demoCommand() *cobra.Command {
	var asJSON bool
	var profile string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Move a 64 MiB file over three paths at once, in this process, over real UDP",
		Long: `One producer, three relays and one consumer run in this process and talk over UDP sockets on loopback. The relays send
toward the consumer at 60, 45 and 30 Mbit/s. A 64 MiB file is fetched over all three at once, then again over the fastest
alone, and checked. It needs no root, no configuration and no network.`,
		Args: exactly(0, "the demo takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := knownProfile(c, profile); err != nil {
				return err
			}
			err := runDemo(c.Context(), c.OutOrStdout(), asJSON, profile)
			if errors.Is(err, mars.ErrInterrupted) {
				return &mars.Error{Op: "demo", Kind: mars.ErrInterrupted, Next: "nothing is left behind; run it again to see it whole"}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print events as JSON lines; the last one is the result")
	profileFlag(c, &profile)
	return c
}

// demoPath is one path in the demo's result.
type demoPath struct {
	Name    string  `json:"name"`
	Bytes   uint64  `json:"bytes"`
	Goodput float64 `json:"goodput_mbps"`
	Cap     float64 `json:"cap_mbps"`
}

// demoResult is the demo's last event.
type demoResult struct {
	head
	Verified   bool       `json:"verified"`
	Bytes      int64      `json:"bytes"`
	Seconds    float64    `json:"seconds"`
	Paths      []demoPath `json:"paths"`
	Aggregate  float64    `json:"aggregate_mbps"`
	BestSingle float64    `json:"best_single_mbps"` // of a run over the fastest path alone
	SumOfCaps  float64    `json:"sum_of_caps_mbps"`
	Digest     string     `json:"sha256"`
}

func runDemo(ctx context.Context, stdout io.Writer, asJSON bool, profile string) (err error) {
	dir, err := os.MkdirTemp("", "mars-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	served := filepath.Join(dir, "served")
	if err := os.Mkdir(served, 0o755); err != nil {
		return err
	}
	want, err := writeDemoObject(filepath.Join(served, "object"))
	if err != nil {
		return err
	}
	net, err := startDemoNetwork(ctx, served, profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, net.stop()) }()

	show := newDemoShow(stdout, asJSON)
	all, err := net.fetch(ctx, demoCaps, filepath.Join(dir, "all"), show)
	if err != nil {
		return err
	}
	single, err := net.fetch(ctx, demoCaps[:1], filepath.Join(dir, "single"), show)
	if err != nil {
		return err
	}
	for _, arrived := range []string{"all", "single"} {
		got, err := digestOf(filepath.Join(dir, arrived))
		if err != nil {
			return err
		}
		if got != want {
			return &mars.Error{Op: "demo", Kind: mars.ErrIntegrity, Err: errors.New("the file that arrived differs from the one served")}
		}
	}
	return show.result(demoOutcome(all, single, want), all.Progress)
}

// demoOutcome puts the result together: bytes and rates of the run over all paths, and what the fastest path did alone.
func demoOutcome(all, single *mars.FetchResult, digest [32]byte) demoResult {
	res := demoResult{
		head: (*events)(nil).head("complete"), Verified: true, Bytes: all.Bytes, Seconds: all.Elapsed.Seconds(),
		Aggregate: mbps(all.Bytes, all.Elapsed), BestSingle: mbps(single.Bytes, single.Elapsed),
		Digest: fmt.Sprintf("%x", digest),
	}
	for i, f := range all.Faces {
		limit := float64(demoCaps[i]) / 1e6
		res.SumOfCaps += limit
		res.Paths = append(res.Paths, demoPath{
			Name: f.Name, Bytes: f.ContentIn, Goodput: mbps(int64(f.ContentIn), all.Elapsed), Cap: limit,
		})
	}
	return res
}

// writeDemoObject writes the demo's object, the same bytes each time, and returns its SHA-256.
func writeDemoObject(path string) (sum [32]byte, err error) {
	f, err := os.Create(path)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, h), rand.NewChaCha8([32]byte([]byte("MARS demo object, 64 MiB of it.."))), demoSize)
	return [32]byte(h.Sum(nil)), errors.Join(err, f.Close())
}

func digestOf(path string) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [32]byte(h.Sum(nil)), err
}

func mbps(bytes int64, d time.Duration) float64 {
	return float64(bytes) * 8 / 1e6 / d.Seconds()
}

// demoNetwork is the producer and the relays.
type demoNetwork struct {
	relays  []*mars.Node
	signer  mars.PublicKey // the producer's
	profile string         // of all nodes
	cancel  context.CancelFunc
	nodes   sync.WaitGroup
	mu      sync.Mutex
	err     error
}

func startDemoNetwork(ctx context.Context, served, profile string) (*demoNetwork, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // relays outlive an interrupted fetch
	d := &demoNetwork{cancel: cancel, profile: profile}
	loopback := []mars.FaceURI{{Host: "127.0.0.1"}}
	producer, err := d.start(ctx, &mars.Config{Listen: loopback, Serve: []mars.ServeConfig{{Dir: served, Prefix: demoPrefix}}})
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.signer = producer.Key()
	for i := range demoCaps {
		relay, err := d.start(ctx, &mars.Config{
			Node:   mars.NodeConfig{Name: fmt.Sprintf("relay-%d", i+1), Role: mars.RoleRelay, GuestRate: demoCaps[i]},
			Listen: loopback,
			Faces:  []mars.FaceConfig{{Name: "producer", To: faceTo(producer)}},
			Routes: []mars.RouteConfig{{Prefix: demoPrefix, Via: "producer", Hops: 1}},
		})
		if err != nil {
			return nil, errors.Join(err, d.stop())
		}
		d.relays = append(d.relays, relay)
	}
	return d, nil
}

func faceTo(n *mars.Node) mars.FaceURI {
	a := n.Addrs()[0]
	return mars.FaceURI{Host: a.Addr().String(), Port: a.Port(), Key: n.Key()}
}

func (d *demoNetwork) start(ctx context.Context, cfg *mars.Config) (*mars.Node, error) {
	cfg.Node.Profile = d.profile
	n, err := mars.NewNode(cfg, nil)
	if err != nil {
		return nil, err
	}
	d.nodes.Go(func() {
		if err := n.Run(ctx); err != nil {
			d.mu.Lock()
			d.err = errors.Join(d.err, err)
			d.mu.Unlock()
		}
	})
	return n, nil
}

func (d *demoNetwork) stop() error {
	d.cancel()
	d.nodes.Wait()
	return d.err
}

// fetch runs a consumer of its own over the first len(caps) relays.
func (d *demoNetwork) fetch(ctx context.Context, caps []mars.Rate, dest string, show *demoShow) (*mars.FetchResult, error) {
	cfg := &mars.Config{}
	for i := range caps {
		name := fmt.Sprintf("relay-%d", i+1)
		cfg.Faces = append(cfg.Faces, mars.FaceConfig{Name: name, To: faceTo(d.relays[i])})
		cfg.Routes = append(cfg.Routes, mars.RouteConfig{Prefix: demoPrefix, Via: name, Hops: 2})
	}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	consumer, err := d.start(runCtx, cfg)
	if err != nil {
		cancel()
		return nil, err
	}
	defer cancel()
	progress, end := show.fetch(len(caps))
	defer end()
	return consumer.Fetch(ctx, mars.FetchOptions{
		Name: demoObject, File: dest, Progress: progress, Signers: mars.Signers{Keys: []mars.PublicKey{d.signer}},
	})
}

// demoShow shows the demo to a person or a program.
type demoShow struct {
	stdout io.Writer
	events *events // nil: to a person
}

func newDemoShow(stdout io.Writer, asJSON bool) *demoShow {
	s := &demoShow{stdout: stdout}
	if asJSON {
		s.events = newEvents(stdout)
	}
	return s
}

// fetch shows one fetch over the first n paths until end is called.
func (s *demoShow) fetch(n int) (progress func(mars.Progress), end func()) {
	if s.events != nil {
		if n == 1 { // the run for comparison isn't what the events tell about
			return nil, func() {}
		}
		return s.events.observe, func() {}
	}
	what := fmt.Sprintf("over %d paths", n)
	if n == 1 {
		what = "fastest path alone"
		fmt.Fprintln(os.Stderr, "Now the same over the fastest path alone, for comparison.")
	} else {
		fmt.Fprintf(os.Stderr, "A file of 64 MiB comes from a producer by way of %d relays at once, over UDP on this machine.\n", n)
	}
	v := newView(os.Stderr, what, false)
	return v.Update, v.Close
}

func (s *demoShow) result(r demoResult, p mars.Progress) error {
	if s.events != nil {
		return json.NewEncoder(s.stdout).Encode(r)
	}
	known := make(caps)
	for i, f := range p.Faces {
		known[f.Name] = demoCaps[i]
	}
	printTable(s.stdout, p, known)
	_, err := fmt.Fprintf(s.stdout, `
aggregate          %s, %.0f%% of the caps' sum (%s)
best single path   %s: over all paths at once %.2f × as fast
verified           %s in %s, SHA-256 %s…
`,
		formatRate(r.Aggregate*1e6), r.Aggregate/r.SumOfCaps*100, formatRate(r.SumOfCaps*1e6),
		formatRate(r.BestSingle*1e6), r.Aggregate/r.BestSingle,
		formatBytes(r.Bytes), formatTime(p.Elapsed), r.Digest[:16])
	return err
}
