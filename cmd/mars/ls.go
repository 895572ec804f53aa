package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/wire"
)

func lsCommand() *cobra.Command {
	var r reach
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls NAME",
		Short: "List a directory that somebody serves",
		Long: `Prints what is in the directory NAME: size, time of the last change and name, directories with / at the end. Of a file it
prints that one line. The names are as get takes them: put them behind NAME/.`,
		Example: `  mars ls /site/data --via udp4://KEY@192.0.2.1:6363
  mars ls /site/data/photos --json --via udp4://KEY@192.0.2.1:6363`,
		Args: exactly(1, "give one name, such as /site/data"),
		RunE: func(c *cobra.Command, args []string) error {
			var ev *events
			if asJSON {
				ev = newListEvents(c.OutOrStdout())
			}
			err := r.list(c, args[0], ev)
			if err != nil {
				ev.fail(err)
			}
			return err
		},
	}
	r.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print events as JSON lines instead of texts")
	return c
}

func (r *reach) list(c *cobra.Command, name string, ev *events) error {
	if _, err := wire.ParseName(name); err != nil {
		return usage(c, "%q is not a name (%v); write /site/data", name, err)
	}
	if r.stall <= 0 {
		return usage(c, "--stall must be longer than nothing, such as 30s")
	}
	cfg, err := r.nodeConfig(c)
	if err != nil {
		return err
	}
	log, err := newLog(c, c.ErrOrStderr(), "warn")
	if err != nil {
		return err
	}
	var all []mars.Entry
	err = withNode(c.Context(), cfg, log, func(ctx context.Context, n *mars.Node) error {
		all, err = n.List(ctx, name, r.stall)
		return err
	})
	if e, ok := errors.AsType[*mars.Error](err); ok {
		e.Op = "ls " + name
	}
	if err != nil {
		return err
	}
	for _, e := range all {
		ev.entry(e)
	}
	if ev != nil {
		return nil
	}
	if len(all) > 0 {
		fmt.Fprintln(c.ErrOrStderr(), signedBy(all[0].Signer))
	}
	return printEntries(c.OutOrStdout(), all)
}

// printEntries writes one line per entry: size, time of the last change, name.
func printEntries(w io.Writer, all []mars.Entry) error {
	for _, e := range all {
		size, changed, name := formatBytes(e.Size), "", spell(e.Base)
		if e.Directory {
			size, name = "-", name+"/"
		}
		if !e.Modified.IsZero() {
			changed = e.Modified.Format(time.DateTime)
		}
		if _, err := fmt.Fprintf(w, "%10s  %-*s  %s\n", size, len(time.DateTime), changed, name); err != nil {
			return err
		}
	}
	return nil
}
