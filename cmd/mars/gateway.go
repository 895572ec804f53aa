package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/gateway"
)

// gatewayFlags are the flags of `mars gateway`.
type gatewayFlags struct {
	reach
	listen   string
	buckets  []string
	keys     string
	most     int
	drain    time.Duration
	logLevel string
}

func gatewayCommand() *cobra.Command {
	var f gatewayFlags
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Serve objects to programs that speak HTTP or read S3, until it is stopped",
		Long: `Answers HTTP requests: the path /site/data/file.iso is the object of that name, /site/data/ the list of the directory. Only what
is asked for is fetched, and every piece is verified before it leaves. The same port answers the reading half of S3, with the first part of the path
as the bucket. Without keys it listens on loopback only; with keys every request must be signed. SIGINT and SIGTERM end it.`,
		Example: `  mars gateway --via udp4://KEY@192.0.2.1:6363
  curl -O http://localhost:8080/site/data/file.iso
  mars gateway --listen :8080 --keys /etc/mars/gateway.keys --bucket data=/site/data`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args:              exactly(0, "it takes no arguments"),
		RunE:              func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "localhost:8080", "`HOST:PORT` to listen on; port 0: any")
	flags.StringArrayVar(&f.buckets, "bucket", nil, "`NAME=/PREFIX`: the first part NAME of a path stands for the prefix (may be repeated)")
	flags.StringVar(&f.keys, "keys", "", "`FILE` with the keys of those who may ask, a line with identifier and secret each (usual: $"+gateway.KeysVariable+")")
	flags.IntVar(&f.most, "max-requests", 64, "answer `N` requests at once, with up to 8 MB of memory each")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "let answers go on for this `TIME` when it is stopped")
	f.register(c)
	logLevelFlag(c, &f.logLevel, "info")
	return c
}

func (f *gatewayFlags) run(c *cobra.Command) error {
	switch {
	case f.stall <= 0:
		return usage(c, "--stall must be longer than nothing, such as 30s")
	case f.drain < 0:
		return usage(c, "--drain can't be negative")
	case f.most <= 0:
		return usage(c, "--max-requests must be at least 1")
	}
	log, err := newLog(c, c.ErrOrStderr(), f.logLevel)
	if err != nil {
		return err
	}
	o := gateway.Options{Stall: f.stall, MaxRequests: f.most, Log: log}
	for _, text := range f.buckets {
		b, err := gateway.ParseBucket(text)
		if err != nil {
			return usage(c, "--bucket: %v", err)
		}
		o.Buckets = append(o.Buckets, b)
	}
	if o.Keys, err = gateway.LoadKeys(f.keys); err != nil {
		return err
	}
	cfg, err := f.nodeConfig(c)
	if err != nil {
		return err
	}
	return withNode(c.Context(), cfg, log, func(ctx context.Context, n *mars.Node) error {
		g, err := gateway.New(n, o)
		if err != nil {
			return err
		}
		l, err := g.Listen(ctx, f.listen)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "listening on http://%s\n", l.Addr()); err != nil {
			l.Close()
			return err
		}
		return g.Serve(ctx, l, f.drain)
	})
}
