package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"mars"
)

// Options sets up a Gateway.
type Options struct {
	// Buckets are first parts of paths that stand for a prefix.
	Buckets []Bucket
	// Keys are of those who may ask; every request must be signed with one of them. None: everybody may, so that only loopback
	// addresses must be listened on, and requests that a page of another site made a browser send are refused.
	Keys []Key
	// Stall is how long an answer may be without progress, for want of content or of a client who takes it; 0: 30 s.
	Stall time.Duration
	// MaxRequests is how many are answered at once, each with 8 MB of memory at most; others wait a little. 0: 64.
	MaxRequests int
	// Log gets a line per request; nil: none.
	Log *slog.Logger
}

// Gateway is an http.Handler that answers from what a node can fetch.
type Gateway struct {
	node    *mars.Node
	buckets buckets
	keys    map[string]string // secrets, by identifier
	stall   time.Duration
	room    chan struct{} // a token per request that is being answered
	log     *slog.Logger
	now     func() time.Time
	wait    time.Duration // for a turn
}

// queueTime is how long a request waits for its turn when too many are being answered.
const queueTime = 5 * time.Second

// New returns a gateway to what n can fetch. The error is of bucket names or prefixes that make no sense (mars.ErrUsage).
func New(n *mars.Node, o Options) (*Gateway, error) {
	b, err := newBuckets(o.Buckets)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		node: n, buckets: b, keys: make(map[string]string), stall: cmp.Or(o.Stall, 30*time.Second),
		room: make(chan struct{}, cmp.Or(o.MaxRequests, 64)), log: o.Log, now: time.Now, wait: queueTime,
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, k := range o.Keys {
		g.keys[k.ID] = k.Secret
	}
	return g, nil
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a := newAnswer(w, r, g.stall)
	defer func() {
		g.log.Info("request", "method", r.Method, "path", r.URL.Path, "range", r.Header.Get("Range"), "status", a.status,
			"bytes", a.sent, "cut", a.cut, "seconds", time.Since(began).Seconds(), "client", r.RemoteAddr)
	}()
	a.Header().Set("X-Content-Type-Options", "nosniff")
	if err := g.admit(r); err != nil {
		a.fail(r, err)
		return
	}
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case g.room <- struct{}{}:
		defer func() { <-g.room }()
	case <-r.Context().Done():
		return
	case <-timer.C:
		a.Header().Set("Retry-After", "1")
		a.fail(r, &problem{http.StatusServiceUnavailable, "SlowDown", "too many requests are being answered; try again"})
		return
	}
	if err := g.answer(a, r); err != nil {
		a.fail(r, err)
	}
	a.finish()
}

// admit tells whether a request may be made at all.
func (g *Gateway) admit(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &problem{http.StatusMethodNotAllowed, "MethodNotAllowed", "this gateway only reads: GET and HEAD"}
	}
	if len(g.keys) > 0 {
		return verify(r, g.keys, g.now())
	}
	if !isLoopback(r.Host) { // a name of another site that its owner points at this host (DNS rebinding)
		return &problem{
			http.StatusForbidden, "AccessDenied",
			"without keys this gateway answers only to names of this host, such as localhost and 127.0.0.1",
		}
	}
	return nil
}

// answer answers a request that may be made.
func (g *Gateway) answer(a *answer, r *http.Request) error {
	p, err := g.locate(r.URL.EscapedPath())
	if err != nil {
		return err
	}
	if ok, err := g.answerS3(a, r, p); ok || err != nil {
		return err
	}
	switch {
	case p.root():
		return g.writeList(a, r, p, g.buckets.entries())
	case p.directory:
		return g.directory(a, r, p)
	}
	err = g.object(a, r, p)
	if errors.Is(err, mars.ErrNotFound) && !isS3(r) && !p.bucket() {
		if _, listErr := g.list(r.Context(), p.asDirectory()); listErr == nil {
			return g.toDirectory(a, r)
		}
	}
	return err
}

// isLoopback tells whether a host, perhaps with a port, is this one by a name that nobody else can give it.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Listen listens on a TCP address, host:port. Without Options.Keys it must be of loopback (ErrOpen).
func (g *Gateway) Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &mars.Error{Op: "listen on " + address, Err: err, Next: "choose another HOST:PORT with --listen; port 0 is any that is free"}
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && len(g.keys) == 0 && !at.IP.IsLoopback() {
		l.Close()
		return nil, ErrOpen
	}
	return l, nil
}

// Serve answers what comes to l until ctx ends; then what is being answered may go on for as long as drain, and the rest is cut.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	s := &http.Server{
		Handler: g, ReadHeaderTimeout: g.stall, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := s.Shutdown(patience)
	if err != nil {
		g.log.Warn("answers were cut", "after", drain)
		err = s.Close()
	}
	<-ended
	return err
}

// ErrOpen: without keys everybody on the network could read.
var ErrOpen = &mars.Error{
	Op: "gateway", Kind: mars.ErrUsage, Err: errors.New("without keys it may only listen on loopback"),
	Next: "listen on 127.0.0.1 or [::1], or give keys (--keys FILE or MARS_GATEWAY_KEYS)",
}
