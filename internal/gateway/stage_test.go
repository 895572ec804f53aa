package gateway

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mars"
)

// The stage of these tests: a producer of a directory and a gateway in front of a consumer, all on loopback.

// stage is what a test of the gateway has.
type stage struct {
	dir     string // what the producer serves as /site/data
	node    *mars.Node
	gateway *Gateway
	url     string // of the gateway, without a slash at the end
	stop    func() // ends the producer
	port    uint16
}

// write makes a file of a stage.
func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// random are bytes that are the same in every run.
func random(size int) []byte {
	b := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(b)
	return b
}

// start runs a node until the test ends or stop is called.
func start(t *testing.T, cfg *mars.Config) (n *mars.Node, stop func()) {
	t.Helper()
	n, err := mars.NewNode(cfg, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return n, stop
}

func local(port uint16) mars.FaceURI { return mars.FaceURI{Host: "127.0.0.1", Port: port, Plain: true} }

// newStage serves dir and has a gateway to it listen.
func newStage(t *testing.T, dir string, o Options) *stage {
	t.Helper()
	s := &stage{dir: dir}
	s.serve(t, 0)
	s.node, _ = start(t, &mars.Config{
		Faces:  []mars.FaceConfig{{Name: "up", To: local(s.port)}},
		Routes: []mars.RouteConfig{{Prefix: "/site", Via: "up"}},
		Trust:  []mars.TrustConfig{{Prefix: "/", Unsigned: true}}, // over a plain face no key is known
	})
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	if s.gateway, err = New(s.node, o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.gateway.Serve(ctx, l, 5*time.Second) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve starts the producer.
func (s *stage) serve(t *testing.T, port uint16) {
	t.Helper()
	n, stop := start(t, &mars.Config{
		Listen: []mars.FaceURI{local(port)}, Serve: []mars.ServeConfig{{Dir: s.dir, Prefix: "/site/data"}},
	})
	s.stop, s.port = stop, n.Addrs()[0].Port()
}

// reply is an answer with its content.
type reply struct {
	*http.Response
	body []byte
	err  error // of reading it
}

// ask makes a request as curl does; headers are name, value, name, value …
func (s *stage) ask(t *testing.T, method, path string, headers ...string) reply {
	t.Helper()
	return s.askRaw(t, method, path, append([]string{"Accept", "*/*"}, headers...)...)
}

// askRaw makes a request without a header that isn't named, as clients of S3 do.
func (s *stage) askRaw(t *testing.T, method, path string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return reply{got, body, err}
}
