package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/bench"
)

// benchFlags are the flags of `mars bench`.
type benchFlags struct {
	over      string
	mtu       []int
	size      string
	runs      int
	each      time.Duration
	plain     bool
	encrypted bool
	apps      bool
	discard   bool
	noOffload bool
	buffers   bool
	fetches   int
	profile   string
	json      bool
	quiet     bool
}

// benchModes are what can be measured, in the order in which it is.
var benchModes = []string{"forwarder", "crypto", "path", "latency"}

func benchCommand() *cobra.Command {
	f := benchFlags{}
	c := &cobra.Command{
		Use:   "bench [forwarder] [crypto] [path] [latency]",
		Short: "Measure how fast this machine moves data, and what limits it",
		Long: `Measures the forwarder alone in this process (forwarder), the cryptography (crypto), an object that goes through two forwarders in
processes of their own, over loopback or over a veth pair between two network namespaces (path), and how long a small object takes on
that way (latency). Without a mode it measures all. Sockets keep the kernel's default buffers. Processor time is that of all processes
on the way, with the kernel's part; the producer's hashing, once per object, is told apart.

Over veth it needs Linux and root, and removes the namespaces when it ends, also by Ctrl-C.`,
		Example: `  mars bench forwarder crypto
  mars bench path --over loopback --size 256MB
  sudo mars bench path latency --over veth --mtu 1500 --mtu 9000 --runs 5 --json`,
		Args: func(c *cobra.Command, args []string) error {
			for _, mode := range args {
				if !slices.Contains(benchModes, mode) {
					return usage(c, "there is no mode %q; choose of %s", mode, strings.Join(benchModes, ", "))
				}
			}
			return nil
		},
		ValidArgs: benchModes,
		RunE:      func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.over, "over", "", "`WAY` of path and latency: loopback or veth (usual: veth for root on Linux, else loopback)")
	fl.IntSliceVar(&f.mtu, "mtu", []int{1500, 9000}, "`BYTES` of the veth pair's MTU (may be repeated)")
	fl.StringVar(&f.size, "size", "1GB", "`SIZE` of the object, such as 256MB")
	fl.IntVar(&f.runs, "runs", 5, "move it `N` times")
	fl.DurationVar(&f.each, "time", time.Second, "`TIME` for each measurement of forwarder, and a quarter for each of crypto")
	fl.BoolVar(&f.plain, "plain", false, "only without encryption")
	fl.BoolVar(&f.encrypted, "encrypted", false, "only with encryption")
	fl.BoolVar(&f.apps, "applications", false, "consumer and producer are processes of their own, attached to the nodes")
	fl.BoolVar(&f.discard, "discard", false, "verify what comes, and write it nowhere")
	fl.BoolVar(&f.noOffload, "no-offload", false, "without the veth pair's segmentation offload")
	fl.BoolVar(&f.buffers, "large-buffers", false, "ask the kernel for larger socket buffers, as mars does elsewhere")
	fl.IntVar(&f.fetches, "fetches", 1000, "fetch the small object `N` times")
	fl.StringVar(&f.profile, "profile", "", "write CPU profiles of the processes to the directory `DIR`")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	c.AddCommand(benchHostCommand())
	return c
}

// check looks at what is wrong before anything is measured.
func (f *benchFlags) check(c *cobra.Command) (bytes int64, err error) {
	if f.over == "" {
		f.over = "loopback"
		if runtime.GOOS == "linux" && os.Geteuid() == 0 {
			f.over = "veth"
		}
	}
	bytes, err = parseSize(f.size)
	switch {
	case err != nil:
		return 0, usage(c, "--size: %v", err)
	case f.over != "loopback" && f.over != "veth":
		return 0, usage(c, "--over is loopback or veth, not %q", f.over)
	case f.runs < 1 || f.fetches < 1 || f.each <= 0:
		return 0, usage(c, "--runs, --fetches and --time must be more than nothing")
	case f.plain && f.encrypted:
		return 0, usage(c, "--plain and --encrypted each exclude the other; give one or none")
	case f.noOffload && f.over != "veth":
		return 0, usage(c, "--no-offload is for --over veth")
	}
	for _, m := range f.mtu {
		if m < 1280 || m > 65535 {
			return 0, usage(c, "--mtu is from 1280 to 65535, not %d", m)
		}
	}
	if f.profile != "" {
		err = os.MkdirAll(f.profile, 0o777)
	}
	return bytes, err
}

func (f *benchFlags) run(c *cobra.Command, modes []string) error {
	bytes, err := f.check(c)
	if err != nil {
		return err
	}
	if len(modes) == 0 {
		modes = benchModes
	}
	r := &bench.Report{Start: bench.Start{
		SchemaVersion: bench.SchemaVersion, Version: buildVersion(), Time: bench.Now(), CPUs: runtime.NumCPU(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), Load: bench.Load(), Tests: modes,
	}}
	log := func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...)
		}
	}
	if err := f.measure(c.Context(), r, modes, bytes, log); err != nil {
		if c.Context().Err() != nil {
			return &mars.Error{Op: "bench", Kind: mars.ErrInterrupted, Next: "everything is cleaned up"}
		}
		return &mars.Error{Op: "bench", Err: err, Next: "choose another way with --over, or fewer modes"}
	}
	r.Conclude()
	if f.json {
		return r.JSON(c.OutOrStdout())
	}
	return r.Text(c.OutOrStdout())
}

func (f *benchFlags) measure(ctx context.Context, r *bench.Report, modes []string, bytes int64, log func(string, ...any)) error {
	if slices.Contains(modes, "forwarder") {
		for _, o := range []bench.ForwarderOptions{{Content: 1200, MTU: 1472}, {Content: 8000, MTU: 1472}, {Content: 8000, MTU: 8972}} {
			for _, cores := range slices.Compact([]int{1, min(2, runtime.NumCPU())}) {
				o.Cores, o.For = cores, f.each
				log("forwarder: %d bytes in datagrams of %d, %d cores", o.Content, o.MTU, cores)
				res, err := bench.Forwarder(ctx, o)
				if err != nil {
					return err
				}
				r.End.Forwarder = append(r.End.Forwarder, res)
			}
		}
	}
	if slices.Contains(modes, "crypto") {
		log("crypto")
		res, err := bench.Crypto(ctx, f.each/4)
		if err != nil {
			return err
		}
		r.End.Crypto = res
	}
	o := bench.PathOptions{Over: f.over, Apps: f.apps, Bytes: bytes, Store: !f.discard, Segment: f.noOffload, Buffers: f.buffers, Profile: f.profile, NewKey: newBenchKey, Log: log}
	if slices.Contains(modes, "path") {
		o.Runs = f.runs
	}
	if slices.Contains(modes, "latency") {
		o.Fetches = f.fetches
	}
	if o.Runs == 0 && o.Fetches == 0 {
		return nil
	}
	return f.paths(ctx, r, o)
}

// paths measures every way that the flags ask for.
func (f *benchFlags) paths(ctx context.Context, r *bench.Report, o bench.PathOptions) (err error) {
	if o.Binary, err = os.Executable(); err != nil {
		return err
	}
	mtus := f.mtu
	if f.over == "loopback" {
		mtus = mtus[:1]
	}
	for _, mtu := range mtus {
		for _, encrypted := range []bool{false, true} {
			if f.plain && encrypted || f.encrypted && !encrypted {
				continue
			}
			o.MTU, o.Encrypted = mtu, encrypted
			res, latency, parts, err := bench.Path(ctx, o)
			if err != nil {
				return fmt.Errorf("%s: %w", o.Name(), err)
			}
			if o.Runs > 0 {
				r.End.Paths, r.Intervals = append(r.End.Paths, *res), append(r.Intervals, parts...)
			}
			if latency != nil {
				r.End.Latency = append(r.End.Latency, *latency)
			}
		}
	}
	return nil
}

func newBenchKey(file string) (string, error) {
	key, err := mars.NewKeyFile(file)
	return key.String(), err
}

// parseSize reads a number of bytes: 1000000, 256MB, 1GB, in powers of 1000.
func parseSize(text string) (int64, error) {
	var n float64
	var unit string
	if k, _ := fmt.Sscanf(text, "%g%s", &n, &unit); k == 0 {
		return 0, fmt.Errorf("%q is no size; write 256MB", text)
	}
	factor, ok := map[string]float64{"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
	if size := n * factor; ok && size >= 1 && size <= 1e12 {
		return int64(size), nil
	}
	return 0, errors.New(text + " is no size from 1 byte to 1000 GB; write 256MB")
}
