package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mars"
)

func pathCommand() *cobra.Command {
	var f getFlags
	var asJSON, asDot bool
	c := &cobra.Command{
		Use:   "path NAME",
		Short: "Draw the paths that a fetch of NAME would use",
		Long: `Discovers the paths to NAME's producer as a fetch would, asks every node on them, and draws the graph: each hop with its tier,
label, state, round trip and rate, and why a face is not used.

Nodes are shown by their ids. A tier holds the faces that routing says are equally far; a label is the node's place in the
flow (hops to the producer, tie-breaker): requests only move to smaller ones, so that no path is a loop. "acked" is a face
over which a probe was answered. The rate is what the asking node would ask of that face at most; it rises with use.`,
		Example: `  mars path /site/data/file.iso --via udp4://KEY@192.0.2.1:6363
  mars path /site/data/file.iso --via udp4://KEY@192.0.2.1:6363 --dot | dot -Tsvg > paths.svg`,
		Args: exactly(1, "the NAME of an object"),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && asDot {
				return usage(c, "--json and --dot are two forms; give one")
			}
			cfg, err := f.nodeConfig(c)
			if err != nil {
				return err
			}
			g, err := findPaths(c, cfg, args[0])
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return json.NewEncoder(c.OutOrStdout()).Encode(g)
			case asDot:
				return printDot(c.OutOrStdout(), g)
			}
			return printTree(c.OutOrStdout(), g)
		},
	}
	c.Flags().StringArrayVar(&f.via, "via", nil, "`ADDRESS` of a node that leads to the object, udp4://KEY@host:port (may be repeated)")
	configFlag(c, &f.config)
	c.Flags().BoolVar(&asJSON, "json", false, "print the graph as JSON")
	c.Flags().BoolVar(&asDot, "dot", false, "print the graph for Graphviz")
	return c
}

// findPaths runs a node of its own for the question.
func findPaths(c *cobra.Command, cfg *mars.Config, name string) (g *mars.PathGraph, err error) {
	err = withNode(c.Context(), cfg, nil, func(ctx context.Context, n *mars.Node) error {
		g, err = n.Path(ctx, name)
		return err
	})
	return g, err
}

// printTree draws the graph as a tree from this node; a node that is reached twice is drawn once.
func printTree(w io.Writer, g *mars.PathGraph) error {
	byID := make(map[string]*mars.PathNode, len(g.Nodes))
	for i := range g.Nodes {
		byID[g.Nodes[i].Node] = &g.Nodes[i]
	}
	own := &g.Nodes[0]
	fmt.Fprintf(w, "%s\nflow %s\nthis node %s", g.Name, g.Flow, own.Node)
	if own.Converged {
		fmt.Fprintf(w, ", paths found in %.1f ms", own.Discovery*1e3)
	}
	fmt.Fprintln(w)
	drawn := map[string]bool{own.Node: true}
	drawHops(w, g, own, byID, drawn, "")
	return nil
}

func drawHops(w io.Writer, g *mars.PathGraph, at *mars.PathNode, byID map[string]*mars.PathNode, drawn map[string]bool, indent string) {
	for i, p := range at.Paths {
		branch, under := "├─ ", "│  "
		if i == len(at.Paths)-1 {
			branch, under = "└─ ", "   "
		}
		what := p.Peer
		switch p.Peer {
		case "local":
			what = "producer"
		case "":
			what = "a node that doesn't say who it is"
		}
		if at.Depth == 0 && g.Faces[p.Face] != "" {
			what = g.Faces[p.Face] + " → " + what
		}
		fmt.Fprintf(w, "%s%s%s  %s\n", indent, branch, what, strings.Join(pathFacts(p, byID[p.Peer]), ", "))
		next := byID[p.Peer]
		if !p.Used || next == nil || p.Peer == "local" {
			continue
		}
		if drawn[p.Peer] {
			if len(next.Paths) > 0 {
				fmt.Fprintf(w, "%s%s└─ (as above)\n", indent, under)
			}
			continue
		}
		drawn[p.Peer] = true
		drawHops(w, g, next, byID, drawn, indent+under)
	}
}

// pathFacts is what there is to say of a hop.
func pathFacts(p mars.PathHop, next *mars.PathNode) []string {
	var facts []string
	if p.Peer == "local" {
		return []string{"on this node"}
	}
	if p.Hops < unknownHops {
		hops := fmt.Sprintf("%d hops", p.Hops)
		if p.Hops == 1 {
			hops = "1 hop"
		}
		facts = append(facts, hops)
	}
	facts = append(facts, fmt.Sprintf("tier %d", p.Tier), p.State)
	if next != nil && next.Label != "" {
		facts = append(facts, "label "+next.Label)
	}
	if p.RTT > 0 {
		facts = append(facts, fmt.Sprintf("RTT %.1f ms", p.RTT*1e3))
	}
	if p.Used {
		facts = append(facts, "asked for at most "+formatRate(p.Rate*8))
	} else {
		facts = append(facts, "not used: "+p.Why)
	}
	return facts
}

// printDot writes the graph for Graphviz: used hops solid, others dashed.
func printDot(w io.Writer, g *mars.PathGraph) error {
	fmt.Fprintf(w, "digraph %q {\n  rankdir=LR;\n", g.Name)
	for _, n := range g.Nodes {
		fmt.Fprintf(w, "  %q [label=%q];\n", n.Node, fmt.Sprintf("%.8s\nlabel %s", n.Node, n.Label))
		for _, p := range n.Paths {
			to, style := p.Peer, "solid"
			if to == "" {
				continue
			}
			if to == "local" {
				to = "producer"
			}
			if !p.Used {
				style = "dashed"
			}
			fmt.Fprintf(w, "  %q -> %q [style=%s,label=%q];\n", n.Node, to, style, fmt.Sprintf("tier %d %s", p.Tier, p.State))
		}
	}
	_, err := fmt.Fprintln(w, "}")
	return err
}
