package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mars"
)

func TestObject(t *testing.T) {
	dir := t.TempDir()
	content := random(3_000_000)
	write(t, dir, "a/big.bin", content)
	write(t, dir, "empty", nil)
	write(t, dir, "a b%c.txt", []byte("hello"))
	s := newStage(t, dir, Options{Buckets: []Bucket{{"data", "/site/data"}}})

	got := s.ask(t, "GET", "/site/data/a/big.bin")
	if got.StatusCode != 200 || !bytes.Equal(got.body, content) || got.ContentLength != int64(len(content)) {
		t.Fatalf("%s, %d bytes", got.Status, len(got.body))
	}
	tag, modified := got.Header.Get("Etag"), got.Header.Get("Last-Modified")
	if len(tag) != 66 || modified == "" || got.Header.Get("Accept-Ranges") != "bytes" || got.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("headers: %v", got.Header)
	}
	for _, c := range []struct {
		what, method, path string
		headers            []string
		status             int
		body               []byte
	}{
		{"an alias of the prefix", "GET", "/data/a/big.bin", nil, 200, content},
		{"only the header", "HEAD", "/site/data/a/big.bin", nil, 200, nil},
		{"an empty object", "GET", "/site/data/empty", nil, 200, nil},
		{"escapes", "GET", "/site/data/a%20b%25c.txt", nil, 200, []byte("hello")},
		{"a range", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=7999-16000"}, 206, content[7999:16001]},
		{"its end", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=-5"}, 206, content[2_999_995:]},
		{"from a byte on", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=2500000-"}, 206, content[2_500_000:]},
		{"a range of a header", "HEAD", "/site/data/a/big.bin", []string{"Range", "bytes=0-9"}, 206, nil},
		{"a range that isn't there", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=3000000-"}, 416, nil},
		{"what is known already", "GET", "/site/data/a/big.bin", []string{"If-None-Match", tag}, 304, nil},
		{"what is known by its time", "GET", "/site/data/a/big.bin", []string{"If-Modified-Since", modified}, 304, nil},
		{"what isn't known", "GET", "/site/data/a/big.bin", []string{"If-None-Match", `"other"`}, 200, content},
		{"what must be the same", "GET", "/site/data/a/big.bin", []string{"If-Match", `"other"`}, 412, nil},
		{"a range of the same", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=1-2", "If-Range", tag}, 206, content[1:3]},
		{"a range of another", "GET", "/site/data/a/big.bin", []string{"Range", "bytes=1-2", "If-Range", `"other"`}, 200, content},
		{"a range that makes no sense", "GET", "/site/data/a/big.bin", []string{"Range", "lines=1-2"}, 416, nil},
		{"nothing", "GET", "/site/data/none", nil, 404, nil},
		{"nothing, its header", "HEAD", "/site/data/none", nil, 404, nil},
		{"a prefix that nobody serves", "GET", "/other/thing", nil, 404, nil},
		{"a path that is no name", "GET", "/site//data", nil, 404, nil},
		{"up and out", "GET", "/site/data/%2e%2e/data/empty", nil, 404, nil},
		{"a change", "PUT", "/site/data/empty", nil, 405, nil},
		{"a removal", "DELETE", "/site/data/empty", nil, 405, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := s.ask(t, c.method, c.path, c.headers...)
			if got.StatusCode != c.status {
				t.Fatalf("%s, want %d: %.200s", got.Status, c.status, got.body)
			}
			if c.status < 300 && !bytes.Equal(got.body, c.body) {
				t.Errorf("%d bytes, want %d, or others", len(got.body), len(c.body))
			}
			if c.status == 416 && !strings.HasPrefix(c.headers[1], "lines") && got.Header.Get("Content-Range") != "bytes */3000000" {
				t.Errorf("Content-Range: %q", got.Header.Get("Content-Range"))
			}
			if c.status >= 400 && c.status != 412 && c.method == "GET" && !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("an error of type %s", got.Header.Get("Content-Type"))
			}
			if c.status >= 400 && got.Header.Get("Etag")+got.Header.Get("Last-Modified") != "" && c.status != 412 {
				t.Errorf("an error with headers of the object: %v", got.Header)
			}
		})
	}
}

func TestSeveralRanges(t *testing.T) {
	dir := t.TempDir()
	content := random(3_000_000)
	write(t, dir, "big", content)
	s := newStage(t, dir, Options{})
	before := contentIn(t, s.node)
	got := s.ask(t, "GET", "/site/data/big", "Range", "bytes=100-199, 1000000-1000009,-3")
	kind, params, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if got.StatusCode != 206 || kind != "multipart/byteranges" || err != nil {
		t.Fatalf("%s, %v", got.Status, got.Header)
	}
	if fetched := contentIn(t, s.node) - before; fetched > 8*8000 {
		t.Errorf("113 bytes cost %d bytes of content", fetched)
	}
	parts := multipart.NewReader(bytes.NewReader(got.body), params["boundary"])
	for _, want := range []struct {
		place      string
		first, end int
	}{
		{"bytes 100-199/3000000", 100, 200}, {"bytes 1000000-1000009/3000000", 1_000_000, 1_000_010}, {"bytes 2999997-2999999/3000000", 2_999_997, 3_000_000},
	} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil || part.Header.Get("Content-Range") != want.place || !bytes.Equal(body, content[want.first:want.end]) {
			t.Errorf("%s: %d bytes, %v, want %s", part.Header.Get("Content-Range"), len(body), err, want.place)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Errorf("more parts: %v", err)
	}
}

func contentIn(t *testing.T, n *mars.Node) (sum uint64) {
	t.Helper()
	faces, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faces {
		sum += f.ContentIn
	}
	return sum
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "sub/a:b <i>.txt", []byte("12345"))
	write(t, dir, "sub/c/d", []byte("1"))
	s := newStage(t, dir, Options{Buckets: []Bucket{{"data", "/site/data"}}})

	page := s.ask(t, "GET", "/data/sub/")
	if page.StatusCode != 200 || page.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s, %v", page.Status, page.Header)
	}
	for _, text := range []string{`href="./a:b%20%3Ci%3E.txt"`, "a:b &lt;i&gt;.txt</a>", `href="./c/"`, `href="../"`, ">5<"} {
		if !strings.Contains(string(page.body), text) {
			t.Errorf("the page lacks %s:\n%s", text, page.body)
		}
	}
	for _, how := range [][]string{{"/data/sub/?json"}, {"/data/sub/", "Accept", "application/json"}} {
		got := s.ask(t, "GET", how[0], how[1:]...)
		var entries []jsonEntry
		if err := json.Unmarshal(got.body, &entries); err != nil || len(entries) != 2 {
			t.Fatalf("%s: %v", got.body, err)
		}
		file, sub := entries[0], entries[1]
		object := s.ask(t, "HEAD", "/data/sub/"+strings.TrimPrefix(file.Href, "./"))
		if file.Name != "a:b <i>.txt" || file.Kind != "file" || *file.Size != 5 || file.Modified == nil || object.StatusCode != 200 {
			t.Errorf("%s: %s", got.body, object.Status)
		}
		if file.ETag != "" && file.ETag != object.Header.Get("Etag") { // "": it wasn't hashed yet
			t.Errorf("the list has ETag %s, the object %s", file.ETag, object.Header.Get("Etag"))
		}
		if sub.Name != "c" || sub.Kind != "directory" || sub.Href != "./c/" || sub.Size != nil {
			t.Errorf("%s", got.body)
		}
	}
	if got := s.ask(t, "GET", "/data/sub?json"); got.StatusCode != 301 || got.Header.Get("Location") != "./sub/?json" {
		t.Errorf("without its slash: %s to %s", got.Status, got.Header.Get("Location"))
	}
	for path, status := range map[string]int{"/data/none/": 404, "/data/sub/c/d/": 404, "/": 200, "/data/": 200, "/data": 404} {
		if got := s.ask(t, "GET", path); got.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, got.Status, status)
		}
	}
	if got := s.ask(t, "GET", "/?json"); !strings.Contains(string(got.body), `"./data/"`) {
		t.Errorf("the root: %s", got.body)
	}
}

// TestFailures: what can't be had is told by a status while nothing was sent, and by a cut connection afterwards.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "big", random(30_000_000))
	s := newStage(t, dir, Options{Stall: time.Second})

	// In the middle: the client has taken a part when the producer ends.
	r, err := http.Get(s.url + "/site/data/big")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.CopyN(io.Discard, r.Body, 1_000_000); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if n, err := io.Copy(io.Discard, r.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut answer ended with %v after %d bytes", err, n)
	}
	if got := s.ask(t, "GET", "/site/data/big"); got.StatusCode != 504 || !strings.Contains(string(got.body), "no answer") {
		t.Errorf("a producer that is gone: %s, %s", got.Status, got.body)
	}
	if got := s.askRaw(t, "GET", "/site/data/big"); got.StatusCode != 504 || !strings.Contains(string(got.body), "<Code>RequestTimeout</Code>") {
		t.Errorf("a producer that is gone, to a client of S3: %s, %s", got.Status, got.body)
	}
	// Another file of the same size takes its place: the answer must not be of both.
	s.serve(t, s.port)
	r2, err := http.Get(s.url + "/site/data/big")
	if err != nil {
		t.Fatal(err)
	}
	defer r2.Body.Close()
	if _, err := io.CopyN(io.Discard, r2.Body, 1_000_000); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "big", bytes.Repeat([]byte{7}, 30_000_000))
	if n, err := io.Copy(io.Discard, r2.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer of two versions ended with %v after %d bytes", err, n)
	}
}

// TestSlowClient: a client who takes nothing holds a bounded part of the object, and is given up.
func TestSlowClient(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "big", random(60_000_000))
	s := newStage(t, dir, Options{Stall: time.Second, MaxRequests: 1})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /site/data/big HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	before := contentIn(t, s.node)
	got := s.ask(t, "HEAD", "/site/data/big") // there is room for one, so it waits until the other is given up
	if got.StatusCode != 200 {
		t.Errorf("while a client is slow: %s", got.Status)
	}
	if fetched := contentIn(t, s.node); fetched > before+30_000_000 || fetched > 40_000_000 { // the kernel's buffers hold some megabytes
		t.Errorf("a client who took nothing has %d bytes fetched", fetched)
	}
}

// TestTooManyRequests: who waits for his turn for long is told to come again.
func TestTooManyRequests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", []byte("a"))
	s := newStage(t, dir, Options{MaxRequests: 1})
	s.gateway.wait = 20 * time.Millisecond
	s.gateway.room <- struct{}{} // somebody is being answered
	if got := s.ask(t, "GET", "/site/data/a"); got.StatusCode != 503 || got.Header.Get("Retry-After") != "1" {
		t.Errorf("%s, %v", got.Status, got.Header)
	}
	if got := s.askRaw(t, "GET", "/site/data/a"); !strings.Contains(string(got.body), "<Code>SlowDown</Code>") {
		t.Errorf("to a client of S3: %s", got.body)
	}
	<-s.gateway.room
	if got := s.ask(t, "GET", "/site/data/a"); got.StatusCode != 200 {
		t.Errorf("afterwards: %s", got.Status)
	}
}

// TestStrangersOfABrowser: without keys a page of another site that lets a name of its own point at this host reads nothing.
func TestStrangersOfABrowser(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", []byte("a"))
	s := newStage(t, dir, Options{})
	for host, status := range map[string]int{
		"localhost": 200, "localhost:80": 200, "127.0.0.1:1": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "192.0.2.1": 403,
	} {
		if got := s.ask(t, "GET", "/site/data/a", "Host", host); got.StatusCode != status {
			t.Errorf("Host %s: %s, want %d", host, got.Status, status)
		}
	}
}

func TestListenOnlyOnLoopback(t *testing.T) {
	g, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Listen(t.Context(), "0.0.0.0:0"); !errors.Is(err, ErrOpen) || !errors.Is(err, mars.ErrUsage) {
		t.Errorf("every address, without keys: %v", err)
	}
	l, err := g.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := g.Listen(t.Context(), l.Addr().String()); err == nil || mars.NextStep(err) == "" {
		t.Errorf("an address that is taken: %v", err)
	}
	withKeys, err := New(nil, Options{Keys: []Key{{"reader", "0123456789abcdef"}}})
	if err != nil {
		t.Fatal(err)
	}
	every, err := withKeys.Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	every.Close()
}

// TestShutdown: what is being answered when the gateway ends comes to its end.
func TestShutdown(t *testing.T) {
	dir := t.TempDir()
	content := random(20_000_000)
	write(t, dir, "big", content)
	s := newStage(t, dir, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.gateway.Serve(ctx, l, 30*time.Second) }()
	r, err := http.Get("http://" + l.Addr().String() + "/site/data/big")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	cancel()
	if body, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(body, content) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
