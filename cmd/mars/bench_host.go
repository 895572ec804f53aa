package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/bench"
)

// benchHostCommand is what the benchmark runs at both ends of a path.
func benchHostCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Do a host's job in a benchmark, which says on standard input what that is",
		Hidden: true,
		Args:   exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			lines := bufio.NewScanner(c.InOrStdin())
			var j bench.Job
			if !lines.Scan() || json.Unmarshal(lines.Bytes(), &j) != nil {
				return &misuse{"there is no job on standard input", "this command is for `mars bench`, which starts it"}
			}
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
			out := json.NewEncoder(c.OutOrStdout())
			if err := runBenchHost(c.Context(), j, log, lines, out); err != nil {
				return errors.Join(err, out.Encode(bench.Reply{Error: err.Error()}))
			}
			return nil
		},
	}
}

// benchConfig is the job as a configuration.
func benchConfig(j bench.Job) (*mars.Config, error) {
	cfg := &mars.Config{
		Node:   mars.NodeConfig{Role: mars.RoleRelay, Key: j.Key, Socket: j.Socket, Routing: "false"},
		Attach: j.Attach, Study: mars.StudyConfig{GuestMTU: j.Datagram, Buffers: !j.Buffers},
	}
	for _, l := range j.Listen {
		u, err := mars.ParseFaceURI(l)
		if err != nil {
			return nil, err
		}
		cfg.Listen = append(cfg.Listen, u)
	}
	if j.Via != "" {
		face, err := mars.ParseFace(j.Via)
		if err != nil {
			return nil, err
		}
		face.Name = "path"
		if j.Datagram > 0 {
			face.MTU = j.Datagram
		}
		cfg.Faces = []mars.FaceConfig{face}
		cfg.Routes = []mars.RouteConfig{{Prefix: "/", Via: "path"}}
	}
	if j.Dir != "" {
		cfg.Serve = []mars.ServeConfig{{Dir: j.Dir, Prefix: bench.Prefix}}
	}
	return cfg, nil
}

// runBenchHost obeys orders until there are no more.
func runBenchHost(ctx context.Context, j bench.Job, log *slog.Logger, lines *bufio.Scanner, out *json.Encoder) error {
	cfg, err := benchConfig(j)
	if err != nil {
		return err
	}
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			return err
		}
		defer f.Close()
		defer pprof.StopCPUProfile()
	}
	return withNode(ctx, cfg, log, func(ctx context.Context, n *mars.Node) error {
		if err := n.Registered(ctx); err != nil {
			return err
		}
		if err := out.Encode(bench.Reply{}); err != nil {
			return err
		}
		for lines.Scan() {
			var o bench.Order
			r, err := bench.Reply{}, json.Unmarshal(lines.Bytes(), &o)
			if err == nil {
				r, err = obeyBench(ctx, n, o)
			}
			if err != nil {
				r.Error = err.Error()
			}
			if err := out.Encode(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// anybody: in a benchmark the way is what matters, and not who signed.
var anybody = mars.Signers{Unsigned: true}

func obeyBench(ctx context.Context, n *mars.Node, o bench.Order) (r bench.Reply, err error) {
	switch o.Do {
	case "usage":
		r.CPU = bench.CPU()
		faces, err := n.Status()
		for _, f := range faces {
			r.Drops += f.KernelDrops
		}
		return r, err
	case "look":
		obj, err := n.Open(ctx, mars.OpenOptions{Name: o.Name, Signers: anybody, Stall: 5 * time.Minute})
		if err != nil {
			return r, err
		}
		return r, obj.Close()
	case "fetch":
		return fetchBench(ctx, n, o)
	case "often":
		return fetchOften(ctx, n, o)
	}
	return r, errors.New("an order that this release doesn't know: " + o.Do)
}

// fetchBench fetches an object once, and tells how far it was each second.
func fetchBench(ctx context.Context, n *mars.Node, o bench.Order) (r bench.Reply, err error) {
	part := bench.Interval{}
	opt := mars.FetchOptions{
		Name: o.Name, File: o.File, Fresh: true, Signers: anybody, Every: time.Second,
		Progress: func(p mars.Progress) {
			if part.End = p.Elapsed.Seconds(); part.End > part.Start {
				part.BitRate = float64(8*(p.Bytes-part.Bytes)) / (part.End - part.Start)
				now := part
				now.Bytes = p.Bytes - part.Bytes
				r.Intervals = append(r.Intervals, now)
				part.Start, part.Bytes = part.End, p.Bytes
			}
		},
	}
	if o.File == "" {
		opt.Writer = io.Discard
	}
	begin := time.Now()
	res, err := n.Fetch(ctx, opt)
	if err != nil {
		return r, err
	}
	r.Seconds, r.Bytes, r.Resent = time.Since(begin).Seconds(), res.Bytes, res.Resent
	return r, nil
}

// fetchOften fetches an object again and again, one after the other.
func fetchOften(ctx context.Context, n *mars.Node, o bench.Order) (r bench.Reply, err error) {
	const warm = 20
	for i := range warm + o.Times {
		begin := time.Now()
		if _, err := n.Fetch(ctx, mars.FetchOptions{Name: o.Name, Writer: io.Discard, Signers: anybody}); err != nil {
			return r, err
		}
		if i >= warm {
			r.Times = append(r.Times, time.Since(begin).Seconds())
		}
	}
	slices.Sort(r.Times)
	return r, nil
}
