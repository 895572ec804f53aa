package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/disk"
)

// fetchMany fetches several objects, or directories, or only tells what would be fetched.
func (f *getFlags) fetchMany(ctx context.Context, c *cobra.Command, cfg *mars.Config, j getJob, ev *events) error {
	what, err := f.batchDestination(c, &j)
	if err != nil {
		return err
	}
	view := newView(os.Stderr, what, f.quiet || f.json || f.dryRun)
	defer view.Close()
	var last mars.Progress
	opt := mars.BatchOptions{
		Names: j.names, Dir: j.dest, Flat: j.flat, Look: f.dryRun, Fresh: !f.resume, Stall: f.stall, Retry: f.retry,
		Progress: func(p mars.Progress) {
			last = p
			view.Update(p)
			if !f.dryRun {
				ev.observe(p)
			}
		},
		Item: func(i mars.Item) { f.item(c, view, ev, i) },
	}
	var sum *mars.Progress
	err = withNode(ctx, cfg, f.log(view), func(ctx context.Context, n *mars.Node) error {
		err := n.LimitRate(j.limit)
		if err == nil {
			sum, err = n.FetchAll(ctx, opt)
		}
		return err
	})
	view.Close()
	if sum != nil {
		ev.summary(sum, f.dryRun)
		f.printSummary(c, j.dest, sum)
	}
	if err != nil {
		return f.explain(err, what, last)
	}
	return nil
}

// batchDestination fills in where the objects go, and returns a short name for all of them.
func (f *getFlags) batchDestination(c *cobra.Command, j *getJob) (what string, err error) {
	j.flat = len(j.names) == 1 && strings.HasSuffix(j.names[0], "/") && f.output != ""
	if what = label(j.names[0]); len(j.names) > 1 {
		what = fmt.Sprintf("%d names", len(j.names))
	}
	j.dest = strings.TrimRight(f.output, "/")
	switch {
	case j.sum != nil:
		return "", usage(c, "--checksum is for one object that is fetched")
	case f.dryRun:
		return what, nil
	case f.output == "-":
		return "", usage(c, "-o - takes one object; a directory or several names need a directory after -o")
	case f.output == "":
		j.dest = "."
	case j.dest == "":
		j.dest = "/"
	}
	if err := disk.CheckDest(j.dest); err != nil {
		return "", destError(j.names[0], err)
	}
	return what, nil
}

// item tells what became of one file or directory.
func (f *getFlags) item(c *cobra.Command, v *view, ev *events, i mars.Item) {
	ev.item(i, f.dryRun)
	switch {
	case i.Err != nil && !f.json:
		_, _ = fmt.Fprintf(v, "mars: %s\n", printable(i.Err.Error()))
	case i.Err == nil && f.dryRun && !f.json && !i.Directory:
		file := i.File
		if file == "" {
			file = i.Base
		}
		fmt.Fprintf(c.OutOrStdout(), "%10s  %s\n", formatBytes(i.Size), printable(file))
	}
}

func (f *getFlags) printSummary(c *cobra.Command, dest string, p *mars.Progress) {
	if f.quiet || f.json {
		return
	}
	w, files := c.ErrOrStderr(), p.Files
	if f.dryRun {
		fmt.Fprintf(w, "would fetch %s, %s\n", count(files.Done, "file"), formatBytes(p.Size))
		return
	}
	if len(p.Faces) > 1 {
		printTable(w, *p, nil)
	}
	notes := ""
	if files.Present > 0 {
		notes += fmt.Sprintf(" (%d were here already)", files.Present)
	}
	if files.Failed > 0 {
		notes += fmt.Sprintf(", %d failed", files.Failed)
	}
	fmt.Fprintf(w, "%s: %s%s, %s, verified\n", printable(dest), count(files.Done, "file"), notes, carried(*p))
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
