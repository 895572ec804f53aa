package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

func fetchURL(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	got, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if body, err = io.ReadAll(got.Body); err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, body
}

// TestGatewayCommand: what is served elsewhere can be had by HTTP, under its own name and that of a bucket, until SIGTERM.
func TestGatewayCommand(t *testing.T) {
	s := newShell(t)
	content := random(1_000_000)
	via := s.serve(content, 1)[0]
	p := s.start(false, "gateway", "--listen", "127.0.0.1:0", "--via", via, "--bucket", "data=/site")
	url := p.until(`^listening on (http://\S+)$`)[1]
	for _, path := range []string{"/site/object", "/data/object"} {
		if status, body := fetchURL(t, url+path); status != 200 || !bytes.Equal(body, content) {
			t.Errorf("%s: status %d, %d bytes", path, status, len(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}

// TestGatewayWithKeys: with keys nobody reads without one.
func TestGatewayWithKeys(t *testing.T) {
	s := newShell(t)
	via := s.serve(random(1000), 1)[0]
	s.env = append(s.env, "MARS_GATEWAY_KEYS=reader 0123456789abcdef")
	p := s.start(false, "gateway", "--listen", "127.0.0.1:0", "--via", via)
	url := p.until(`^listening on (http://\S+)$`)[1]
	if status, body := fetchURL(t, url+"/site/object"); status != 403 || !strings.Contains(string(body), "AccessDenied") {
		t.Errorf("unsigned: status %d, %s", status, body)
	}
}

func TestGatewayUsage(t *testing.T) {
	s := newShell(t)
	keys := s.write("keys", []byte("reader 0123456789abcdef\n"))
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--listen 0.0.0.0:0", 2, "without keys it may only listen on loopback"},
		{"--listen nonsense", 1, "another HOST:PORT"},
		{"--bucket data", 2, "is not NAME=/PREFIX"},
		{"--bucket Data=/x", 2, "no name of a bucket"},
		{"--keys " + keys, 2, "chmod 600"},
		{"--keys missing", 2, "no such file"},
		{"--max-requests 0", 2, "at least 1"},
		{"--stall 0s", 2, "longer than nothing"},
		{"--drain=-1s", 2, "negative"},
		{"extra", 2, "no arguments"},
	} {
		args := append([]string{"gateway", "--listen", "127.0.0.1:0", "--via", "plain+udp4://127.0.0.1:9"}, strings.Fields(c.args)...)
		if r := s.mars(args...); r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		}
	}
	if err := os.Chmod(keys, 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.start(false, "gateway", "--listen", "0.0.0.0:0", "--keys", keys, "--via", "plain+udp4://127.0.0.1:9")
	p.until(`^listening on `)
}
