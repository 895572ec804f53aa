package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PathOptions says what goes from process to process, and how.
type PathOptions struct {
	Binary    string // of mars
	Over      string // loopback or veth
	MTU       int    // of the veth pair, bytes; of loopback it is the kernel's
	Encrypted bool
	Apps      bool  // applications in processes of their own
	Bytes     int64 // of the object
	Runs      int
	Store     bool // write a file; else what comes is verified and thrown away
	Segment   bool // without the device's segmentation offload
	Buffers   bool // let the nodes ask for larger socket buffers than the kernel's default
	Profile   string
	Fetches   int // of the small object, for its latency; 0: none

	NewKey func(file string) (public string, err error)
	Log    func(format string, args ...any)
}

// Name tells one test from the others.
func (o PathOptions) Name() string {
	words := []string{o.Over}
	if o.Over == "veth" {
		words = append(words, fmt.Sprint(o.MTU))
	}
	if o.Encrypted {
		words = append(words, "encrypted")
	} else {
		words = append(words, "plain")
	}
	if o.Apps {
		words = append(words, "applications")
	}
	if o.Segment {
		words = append(words, "no offload")
	}
	return strings.Join(words, " ")
}

// SmallBytes is the size of the small object.
const SmallBytes = 1000

// headers is what IPv4 and UDP take of an MTU.
const headers = 28

// way is a path between a consumer and a producer, with the processes on it.
type way struct {
	o        PathOptions
	place    *place
	dir      string
	producer *host
	consumer *host
	nodes    []*host
	datagram int
}

// open starts the processes. What was started before an error is ended.
func open(o PathOptions) (w *way, err error) {
	w = &way{o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if o.Over == "veth" {
		w.place, err = veth(o.MTU, !o.Segment)
		w.datagram = o.MTU - headers
	} else {
		w.place = loopback()
	}
	if err != nil {
		return w, err
	}
	if w.dir, err = os.MkdirTemp(scratch(4*o.Bytes), "mars-bench-"); err != nil {
		return w, err
	}
	data := filepath.Join(w.dir, "data")
	if err = os.Mkdir(data, 0o755); err == nil {
		err = errors.Join(fill(filepath.Join(data, Whole), o.Bytes), fill(filepath.Join(data, Small), SmallBytes))
	}
	if err != nil {
		return w, err
	}
	return w, w.start(data)
}

// start starts the producer's side, then the consumer's.
func (w *way) start(data string) (err error) {
	var keys, public [2]string
	for i, side := range []string{"near", "far"} {
		keys[i] = filepath.Join(w.dir, side+".key")
		if public[i], err = w.o.NewKey(keys[i]); err != nil {
			return err
		}
	}
	const port = 6399
	address := fmt.Sprintf("plain+udp4://%s:%d", w.place.nearIP, port)
	via := address
	if w.o.Encrypted {
		address = fmt.Sprintf("udp4://%s:%d", w.place.nearIP, port)
		via = fmt.Sprintf("udp4://%s@%s:%d", public[0], w.place.nearIP, port)
	}
	producer := Job{Listen: []string{address}, Dir: data, Key: keys[0], Datagram: w.datagram, Buffers: w.o.Buffers, Profile: w.profile("producer")}
	consumer := Job{Via: via, Key: keys[1], Datagram: w.datagram, Buffers: w.o.Buffers, Profile: w.profile("consumer")}
	if w.o.Apps {
		sockets := [2]string{filepath.Join(w.dir, "near.sock"), filepath.Join(w.dir, "far.sock")}
		for i, j := range []Job{
			{Listen: producer.Listen, Socket: sockets[0], Key: keys[0], Datagram: w.datagram, Buffers: w.o.Buffers, Profile: w.profile("near-node")},
			{Via: via, Socket: sockets[1], Key: keys[1], Datagram: w.datagram, Buffers: w.o.Buffers, Profile: w.profile("far-node")},
		} {
			h, err := w.run([]string{"producer's node", "consumer's node"}[i], []string{w.place.near, w.place.far}[i], j)
			if err != nil {
				return err
			}
			w.nodes = append(w.nodes, h)
		}
		producer = Job{Attach: sockets[0], Dir: data, Key: keys[0], Profile: producer.Profile}
		consumer = Job{Attach: sockets[1], Key: keys[1], Profile: consumer.Profile}
	}
	if w.producer, err = w.run("producer", w.place.near, producer); err != nil {
		return err
	}
	w.consumer, err = w.run("consumer", w.place.far, consumer)
	return err
}

func (w *way) run(name, namespace string, j Job) (*host, error) {
	command := w.place.command(namespace, w.o.Binary, "bench", "host")
	env := []string{"MARS_CONFIG=", "MARS_NODE_SOCKET=none", "MARS_NODE_KEY=" + j.Key}
	return startHost(name, command, env, j)
}

func (w *way) profile(name string) string {
	if w.o.Profile == "" {
		return ""
	}
	return filepath.Join(w.o.Profile, strings.ReplaceAll(w.o.Name(), " ", "-")+"-"+name+".pprof")
}

// all are the processes, those that depend on others first.
func (w *way) all() (hosts []*host) {
	for _, h := range append([]*host{w.consumer, w.producer}, w.nodes...) {
		if h != nil {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// close ends the processes and removes what was made for them.
func (w *way) close() error {
	var failed []error
	for _, h := range w.all() {
		_ = h.end() // what it had to say it has said
	}
	if w.place != nil {
		failed = append(failed, w.place.close())
	}
	if w.dir != "" {
		failed = append(failed, os.RemoveAll(w.dir))
	}
	return errors.Join(failed...)
}

// usage is what the processes have used so far.
func (w *way) usage() (producer, consumer, nodes float64, drops uint64, err error) {
	for _, h := range w.all() {
		r, e := h.tell(Order{Do: "usage"})
		err = errors.Join(err, e)
		drops += r.Drops
		switch h {
		case w.producer:
			producer = r.CPU
		case w.consumer:
			consumer = r.CPU
		default:
			nodes += r.CPU
		}
	}
	return producer, consumer, nodes, drops, err
}

// Path moves the object, and fetches the small one, as often as it is told. The latency is nil unless it was asked for.
func Path(ctx context.Context, o PathOptions) (res *PathResult, latency *LatencyResult, intervals []Interval, err error) {
	w, err := open(o)
	if err != nil {
		return nil, nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		for _, h := range w.all() {
			h.kill()
		}
	})
	defer func() {
		stop()
		err = errors.Join(err, w.close())
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	if _, err := w.consumer.tell(Order{Do: "look", Name: Prefix + "/" + Whole}); err != nil {
		return nil, nil, nil, err
	}
	producer, _, _, _, err := w.usage()
	if err != nil {
		return nil, nil, nil, err
	}
	res = &PathResult{
		Test: o.Name(), Over: o.Over, Shape: "embedded", MTU: w.place.mtu, Datagram: w.datagram, Encrypted: o.Encrypted, Offload: !o.Segment,
		Stored: o.Store, Bytes: o.Bytes, Prepare: producer * 1e9 / float64(max(o.Bytes, 1)),
	}
	if o.Apps {
		res.Shape = "applications"
	}
	for i := range o.Runs {
		run, parts, err := w.transfer(i)
		if err != nil {
			return nil, nil, nil, err
		}
		res.Runs, intervals = append(res.Runs, run), append(intervals, parts...)
		if o.Log != nil {
			o.Log("%s, run %d: %.0f Mbit/s, %.2f CPU-s/GB", res.Test, i+1, run.BitRate/1e6, run.PerGB)
		}
	}
	res.summarize()
	if o.Fetches > 0 {
		latency, err = w.latency()
	}
	return res, latency, intervals, err
}

func (r *PathResult) summarize() {
	var rates, costs []float64
	for _, run := range r.Runs {
		rates, costs = append(rates, run.BitRate), append(costs, run.PerGB)
	}
	r.BitRate, r.PerGB = median(rates), median(costs)
}

// transfer fetches the object once.
func (w *way) transfer(i int) (run Run, parts []Interval, err error) {
	p0, c0, n0, d0, err := w.usage()
	if err != nil {
		return run, nil, err
	}
	order := Order{Do: "fetch", Name: Prefix + "/" + Whole}
	if w.o.Store {
		order.File = filepath.Join(w.dir, "copy")
	}
	r, err := w.consumer.tell(order)
	if err != nil {
		return run, nil, err
	}
	p1, c1, n1, d1, err := w.usage()
	if err == nil && w.o.Store {
		err = os.Remove(order.File)
	}
	if err == nil && r.Bytes != w.o.Bytes {
		err = fmt.Errorf("%d of %d bytes came", r.Bytes, w.o.Bytes)
	}
	run = Run{
		Seconds: r.Seconds, BitRate: float64(8*r.Bytes) / r.Seconds, Producer: p1 - p0, Consumer: c1 - c0, Nodes: n1 - n0,
		Resent: r.Resent, Drops: d1 - d0, Load: Load(),
	}
	run.PerGB = (run.Producer + run.Consumer + run.Nodes) * 1e9 / float64(r.Bytes)
	for _, part := range r.Intervals {
		part.Test, part.Run = w.o.Name(), i+1
		parts = append(parts, part)
	}
	return run, parts, err
}

// latency fetches the small object many times.
func (w *way) latency() (*LatencyResult, error) {
	r, err := w.consumer.tell(Order{Do: "often", Name: Prefix + "/" + Small, Times: w.o.Fetches})
	if err != nil {
		return nil, err
	}
	return &LatencyResult{
		Test: w.o.Name(), Over: w.o.Over, Encrypted: w.o.Encrypted, Bytes: SmallBytes, Fetches: len(r.Times),
		Median: 1e3 * quantile(r.Times, 0.5), P90: 1e3 * quantile(r.Times, 0.9), P99: 1e3 * quantile(r.Times, 0.99),
	}, nil
}

// fill writes a file of bytes that don't compress.
func fill(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{byte(size)}), size)
	return errors.Join(err, f.Close())
}

// Load is the load average of the last minute; −1 where the system doesn't tell.
func Load() float64 {
	var load float64
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		return -1
	}
	return load
}

// Now is the time as reports have it.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }
