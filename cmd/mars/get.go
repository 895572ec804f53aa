package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/disk"
	"mars/internal/wire"
)

// reach is how a command that only asks gets to the objects.
type reach struct {
	via    []string
	socket string
	stall  time.Duration
	config string

	profile string
	signers
}

// getFlags are the flags of `mars get`.
type getFlags struct {
	reach
	output     string
	remoteName bool
	resume     bool
	dryRun     bool
	checksum   string
	limitRate  string
	longest    time.Duration
	retry      int
	plain      bool
	endpointCC string
	force      bool
	quiet      bool
	json       bool
	schema     bool
}

func getCommand() *cobra.Command {
	var f getFlags
	c := &cobra.Command{
		Use:   "get NAME...",
		Short: "Fetch objects and directories, over every path at once",
		Long: `Fetches the object NAME and verifies each piece before it is written. The file appears in its place when it is complete; a
fetch that was interrupted goes on where it was when the same command runs again. Several --via are used at once. A NAME that
ends with / is a directory with all below it. Of several NAMEs each appears in the directory after -o.`,
		Example: `  mars get /site/data/file.iso --via udp4://KEY@192.0.2.1:6363
  mars get /site/data/file.iso --via udp4://KEY@192.0.2.1:6363 --via udp4://KEY@198.51.100.1:6363 -o copy.iso
  mars get /site/data/src.tar --via udp4://KEY@192.0.2.1:6363 -o - | tar x
  mars get /site/data/photos/ --via udp4://KEY@192.0.2.1:6363 -o ./photos/`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(c *cobra.Command, args []string) error {
			if !f.schema && len(args) == 0 {
				return usage(c, "give one object name or more, such as /site/data/file.iso")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.schema {
				_, err := io.WriteString(c.OutOrStdout(), eventSchema)
				return err
			}
			return f.run(c, args)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write to `FILE`, or into the directory FILE/; - is standard output (usual: the last part of NAME)")
	flags.BoolVarP(&f.remoteName, "remote-name", "O", false, "write to the last part of NAME, as is usual")
	f.reach.register(c)
	flags.BoolVarP(&f.resume, "continue", "C", true, "go on where an earlier fetch ended; -C=false starts anew")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "fetch nothing; tell what would be fetched, and its size")
	flags.StringVar(&f.checksum, "checksum", "", "the object must have this `sha256=HEX`")
	flags.StringVar(&f.limitRate, "limit-rate", "", "ask for no more than `RATE`: 10M (bytes per second), 20MB/s, 100Mbit")
	flags.DurationVar(&f.longest, "max-duration", 0, "end after this `TIME`, resumable")
	flags.IntVar(&f.retry, "retry", 0, "try again up to `N` times after failures that may pass")
	flags.BoolVar(&f.plain, "plain", false, "the object is of other NDN software: fetch it without a manifest, not verified")
	flags.StringVar(&f.endpointCC, "endpoint-cc", "", "as --plain, with a window per face, coupled by the congestion controller `NAME` (lia, olia, balia, cubic …)")
	flags.BoolVar(&f.force, "force", false, "with -o -: write to a terminal too")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	flags.BoolVar(&f.json, "json", false, "print events as JSON lines on stdout (with -o - on stderr) instead of texts")
	flags.BoolVar(&f.schema, "json-schema", false, "print the JSON Schema of these events, and end")
	return c
}

// register adds the flags to c.
func (r *reach) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&r.via, "via", nil, "`ADDRESS` of a node on the way, udp://KEY@host:port[,local=eth1][,rate=100Mbit] (may be repeated)")
	socketFlag(c, &r.socket, "of the node to use; none: don't (usual: of the one that runs here)")
	r.signers.register(c)
	flags.DurationVar(&r.stall, "stall", 30*time.Second, "give up after this `TIME` without progress")
	configFlag(c, &r.config)
	profileFlag(c, &r.profile)
}

// run fetches, and tells people or programs about it.
func (f *getFlags) run(c *cobra.Command, names []string) error {
	var ev *events
	switch {
	case f.json && f.output == "-":
		ev = newEvents(c.ErrOrStderr())
	case f.json:
		ev = newEvents(c.OutOrStdout())
	}
	err := f.prepare(c, names, ev)
	if err != nil {
		ev.fail(err)
	}
	return err
}

// getJob is what the command line asks for, checked.
type getJob struct {
	names []string
	dest  string // file or directory; "-": standard output
	flat  bool   // the one directory becomes dest itself
	sum   *[32]byte
	limit mars.Rate
}

// prepare finds everything that can be wrong before the network is asked.
func (f *getFlags) prepare(c *cobra.Command, names []string, ev *events) error {
	if err := f.check(c); err != nil {
		return err
	}
	j := getJob{names: names}
	var err error
	if j.sum, err = f.sum(c); err != nil {
		return err
	}
	if j.limit, err = f.limit(c); err != nil {
		return err
	}
	many := f.dryRun || len(names) > 1
	for _, name := range names {
		if err := f.checkName(c, name); err != nil {
			return err
		}
		many = many || strings.HasSuffix(name, "/")
	}
	cfg, err := f.nodeConfig(c)
	if err != nil {
		return err
	}
	ctx := c.Context()
	if f.longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.longest)
		defer cancel()
	}
	if many && f.endpointCC != "" {
		return usage(c, "--endpoint-cc is for one object, and without --dry-run")
	}
	if many && f.plain {
		return usage(c, "--plain is for one object, and without --dry-run")
	}
	f.plain = f.plain || f.endpointCC != ""
	if many {
		return f.fetchMany(ctx, c, cfg, j, ev)
	}
	if j.dest, err = f.destination(names[0]); err != nil {
		return err
	}
	return f.fetchOne(ctx, c, cfg, j, ev)
}

// check looks at the flags that need no name.
func (f *getFlags) check(c *cobra.Command) error {
	switch {
	case f.output != "" && f.remoteName:
		return usage(c, "-o and -O are two destinations; give one")
	case f.output == "-" && !f.force && !f.dryRun && isTerminal(c.OutOrStdout()):
		return usage(c, "-o - would write the object to your terminal; pipe it on, choose a file, or add --force")
	case f.stall <= 0:
		return usage(c, "--stall must be longer than nothing, such as 30s")
	case f.longest < 0 || f.longest == 0 && c.Flags().Changed("max-duration"):
		return usage(c, "--max-duration must be longer than nothing, such as 10m")
	case f.retry < 0:
		return usage(c, "--retry can't be negative")
	}
	if err := mars.CheckEndpointCC(f.endpointCC); err != nil {
		return usage(c, "--endpoint-cc: %v", err)
	}
	return nil
}

func (f *getFlags) sum(c *cobra.Command) (*[32]byte, error) {
	if f.checksum == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(strings.ToLower(f.checksum), "sha256=")
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || len(sum) != 32 {
		return nil, usage(c, "--checksum: %q is not sha256= and 64 hexadecimal digits", f.checksum)
	}
	return (*[32]byte)(sum), nil
}

func (f *getFlags) limit(c *cobra.Command) (mars.Rate, error) {
	if f.limitRate == "" {
		return 0, nil
	}
	r, err := mars.ParseByteRate(f.limitRate)
	if err == nil && r < 8000 {
		err = fmt.Errorf("%q is less than 1 kB/s", f.limitRate)
	}
	if err != nil {
		return 0, usage(c, "--limit-rate: %v", err)
	}
	return r, nil
}

// checkName tells whether a name can be fetched, and whether its last part may become a file here.
func (f *getFlags) checkName(c *cobra.Command, name string) error {
	n, err := wire.ParseName(name)
	switch {
	case err != nil:
		return usage(c, "%q is not an object name (%v); write /site/data/file.iso", name, err)
	case n.Len() == 0:
		return usage(c, "%q names no object; write /site/data/file.iso", name)
	case f.output != "" && !strings.HasSuffix(f.output, "/"):
		return nil
	}
	last, _ := n.At(n.Len() - 1)
	if why := unsafe(last.Type == wire.TypeGeneric, string(last.Value)); why != "" && !f.dryRun {
		return usage(c, "the last part of %s can't be a file name here (%s); choose one with -o", name, why)
	}
	return nil
}

// destination is the file to write, or "-".
func (f *getFlags) destination(name string) (string, error) {
	if f.output == "-" {
		return "-", nil
	}
	file := f.output
	if file == "" || strings.HasSuffix(file, "/") {
		n := wire.MustParseName(name) // it was checked
		last, _ := n.At(n.Len() - 1)
		file += string(last.Value)
		if f.output != "" {
			if err := makeDir(f.output); err != nil {
				return "", destError(name, err)
			}
		}
	}
	if err := disk.CheckDestination(file); err != nil {
		return "", destError(name, err)
	}
	return file, nil
}

// makeDir makes the directory that -o names, unless it is there.
func makeDir(dir string) error {
	d, err := disk.OpenDest(dir)
	if err != nil {
		return err
	}
	return d.Close()
}

// destError is the error of a destination that nothing can be written to.
func destError(name string, err error) error {
	e := &mars.Error{Op: "get " + name, Err: err, Next: "choose a destination that you may write to with -o"}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrIsDirectory) {
		e.Next = "choose another destination with -o; a directory there ends with /"
	}
	return e
}

// fetchOne fetches one object.
func (f *getFlags) fetchOne(ctx context.Context, c *cobra.Command, cfg *mars.Config, j getJob, ev *events) error {
	name := j.names[0]
	view := newView(os.Stderr, label(name), f.quiet || f.json)
	defer view.Close()
	var last mars.Progress
	opt := mars.FetchOptions{
		Name: name, File: j.dest, Fresh: !f.resume, SHA256: j.sum, Stall: f.stall, Retry: f.retry, EndpointCC: f.endpointCC,
		Progress: func(p mars.Progress) {
			last = p
			view.Update(p)
			ev.observe(p)
		},
		Discarded: func(reason error) { view.Note("mars: starting anew: %v", reason) },
	}
	if j.dest == "-" {
		opt.File, opt.Writer = "", c.OutOrStdout()
	}
	var res *mars.FetchResult
	err := withNode(ctx, cfg, f.log(view), func(ctx context.Context, n *mars.Node) error {
		err := n.LimitRate(j.limit)
		switch {
		case err != nil:
		case f.plain:
			res, err = n.FetchPlain(ctx, opt)
		default:
			res, err = n.Fetch(ctx, opt)
		}
		return err
	})
	if err != nil {
		return f.explain(err, name, last)
	}
	view.Close()
	ev.complete(res, j.dest)
	if !f.quiet && !f.json {
		w := c.ErrOrStderr()
		if len(res.Faces) > 1 && !res.Present {
			printTable(w, res.Progress, nil)
		}
		fmt.Fprintln(w, summary(j.dest, res))
	}
	if res.Unverified && !f.json {
		why := "no manifest"
		if f.endpointCC != "" {
			why = "--endpoint-cc asks for no manifest"
		}
		fmt.Fprintln(c.ErrOrStderr(), "mars: not verified:", why)
	}
	return nil
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

// unknownHops is the distance of a default route.
const unknownHops = 255

// consumerLike is a node without faces that fetches and is who the configured node is.
func consumerLike(file *mars.Config) *mars.Config {
	n := file.Node
	return &mars.Config{
		Node:      mars.NodeConfig{Strategy: n.Strategy, Profile: n.Profile, Key: n.Key, Certificate: n.Certificate, Revocations: n.Revocations},
		Operators: file.Operators,
	}
}

// nodeConfig is that of a leaf which only fetches: over the faces after --via, else over those of the configuration.
// The addresses and directories of the configuration belong to the node that runs all the time.
func (f *reach) nodeConfig(c *cobra.Command) (*mars.Config, error) {
	file, err := mars.LoadConfig(f.config)
	if err != nil {
		return nil, err
	}
	if err := knownProfile(c, f.profile); err != nil {
		return nil, err
	}
	file.Node.Profile = cmp.Or(f.profile, file.Node.Profile)
	trust, err := f.rules(c, file)
	if err != nil {
		return nil, err
	}
	if len(f.via) == 0 {
		if err := file.Check(); err != nil {
			return nil, err
		}
		if path := attachTo(f.socket, file); path != "" {
			return &mars.Config{Attach: path, Trust: trust}, nil
		}
		if len(file.Faces) == 0 || len(file.Routes) == 0 {
			return nil, noWay(f.config, file.Node.Socket)
		}
		cfg := consumerLike(file)
		cfg.Faces, cfg.Routes, cfg.Trust = file.Faces, file.Routes, trust
		return cfg, nil
	}
	if f.socket != "" && f.socket != mars.SocketNone {
		return nil, usage(c, "--via goes past the node of this host, --socket through it; give one")
	}
	cfg := consumerLike(file)
	cfg.Trust = trust
	if err := override(c, &cfg.Faces, "--via", f.via, mars.ParseFace); err != nil {
		return nil, err
	}
	for i := range cfg.Faces {
		name := fmt.Sprintf("path%d", i+1)
		cfg.Faces[i].Name = name
		cfg.Routes = append(cfg.Routes, mars.RouteConfig{Prefix: "/", Via: name})
	}
	return cfg, nil
}

// noWay is the error of a fetch without a neighbour, with what to write. socket is where the configuration looks for a node.
func noWay(config, socket string) error {
	node := "no node runs on this host"
	if socket != "" && socket != mars.SocketNone {
		node = "no node answers at " + socket
	}
	return &misuse{"get: there is no way to the object: " + node + ", and there is neither --via nor a face with routes in the configuration", fmt.Sprintf(`add --via udp4://KEY@host:port, or write into %s:
    faces: [{name: up, to: "udp4://KEY@host:port"}]
    routes: [{prefix: /, via: up}]`, cmp.Or(config, mars.DefaultConfigPath()))}
}

// log is for what the node has to say to people.
func (f *getFlags) log(v *view) *slog.Logger {
	least := slog.LevelWarn
	if f.quiet {
		least = slog.LevelError
	}
	return slog.New(&notes{w: v, least: least})
}

// explain makes the error of a fetch that was only interrupted say what is kept.
func (f *getFlags) explain(err error, what string, p mars.Progress) error {
	kind := mars.ErrInterrupted
	switch {
	case errors.Is(err, mars.ErrInterrupted):
	case errors.Is(err, mars.ErrDeadline):
		kind = mars.ErrDeadline
	default:
		return err
	}
	next := "run the same command again to resume"
	switch {
	case f.plain:
		next = "run the command again to start anew: without a manifest nothing can be kept"
	case f.output == "-":
		next = "a stream can't be resumed: run the command again to start anew"
	case p.Size > 0:
		next += fmt.Sprintf("; %s of %s are here", formatBytes(p.Bytes), formatBytes(p.Size))
	}
	return &mars.Error{Op: "get " + what, Kind: kind, Next: next}
}

// label is a short name for an object: the last part of its name.
func label(name string) string {
	name = strings.TrimSuffix(name, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// summary is the last line of a fetch.
func summary(file string, res *mars.FetchResult) string {
	if file == "-" {
		file = "standard output"
	}
	if res.Present {
		return fmt.Sprintf("%s: %s were here already, verified, %s", file, formatBytes(res.Size), signedBy(res.Signer))
	}
	if res.Unverified {
		return fmt.Sprintf("%s: %s", file, carried(res.Progress))
	}
	return fmt.Sprintf("%s: %s, verified, %s", file, carried(res.Progress), signedBy(res.Signer))
}

// carried says how much came, how fast, and how.
func carried(p mars.Progress) string {
	used := 0
	for _, f := range p.Faces {
		if f.ContentIn > 0 {
			used++
		}
	}
	paths := fmt.Sprintf("%d paths", used)
	switch {
	case len(p.Faces) == 1 && p.Faces[0].Node:
		paths = "the paths of the node of this host"
	case used == 1:
		paths = "1 path"
	}
	resumed := ""
	if p.Resumed > 0 {
		resumed = fmt.Sprintf(" (%s of it were here)", formatBytes(p.Resumed))
	}
	return fmt.Sprintf("%s in %s%s, %s over %s", formatBytes(p.Bytes), formatTime(p.Elapsed), resumed, formatRate(fetchedRate(p)), paths)
}
