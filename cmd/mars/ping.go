package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mars"
)

// pingFlags are the flags of `mars ping`.
type pingFlags struct {
	reach
	count    int
	interval time.Duration
	wait     time.Duration
	size     int
	json     bool
}

func pingCommand() *cobra.Command {
	var f pingFlags
	c := &cobra.Command{
		Use:   "ping [NAME|FACE]",
		Short: "Measure the round trip to neighbours, or to a producer by every path",
		Long: `Asks for a sign of life and prints the round trip. FACE is a face by name, number or address: its neighbour answers. Of a NAME the node
answers that serves it, once by each face that leads there. Without either every neighbour is asked. The answer also tells the clock there. With --size
it fills datagrams, so that it shows which sizes pass.`,
		Example: `  mars ping
  mars ping site-lte --size 1300
  mars ping /site/data/file.iso --via udp4://KEY@192.0.2.1:6363`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(c, "give one NAME or FACE, or none")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.count < 1 || f.interval < 0 || f.wait <= 0 || f.size < 0 || f.size > 8000 {
				return usage(c, "--count and --wait must be positive, --size from 0 to 8000")
			}
			return f.run(c, strings.Join(args, ""))
		},
	}
	f.register(c)
	c.Flags().IntVarP(&f.count, "count", "c", 4, "ask `N` times")
	c.Flags().DurationVarP(&f.interval, "interval", "i", 500*time.Millisecond, "wait this `TIME` between two rounds")
	c.Flags().DurationVarP(&f.wait, "wait", "W", time.Second, "wait this `TIME` for an answer")
	c.Flags().IntVar(&f.size, "size", 0, "`BYTES` of the answer, up to 8000 (usual: as few as it needs)")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object per answer or lack of one")
	return c
}

// target is one way to whom is asked.
type target struct {
	label string
	face  uint32
	node  uint64

	sent, answered   int
	least, most, sum time.Duration
}

// pong is a line of `mars ping --json`.
type pong struct {
	SchemaVersion int      `json:"schema_version"`
	Face          uint32   `json:"face"`
	Label         string   `json:"label"`
	Answered      bool     `json:"answered"`
	RTT           float64  `json:"rtt_seconds,omitempty"`
	Node          string   `json:"node,omitempty"`
	Clock         *float64 `json:"clock_offset_seconds,omitempty"` // the clock there less ours, give or take half the round trip
}

func (f *pingFlags) run(c *cobra.Command, what string) error {
	cfg, err := f.nodeConfig(c)
	if err != nil {
		return err
	}
	return withNode(c.Context(), cfg, nil, func(ctx context.Context, n *mars.Node) error {
		targets, err := f.targets(ctx, n, cfg.Attach, what)
		if err != nil {
			return err
		}
		for i := range f.count {
			if i > 0 {
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(f.interval):
				}
			}
			for _, t := range targets {
				if err := f.ask(ctx, c.OutOrStdout(), n, t); err != nil {
					return err
				}
			}
		}
		return f.sum(c.OutOrStdout(), targets)
	})
}

// targets are whom to ask.
func (f *pingFlags) targets(ctx context.Context, n *mars.Node, socket, what string) (all []*target, err error) {
	s, err := statusOf(n, socket)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(what, "/") {
		return producerTargets(ctx, n, s, what)
	}
	if what != "" {
		face := s.Find(what)
		if face == nil {
			return nil, &misuse{fmt.Sprintf("ping: there is no face %q", what), "mars status lists the faces; a NAME begins with /"}
		}
		return []*target{{label: face.Label(), face: face.ID}}, nil
	}
	for i := range s.Faces {
		all = append(all, &target{label: s.Faces[i].Label(), face: s.Faces[i].ID})
	}
	if len(all) == 0 {
		return nil, &mars.Error{Op: "ping", Err: errors.New("the node has no faces"), Next: "add one to its configuration, or name one with --via"}
	}
	return all, nil
}

// statusOf is what the node at socket tells, without one what n does.
func statusOf(n *mars.Node, socket string) (*mars.NodeStatus, error) {
	if socket != "" {
		return mars.ReadStatus(socket)
	}
	return n.NodeStatus()
}

// producerTargets are the ways to the node that serves name.
func producerTargets(ctx context.Context, n *mars.Node, s *mars.NodeStatus, name string) (all []*target, err error) {
	g, err := n.Path(ctx, name)
	if err != nil {
		return nil, err
	}
	producer := ""
	for _, node := range g.Nodes {
		for _, p := range node.Paths {
			if p.Peer == "local" {
				producer = node.Node
			}
		}
	}
	id, _ := strconv.ParseUint(producer, 16, 64)
	if id == 0 || producer == g.Nodes[0].Node {
		return nil, &mars.Error{Op: "ping " + name, Err: errors.New("no other node says that it serves it"), Next: "mars path draws who was found"}
	}
	for _, p := range g.Nodes[0].Paths {
		if !p.Used {
			continue
		}
		t := &target{label: fmt.Sprint("face ", p.Face), face: p.Face, node: id}
		if f := s.Find(fmt.Sprint(p.Face)); f != nil {
			t.label = f.Label()
		}
		all = append(all, t)
	}
	return all, nil
}

// ask asks once and prints what came.
func (f *pingFlags) ask(ctx context.Context, w io.Writer, n *mars.Node, t *target) error {
	t.sent++
	r, err := n.Ping(ctx, mars.PingOptions{Face: t.face, Node: t.node, Size: f.size, Wait: f.wait})
	p := pong{SchemaVersion: schemaVersion, Face: t.face, Label: t.label}
	switch {
	case errors.Is(err, mars.ErrNoReply):
	case err != nil:
		return err
	default:
		t.answered, t.sum, t.most = t.answered+1, t.sum+r.RTT, max(t.most, r.RTT)
		if t.least == 0 || r.RTT < t.least {
			t.least = r.RTT
		}
		p.Answered, p.RTT, p.Node = true, r.RTT.Seconds(), r.Node
		if !r.Wall.IsZero() {
			offset := time.Since(r.Wall) - r.RTT/2
			seconds := -offset.Seconds()
			p.Clock = &seconds
		}
	}
	if f.json {
		return json.NewEncoder(w).Encode(p)
	}
	line := "no answer"
	if p.Answered {
		line = fmt.Sprintf("%s from %s", formatRTT(p.RTT), p.Node)
		if p.Clock != nil {
			line += fmt.Sprintf(", clock %+.3f s", *p.Clock)
		}
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", printable(t.label), line)
	return err
}

// sum prints the whole, and fails when nobody has answered.
func (f *pingFlags) sum(w io.Writer, targets []*target) error {
	answered := 0
	for _, t := range targets {
		answered += t.answered
		if f.json || f.count == 1 {
			continue
		}
		fmt.Fprintf(w, "%s: %d of %d answered", printable(t.label), t.answered, t.sent)
		if t.answered > 0 {
			fmt.Fprintf(w, ", %s to %s, mean %s", formatRTT(t.least.Seconds()), formatRTT(t.most.Seconds()), formatRTT((t.sum / time.Duration(t.answered)).Seconds()))
		}
		fmt.Fprintln(w)
	}
	if answered == 0 {
		return &mars.Error{Op: "ping", Kind: mars.ErrTimeout, Err: errors.New("nobody answered"), Next: "mars status tells how the faces are; nodes of older releases don't answer"}
	}
	return nil
}
