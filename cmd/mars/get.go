package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/wire"
)

// getFlags are the flags of `mars get`.
type getFlags struct {
	output     string
	remoteName bool
	via        []string
	resume     bool
	stall      time.Duration
	config     string
	quiet      bool
	json       bool
	schema     bool
}

func getCommand() *cobra.Command {
	var f getFlags
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "Fetch an object, over every path at once",
		Long: `Fetches the object NAME and verifies each piece before it is written. The file appears in its place when it is complete; a
fetch that was interrupted goes on where it was when the same command runs again. Several --via are used at once.`,
		Example: `  mars get /site/data/file.iso --via udp4://192.0.2.1:6363
  mars get /site/data/file.iso --via udp4://192.0.2.1:6363 --via udp4://198.51.100.1:6363 -o copy.iso
  mars get /site/data/src.tar --via udp4://192.0.2.1:6363 -o - | tar x`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(c *cobra.Command, args []string) error {
			if f.schema {
				return nil
			}
			return exactly(1, "give one object name, such as /site/data/file.iso")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.schema {
				_, err := io.WriteString(c.OutOrStdout(), eventSchema)
				return err
			}
			return f.run(c, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write to `FILE`; - is standard output (usual: the last part of NAME, in this directory)")
	flags.BoolVarP(&f.remoteName, "remote-name", "O", false, "write to the last part of NAME, as is usual")
	flags.StringArrayVar(&f.via, "via", nil, "`ADDRESS` of a node that leads to the object, udp4://host:port (may be repeated, also with the same address)")
	flags.BoolVarP(&f.resume, "continue", "C", true, "go on where an earlier fetch ended; -C=false starts anew")
	flags.DurationVar(&f.stall, "stall", 30*time.Second, "give up after this `TIME` without progress")
	configFlag(c, &f.config)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	flags.BoolVar(&f.json, "json", false, "print events as JSON lines on stdout (with -o - on stderr) instead of texts")
	flags.BoolVar(&f.schema, "json-schema", false, "print the JSON Schema of these events, and end")
	return c
}

// run fetches one object and tells people or programs about it.
func (f *getFlags) run(c *cobra.Command, name string) error {
	var ev *events
	switch {
	case f.json && f.output == "-":
		ev = newEvents(c.ErrOrStderr())
	case f.json:
		ev = newEvents(c.OutOrStdout())
	}
	err := f.fetch(c, name, ev)
	if err != nil {
		ev.fail(err)
	}
	return err
}

func (f *getFlags) fetch(c *cobra.Command, name string, ev *events) error {
	dest, err := f.destination(c, name)
	if err != nil {
		return err
	}
	cfg, err := f.nodeConfig(c)
	if err != nil {
		return err
	}
	view := newView(os.Stderr, label(name), f.quiet || f.json)
	defer view.Close()
	var last mars.Progress
	opt := mars.FetchOptions{
		Name: name, File: dest, Fresh: !f.resume, Stall: f.stall,
		Progress: func(p mars.Progress) {
			last = p
			view.Update(p)
			ev.observe(p)
		},
		Discarded: func(reason error) { view.Note("mars: starting anew: %v", reason) },
	}
	if dest == "-" {
		opt.File, opt.Writer = "", c.OutOrStdout()
	}
	var res *mars.FetchResult
	err = withNode(c.Context(), cfg, f.log(view), func(ctx context.Context, n *mars.Node) error {
		res, err = n.Fetch(ctx, opt)
		return err
	})
	if err != nil {
		return f.explain(c.Context(), err, name, last)
	}
	view.Close()
	ev.complete(res, dest)
	if !f.quiet && !f.json {
		w := c.ErrOrStderr()
		if len(res.Faces) > 1 {
			printTable(w, res.Progress, nil)
		}
		fmt.Fprintln(w, summary(dest, res.Progress))
	}
	return nil
}

// destination is the file to write, or "-".
func (f *getFlags) destination(c *cobra.Command, name string) (string, error) {
	n, err := wire.ParseName(name)
	switch {
	case err != nil:
		return "", usage(c, "%q is not an object name (%v); write /site/data/file.iso", name, err)
	case n.Len() == 0:
		return "", usage(c, "%q names no object; write /site/data/file.iso", name)
	case f.output != "" && f.remoteName:
		return "", usage(c, "-o and -O are two destinations; give one")
	case f.stall <= 0:
		return "", usage(c, "--stall must be longer than nothing, such as 30s")
	case f.output != "":
		return f.output, nil
	}
	last, _ := n.At(n.Len() - 1)
	file := string(last.Value)
	if why := unsafe(last.Type == wire.TypeGeneric, file); why != "" {
		return "", usage(c, "the last part of %s can't be a file name here (%s); choose one with -o", name, why)
	}
	return file, nil
}

// unsafe says why a name component must not become a file in the current directory; "" if it may.
func unsafe(generic bool, file string) string {
	switch {
	case !generic:
		return "it is a marker"
	case file == "" || file == "." || file == "..":
		return "it names a directory"
	case strings.ContainsAny(file, `/\`):
		return "it holds a slash"
	case !utf8.ValidString(file) || strings.IndexFunc(file, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return "it holds unprintable characters"
	case len(file) > 255:
		return "it is too long"
	}
	return ""
}

// unknownHops is the distance of a default route: it leads to everything, near and far.
const unknownHops = 255

// nodeConfig is that of a leaf which only fetches: over the faces after --via, else over those of the configuration.
// The addresses and directories of the configuration belong to the node that runs all the time.
func (f *getFlags) nodeConfig(c *cobra.Command) (*mars.Config, error) {
	file, err := mars.LoadConfig(f.config)
	if err != nil {
		return nil, err
	}
	if len(f.via) == 0 {
		if err := file.Check(); err != nil {
			return nil, err
		}
		if len(file.Faces) == 0 || len(file.Routes) == 0 {
			return nil, noWay(f.config)
		}
		return &mars.Config{Node: mars.NodeConfig{Strategy: file.Node.Strategy}, Faces: file.Faces, Routes: file.Routes}, nil
	}
	cfg := &mars.Config{Node: mars.NodeConfig{Strategy: file.Node.Strategy}}
	if err := override(c, &cfg.Faces, "--via", f.via, parseVia); err != nil {
		return nil, err
	}
	for i := range cfg.Faces {
		name := fmt.Sprintf("path%d", i+1)
		cfg.Faces[i].Name = name
		cfg.Routes = append(cfg.Routes, mars.RouteConfig{Prefix: "/", Via: name, Hops: unknownHops})
	}
	return cfg, nil
}

// noWay is the error of a fetch without a neighbour, with what to write.
func noWay(config string) error {
	return &misuse{"get: there is no way to the object: neither --via nor faces and routes in the configuration", fmt.Sprintf(`add --via udp4://host:port, or write into %s:
    faces: [{name: up, to: "udp4://host:port"}]
    routes: [{prefix: /, via: up, hops: %d}]`, cmp.Or(config, mars.DefaultConfigPath()), unknownHops)}
}

func parseVia(s string) (mars.FaceConfig, error) {
	u, err := mars.ParseFaceURI(s)
	if err == nil && u.Port == 0 {
		err = fmt.Errorf("%s: port 0 can't be sent to", s)
	}
	return mars.FaceConfig{To: u}, err
}

// log is for what the node has to say to people.
func (f *getFlags) log(v *view) *slog.Logger {
	least := slog.LevelWarn
	if f.quiet {
		least = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(v, &slog.HandlerOptions{Level: least}))
}

// explain makes the error of a fetch that was only interrupted say what is kept.
func (f *getFlags) explain(ctx context.Context, err error, name string, p mars.Progress) error {
	e, ok := errors.AsType[*mars.Error](err)
	if !ok || ctx.Err() == nil || e.Err == nil || e.Err.Error() != context.Cause(ctx).Error() {
		return err
	}
	next := "run the same command again to resume"
	switch {
	case f.output == "-":
		next = "a stream can't be resumed: run the command again to start anew"
	case p.Size >= 0:
		next += fmt.Sprintf("; %s of %s are here", formatBytes(p.Bytes), formatBytes(p.Size))
	}
	return &mars.Error{Op: "get " + name, Kind: mars.ErrInterrupted, Next: next}
}

// label is a short name for an object: the last part of its name.
func label(name string) string {
	name = strings.TrimSuffix(name, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// summary is the last line of a fetch.
func summary(file string, p mars.Progress) string {
	if file == "-" {
		file = "standard output"
	}
	used := 0
	for _, f := range p.Faces {
		if f.ContentIn > 0 {
			used++
		}
	}
	paths := fmt.Sprintf("%d paths", used)
	if used == 1 {
		paths = "1 path"
	}
	resumed := ""
	if p.Resumed > 0 {
		resumed = fmt.Sprintf(" (%s of it were here)", formatBytes(p.Resumed))
	}
	return fmt.Sprintf("%s: %s in %s%s, %s over %s, verified", file, formatBytes(p.Bytes), formatTime(p.Elapsed), resumed, formatRate(fetchedRate(p)), paths)
}
