package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/disk"
	"mars/internal/wire"
)

func serveCommand() *cobra.Command {
	var f nodeFlags
	var prefix string
	c := &cobra.Command{
		Use:   "serve DIR --prefix /NAME",
		Short: "Serve the files below a directory, until it is stopped",
		Long: `Serves every regular file below DIR as /NAME/path/of/the/file, and prints the command that gets one. Files are hashed in
the background, those that are asked for at once. SIGINT and SIGTERM end it with exit code 0. It listens on UDP port 6363 of
every IPv4 address, or where --listen or the configuration says. If a node runs on this host, it serves through that instead.`,
		Example: `  mars serve ./data --prefix /site/data
  mars serve ./data --prefix /site/data --listen udp4://192.0.2.1:6363 --listen udp4://198.51.100.1:6363`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		Args: exactly(1, "give one directory: mars serve DIR --prefix /name"),
		RunE: func(c *cobra.Command, args []string) error {
			if prefix == "" {
				return usage(c, "there is no prefix to serve under; add --prefix /name")
			}
			f.serve = []mars.ServeConfig{{Dir: args[0], Prefix: prefix}}
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			if len(f.listen) == 0 {
				if path := attachTo(f.socket, cfg); path != "" {
					cfg = &mars.Config{Attach: path, Serve: cfg.Serve, Node: mars.NodeConfig{Key: cfg.Node.Key}}
				}
			}
			cfg.Node.Socket = "" // it is of the node that runs all the time
			log, err := newLog(c, c.ErrOrStderr(), f.logLevel)
			if err != nil {
				return err
			}
			return withNode(c.Context(), cfg, log, func(ctx context.Context, n *mars.Node) error {
				if err := n.Registered(ctx); err != nil {
					return nil // it was stopped before
				}
				if err := announce(c.OutOrStdout(), args[0], prefix, cfg.Attach, n.Listening()); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			})
		},
	}
	configFlag(c, &f.config)
	c.Flags().StringVar(&prefix, "prefix", "", "`NAME` below which the files appear, such as /site/data")
	c.Flags().StringArrayVar(&f.listen, "listen", nil, "`ADDRESS` to listen on, udp://host:port; port 0: any (may be repeated)")
	profileFlag(c, &f.profile)
	socketFlag(c, &f.socket, "of the node to serve through; none: don't (usual: of the one that runs here)")
	logLevelFlag(c, &f.logLevel, "warn")
	return c
}

// announce tells what is served where, and how to get it from elsewhere.
func announce(w io.Writer, dir, prefix, socket string, at []mars.FaceURI) error {
	var listening, via []string
	for _, u := range at {
		via = append(via, " --via "+reachable(u).String())
		u.Key = mars.PublicKey{}
		listening = append(listening, u.String())
	}
	name := strings.TrimSuffix(prefix, "/") + "/" + example(dir)
	if socket != "" {
		_, err := fmt.Fprintf(w, "serving %s as %s through the node at %s\nget it: mars get %s\n", dir, prefix, socket, quote(name))
		return err
	}
	_, err := fmt.Fprintf(w, "serving %s as %s on %s\nget it: mars get %s%s\n",
		dir, prefix, strings.Join(listening, ", "), quote(name), strings.Join(via, ""))
	return err
}

// reachable puts an address of this machine that others may reach in the place of "every address".
func reachable(u mars.FaceURI) mars.FaceURI {
	listen, ok := u.Addr()
	if !ok || !listen.Addr().IsUnspecified() {
		return u
	}
	best := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if u.IP == 6 {
		best = netip.IPv6Loopback()
	}
	all, _ := net.InterfaceAddrs() // without any, best is left
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Is4() == best.Is4() && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			best = p.Addr()
			break
		}
	}
	return mars.FaceURI{Host: best.String(), Port: u.Port, Key: u.Key}
}

// example is the name below the prefix of a file in dir: the first there is.
func example(dir string) string {
	found := "FILE"
	tree, err := disk.OpenTree(dir, disk.TreeOptions{})
	if err != nil {
		return found
	}
	defer tree.Close()
	_ = tree.Walk(func(suffix wire.Name, _ int64) error {
		found = strings.TrimPrefix(suffix.String(), "/")
		return fs.SkipAll
	})
	return found
}

// quote makes a name one word of a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-%=:+,@", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
