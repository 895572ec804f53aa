package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mars"
)

// nodeFlags are the flags of a node that runs until it is stopped; each overrides its key of the configuration.
type nodeFlags struct {
	config   string
	listen   []string
	faces    []string
	routes   []string
	role     string
	profile  string
	serve    []mars.ServeConfig
	socket   string
	logLevel string
}

func nodeCommand() *cobra.Command {
	var f nodeFlags
	c := &cobra.Command{
		Use:   "node",
		Short: "Run a node that forwards, until it is stopped",
		Long: `Runs the node that the configuration describes: it listens, forwards, and serves what the configuration serves. Flags
replace the lists of the configuration. Logs go to stderr; SIGINT and SIGTERM end it with exit code 0.`,
		Example: `  mars node --config /etc/mars/config.yaml
  mars node --role relay --face up=udp4://KEY@192.0.2.1:6363 --route /site=up:2`,
		Args: exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			log, err := newLog(c, c.ErrOrStderr(), f.logLevel)
			if err != nil {
				return err
			}
			return withNode(c.Context(), cfg, log, func(ctx context.Context, n *mars.Node) error {
				listenForApplications(n, cfg.Node.Socket, log)
				for _, u := range n.Listening() {
					log.Info("listening", "address", u.String())
				}
				<-ctx.Done()
				log.Info("stopping")
				return nil
			})
		},
	}
	configFlag(c, &f.config)
	c.Flags().StringArrayVar(&f.listen, "listen", nil, "`ADDRESS` to listen on, udp://host:port; port 0: any (may be repeated)")
	c.Flags().StringArrayVar(&f.faces, "face", nil, "`NAME=ADDRESS` of a neighbour, up=udp://KEY@host:port[,local=eth1][,rate=100Mbit] (may be repeated)")
	c.Flags().StringArrayVar(&f.routes, "route", nil, "`PREFIX=NAME[:HOPS]`: the face that leads to a prefix (may be repeated)")
	c.Flags().StringVar(&f.role, "role", "", "`ROLE` relay (forwards what others ask of it) or leaf")
	profileFlag(c, &f.profile)
	socketFlag(c, &f.socket, "for applications on this host; none: without (usual: "+cmp.Or(mars.DefaultSocket(), "none")+")")
	logLevelFlag(c, &f.logLevel, "info")
	return c
}

// load is the configuration with the flags applied.
func (f *nodeFlags) load(c *cobra.Command) (*mars.Config, error) {
	file, err := mars.LoadConfig(f.config)
	if err != nil {
		return nil, err
	}
	cfg := file
	if f.role != "" || f.profile != "" || f.socket != "" || f.serve != nil || len(f.listen)+len(f.faces)+len(f.routes) > 0 {
		// A copy of what people can see: the lines of the file don't belong to what the flags say.
		cfg = &mars.Config{Node: file.Node, Listen: file.Listen, Faces: file.Faces, Routes: file.Routes, Peers: file.Peers, Operators: file.Operators, Serve: file.Serve}
	}
	if f.role != "" {
		cfg.Node.Role = f.role
	}
	if f.profile != "" {
		cfg.Node.Profile = f.profile
	}
	if f.socket != "" {
		cfg.Node.Socket = absolutePath(f.socket)
	}
	if f.serve != nil {
		cfg.Serve = f.serve
	}
	err = errors.Join(
		lastingKey(cfg),
		override(c, &cfg.Listen, "--listen", f.listen, mars.ParseFaceURI),
		override(c, &cfg.Faces, "--face", f.faces, parseFace),
		override(c, &cfg.Routes, "--route", f.routes, parseRoute),
	)
	if err != nil {
		return nil, err
	}
	return cfg, f.blame(c, cfg.Check())
}

// blame makes the error of a value that came from a flag speak of the flag, not of a configuration that may not even exist.
func (f *nodeFlags) blame(c *cobra.Command, err error) error {
	e, ok := errors.AsType[*mars.ConfigError](err)
	if !ok || e.File != "" {
		return err
	}
	for _, from := range []struct {
		key, flag string
		given     bool
	}{
		{"serve[", "--prefix", f.serve != nil},
		{"listen[", "--listen", len(f.listen) > 0},
		{"faces[", "--face", len(f.faces) > 0},
		{"routes[", "--route", len(f.routes) > 0},
		{"node.role", "--role", f.role != ""},
		{"node.profile", "--profile", f.profile != ""},
		{"node.socket", "--socket", f.socket != ""},
	} {
		if from.given && strings.HasPrefix(e.Key, from.key) {
			return usage(c, "%s: %s", from.flag, e.Problem)
		}
	}
	return err
}

// override replaces a list of the configuration by the values of a flag that may be repeated, if there are some.
func override[T any](c *cobra.Command, list *[]T, flag string, values []string, parse func(string) (T, error)) error {
	if len(values) == 0 {
		return nil
	}
	*list = nil
	for _, s := range values {
		v, err := parse(s)
		if err != nil {
			return usage(c, "%s: %v", flag, err)
		}
		*list = append(*list, v)
	}
	return nil
}

// parseFace reads NAME=ADDRESS.
func parseFace(s string) (mars.FaceConfig, error) {
	name, to, ok := strings.Cut(s, "=")
	if !ok {
		return mars.FaceConfig{}, fmt.Errorf("%q is not NAME=ADDRESS; write up=udp://KEY@host:port", s)
	}
	face, err := mars.ParseFace(to)
	face.Name = name
	return face, err
}

// parseRoute reads PREFIX=NAME[:HOPS]. A prefix may hold "=" and ":", so it is read from the end.
func parseRoute(s string) (mars.RouteConfig, error) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return mars.RouteConfig{}, fmt.Errorf("%q is not PREFIX=NAME; write /site=up or /site=up:2", s)
	}
	r := mars.RouteConfig{Prefix: s[:i]}
	via, hops, ok := strings.Cut(s[i+1:], ":")
	r.Via = via
	if ok {
		n, err := strconv.Atoi(hops)
		if err != nil || n < 1 || n > 255 {
			return mars.RouteConfig{}, fmt.Errorf("%q: %q is not a number of hops from 1 to 255", s, hops)
		}
		r.Hops = n
	}
	return r, nil
}

func profileFlag(c *cobra.Command, profile *string) {
	c.Flags().StringVar(profile, "profile", "", "how to pace and schedule: `PROFILE` mars, or paper (Algorithm 1 of the MARS paper)")
}

// knownProfile is the error of a profile that there isn't.
func knownProfile(c *cobra.Command, profile string) error {
	switch profile {
	case "", mars.ProfileMARS, mars.ProfilePaper:
		return nil
	}
	return usage(c, "--profile: %q is unknown; write %s or %s", profile, mars.ProfileMARS, mars.ProfilePaper)
}

func socketFlag(c *cobra.Command, path *string, what string) {
	c.Flags().StringVar(path, "socket", "", "`PATH` of the socket "+what)
}

// absolutePath is what the configuration wants of a path that was given relative to the working directory.
func absolutePath(path string) string {
	if path == mars.SocketNone {
		return path
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// attachTo is the socket of the node of this host that a command should use: the one that the flag names, the one that the
// configuration names if its node runs, or, where neither names one, that of any node that runs; "": none.
func attachTo(flag string, file *mars.Config) string {
	switch {
	case flag == mars.SocketNone:
		return ""
	case flag != "":
		return flag
	case file.Node.Socket == mars.SocketNone:
		return ""
	case file.Node.Socket == "":
		return mars.RunningNode()
	case mars.NodeRuns(file.Node.Socket):
		return file.Node.Socket
	}
	return "" // another node isn't the one that was configured
}

// listenForApplications opens the usual socket, if the configuration says nothing. What nobody asked for may fail.
func listenForApplications(n *mars.Node, configured string, log *slog.Logger) {
	path := mars.DefaultSocket()
	if configured != "" || path == "" {
		return
	}
	if err := n.ListenSocket(path); err != nil {
		log.Warn("no socket for applications on this host", "err", err)
		return
	}
	log.Info("listening for applications", "socket", path)
}

func logLevelFlag(c *cobra.Command, level *string, usual string) {
	c.Flags().StringVar(level, "log-level", usual, "least `LEVEL` that is logged: debug, info, warn or error")
}

// newLog logs text to w.
func newLog(c *cobra.Command, w io.Writer, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usage(c, "--log-level: %q is not debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: least})), nil
}

// withNode runs a node for as long as f runs. f's context ends with ctx, and when the node ends by itself.
func withNode(ctx context.Context, cfg *mars.Config, log *slog.Logger, f func(context.Context, *mars.Node) error) error {
	cfg.Program = buildVersion()
	n, err := mars.NewNode(cfg, log)
	if err != nil {
		return err
	}
	use, cancel := context.WithCancel(ctx)
	defer cancel()
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // f may have to do with the node after an interruption
	defer end()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- n.Run(life)
	}()
	err = f(use, n)
	end()
	if failed := <-ended; failed != nil && (err == nil || ctx.Err() == nil) {
		return failed // and f ended for that
	}
	return err
}
