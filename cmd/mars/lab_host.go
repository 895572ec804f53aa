package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/lab"
	"mars/internal/wire"
)

// labHostCommand is what the lab runs on its hosts.
func labHostCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Do a host's job in the lab, which says on standard input what that is",
		Hidden: true,
		Args:   exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			console := lab.NewConsole(c.InOrStdin(), c.OutOrStdout())
			j, err := console.Job()
			if err != nil {
				return &misuse{err.Error(), "this command is for `mars lab run`, which starts it"}
			}
			if j.Node == nil {
				return lab.ServeStream(j, console)
			}
			h := labNode{j, console}
			return h.run(c.Context(), slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})))
		},
	}
}

// labNode is a MARS node in the lab: the same that mars node, serve and get run.
type labNode struct {
	lab.Job
	console *lab.Console
}

// config is the job as a configuration.
func (h *labNode) config() (*mars.Config, error) {
	c := &mars.Config{
		Node: mars.NodeConfig{
			Name: h.Host, Role: h.Node.Role, Strategy: h.Node.Strategy, Profile: h.Node.Profile, Key: h.Node.Key, Routing: "false",
			Socket: mars.SocketNone,
		},
		Study: mars.StudyConfig{Dilation: h.Dilation, Wait: h.Node.Wait, GuestRates: map[netip.Addr]mars.Rate{}},
	}
	for text, rate := range h.Node.Guests { // order: a map again
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		c.Study.GuestRates[addr] = mars.Rate(rate)
	}
	if !h.Node.Detours {
		c.Node.Detours = "false"
	}
	if h.Node.Listen != "" {
		u, err := mars.ParseFaceURI(h.Node.Listen)
		if err != nil {
			return nil, err
		}
		c.Listen = append(c.Listen, u)
	}
	if h.Node.Prefix != "" {
		c.Serve = append(c.Serve, mars.ServeConfig{Dir: filepath.Join(h.Dir, "data"), Prefix: h.Node.Prefix, Chunk: h.chunk()})
	}
	for _, f := range h.Node.Faces {
		face, err := mars.ParseFace(f.To)
		if err != nil {
			return nil, err
		}
		local, err := mars.ParseFaceLocal(f.Local)
		if err != nil {
			return nil, err
		}
		face.Name, face.Local, face.Rate = f.Name, local, mars.Rate(f.Rate)
		c.Faces = append(c.Faces, face)
		for prefix, hops := range f.Routes { // order: a set
			c.Routes = append(c.Routes, mars.RouteConfig{Prefix: prefix, Via: f.Name, Hops: hops})
		}
	}
	return c, nil
}

// chunk is the chunk size of all that the host serves; 0: the usual one. Objects that differ would take a directory each.
func (h *labNode) chunk() (size int) {
	for _, o := range h.Objects {
		size = max(size, o.Chunk)
	}
	return size
}

func (h *labNode) run(ctx context.Context, log *slog.Logger) error {
	if err := h.makeObjects(); err != nil {
		return err
	}
	c, err := h.config()
	if err != nil {
		return err
	}
	return withNode(ctx, c, log, func(ctx context.Context, n *mars.Node) error {
		if err := h.waitForFaces(ctx, n); err != nil {
			return err
		}
		begin, err := h.console.Begin()
		if err != nil {
			return err
		}
		var flows sync.WaitGroup
		for _, f := range h.Fetches {
			flows.Go(func() {
				e, err := h.fetch(ctx, n, f, begin)
				if err != nil {
					e = lab.Event{Event: "failed", Flow: f.Flow, Why: fmt.Sprintf("%s: %v", f.Name, err)}
				}
				h.console.Tell(e)
			})
		}
		return h.console.End(func(c lab.Command) error { return h.obey(n, c) }) // and the node with what is still under way
	})
}

// obey takes faces out of service, or brings them back.
func (h *labNode) obey(n *mars.Node, c lab.Command) error {
	for _, f := range h.Node.Faces {
		if f.Link != c.Link {
			continue
		}
		if err := n.Exclude(f.Name, c.Out); err != nil {
			return err
		}
	}
	return nil
}

// makeObjects writes what the host serves.
func (h *labNode) makeObjects() error {
	dir := filepath.Join(h.Dir, "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, o := range h.Objects {
		path := filepath.Join(dir, o.Name)
		if info, err := os.Stat(path); err == nil && info.Size() == o.Bytes {
			continue // from the run before
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = io.CopyN(f, rand.NewChaCha8([32]byte{byte(i)}), o.Bytes)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waitForFaces waits until every neighbour has answered.
func (h *labNode) waitForFaces(ctx context.Context, n *mars.Node) error {
	for {
		faces, err := n.Status()
		if err != nil {
			return err
		}
		waits := ""
		for _, f := range faces {
			if f.State == "handshake" {
				waits = f.Name
			}
		}
		if waits == "" {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the face to %s is not up: %w", waits, ctx.Err())
		}
	}
}

// look is how often a flow's progress is looked at.
const look = 10 * time.Millisecond

func (h *labNode) fetch(ctx context.Context, n *mars.Node, f lab.Fetch, begin time.Time) (lab.Event, error) {
	start := begin.Add(time.Duration(float64(f.Start) * h.Dilation))
	time.Sleep(time.Until(start))
	m := lab.NewMeter(f.Flow, start, f.Bytes, lab.SeriesStep(h.Dilation))
	var end time.Time
	signer, err := mars.ParsePublicKey(f.Signer)
	if err != nil {
		return lab.Event{}, fmt.Errorf("signer: %w", err)
	}
	opt := mars.FetchOptions{
		Signers: mars.Signers{Keys: []mars.PublicKey{signer}},
		Name:    f.Name, File: filepath.Join(h.Dir, fmt.Sprintf("flow%d", f.Flow)), Fresh: true, Every: look,
		Progress: func(p mars.Progress) {
			if p.Bytes < f.Bytes {
				m.At(time.Now(), p.Bytes)
			} else if end.IsZero() {
				end = time.Now()
			}
		},
	}
	res, err := n.Fetch(ctx, opt)
	if err != nil {
		return lab.Event{}, err
	}
	if err := os.Remove(opt.File); err != nil {
		return lab.Event{}, err
	}
	e := m.Done(end)
	brought := map[string]bool{}
	for _, face := range res.Faces {
		brought[face.Name] = face.ContentIn > 0
	}
	for _, face := range h.Node.Faces { // those that lead to this flow's producer
		if face.Routes[path.Dir(f.Name)] > 0 && brought[face.Name] {
			e.Paths++
		}
	}
	chunk := int64(cmp.Or(f.Chunk, wire.ChunkSize))
	e.Requests, e.Resent, e.Corrupt = (f.Bytes+chunk-1)/chunk, int64(res.Resent), res.Corrupt
	return e, nil
}
