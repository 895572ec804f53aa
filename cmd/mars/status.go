package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/status"
)

func statusCommand() *cobra.Command {
	var at ofNode
	var asJSON, schema, flows bool
	var watch time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell how the node of this host is, a line per face",
		Long: `Prints a line for each face of the node that runs on this host: the peer, whether what lies behind it is served by the peer itself
(direct) or by way of n relays (relay:n), its state, round trip, the rates in and out, the share of requests that were lost lately, the packets that
wait to leave, how long ago the state changed, and why the face is idle or isn't up. With --flows also the flows, and every path that they could use.`,
		Example: `  mars status
  mars status --flows --watch 1s
  mars status --json | jq '.faces[] | {name, state, why}'`,
		Args: exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if schema {
				_, err := io.WriteString(c.OutOrStdout(), status.NodeSchema)
				return err
			}
			if watch < 0 || c.Flags().Changed("watch") && watch < 100*time.Millisecond {
				return usage(c, "--watch must be 100ms or more")
			}
			socket, err := at.find()
			if err != nil {
				return err
			}
			for {
				s, err := mars.ReadStatus(socket)
				if err == nil {
					err = printStatus(c.OutOrStdout(), s, asJSON, flows)
				}
				if err != nil || watch == 0 {
					return err
				}
				select {
				case <-c.Context().Done():
					return nil
				case <-time.After(watch):
				}
				if !asJSON {
					fmt.Fprintln(c.OutOrStdout())
				}
			}
		},
	}
	at.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	c.Flags().BoolVar(&schema, "json-schema", false, "print the JSON Schema of that")
	c.Flags().BoolVar(&flows, "flows", false, "also the flows and their paths")
	c.Flags().DurationVar(&watch, "watch", 0, "print it again every `TIME`, until it is stopped")
	return c
}

// ofNode is which node of this host a command is about.
type ofNode struct{ socket, config string }

func (o *ofNode) register(c *cobra.Command) {
	socketFlag(c, &o.socket, "of the node (usual: of the one that runs here)")
	configFlag(c, &o.config)
}

// find is the socket of the node.
func (o *ofNode) find() (string, error) {
	if o.socket != "" {
		return o.socket, nil
	}
	file, err := mars.LoadConfig(o.config)
	if err != nil {
		return "", err
	}
	if socket := attachTo("", file); socket != "" {
		return socket, nil
	}
	return "", &mars.Error{
		Op: "find the node of this host", Kind: mars.ErrTimeout, Next: "start it with mars node, or say where it listens with --socket",
	}
}

func printStatus(w io.Writer, s *mars.NodeStatus, asJSON, flows bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	name := s.ID
	if s.Name != "" {
		name = s.Name + " (" + s.ID + ")"
	}
	_, err := fmt.Fprintf(w, "%s %s, up %s, %d faces, %d flows, %d applications, busy %.0f%%\n", s.Role, printable(name), formatAge(s.Uptime),
		len(s.Faces), s.FlowCount, s.Applications, 100*s.Busy)
	if err != nil {
		return err
	}
	if len(s.Faces) > 0 {
		if err := printFaces(w, s.Faces); err != nil {
			return err
		}
	}
	if flows {
		return printFlows(w, s.Flows)
	}
	return nil
}

func printFaces(w io.Writer, faces []status.Face) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FACE\tPEER\tWAY\tSTATE\tRTT\tIN\tOUT\tLOSS\tQUEUE\tCHANGED\tWHY")
	for i := range faces {
		f := &faces[i]
		fmt.Fprintln(t, strings.Join([]string{
			dash(f.Name), f.Peer, dash(f.Way), f.State, formatRTT(f.RTT), formatRate(8 * f.In), formatRate(8 * f.Out), formatShare(f.Loss),
			fmt.Sprint(f.Queue), formatAge(f.Changed), f.Why,
		}, "\t"))
	}
	return t.Flush()
}

func printFlows(w io.Writer, flows []status.Flow) error {
	for i := range flows {
		f := &flows[i]
		fmt.Fprintf(w, "\n%s  %s, %d of %d requests wait\n", printable(f.Name), formatRate(8*f.Rate), f.Queued, f.Capacity)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, p := range f.Paths {
			hops := "-"
			if p.Hops > 0 && p.Hops < unknownHops {
				hops = fmt.Sprint(p.Hops)
			}
			fmt.Fprintf(t, "  %s\thops %s\ttier %d\t%s\t%s\t%s\t%s\n", p.Label, hops, p.Tier, p.State, formatRTT(p.RTT), formatRate(8*p.Rate), p.Why)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// dash stands for what there is not.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// formatRTT writes a round trip: "0.21 ms", "48 ms"; "-": not known.
func formatRTT(seconds float64) string {
	switch ms := seconds * 1e3; {
	case ms <= 0:
		return "-"
	case ms < 9.995:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 99.95:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}

// formatShare writes a share of one: "0%", "0.4%", "12%".
func formatShare(x float64) string {
	if p := 100 * x; p > 0 && p < 9.95 {
		return fmt.Sprintf("%.1f%%", math.Max(p, 0.1))
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

// formatAge writes how long something lasts: "4 s", "3 min", "5 h", "2 d".
func formatAge(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", math.Floor(seconds/60))
	case seconds < 172800:
		return fmt.Sprintf("%.0f h", math.Floor(seconds/3600))
	}
	return fmt.Sprintf("%.0f d", math.Floor(seconds/86400))
}
