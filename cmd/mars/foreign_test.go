package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Packets in these tests are put together from the specifications (NDN packet specification 0.3, NDNLPv2, NFD's management), not by
// our codec. Strings hold bytes.

// tlv is an element; its length must be below 65536.
func tlv(typ byte, parts ...string) string {
	value := strings.Join(parts, "")
	if len(value) < 253 {
		return string([]byte{typ, byte(len(value))}) + value
	}
	return string([]byte{typ, 253, byte(len(value) >> 8), byte(len(value))}) + value
}

// element splits b behind its first element, whose type must be below 253.
func element(b string) (typ byte, value, rest string) {
	switch {
	case len(b) >= 2 && b[1] < 253:
		value = b[2:]
		n := min(int(b[1]), len(value))
		return b[0], value[:n], value[n:]
	case len(b) >= 4 && b[1] == 253:
		value = b[4:]
		n := min(int(b[2])<<8|int(b[3]), len(value))
		return b[0], value[:n], value[n:]
	}
	return 0, "", ""
}

// child is the value of the first element of a type inside another.
func child(b string, typ byte) string {
	for b != "" {
		t, value, rest := element(b)
		if t == typ {
			return value
		}
		b = rest
	}
	return ""
}

// name is the inside of a name of generic components, and behind them others as they are.
func name(generic string, others ...string) (n string) {
	for c := range strings.SplitSeq(strings.Trim(generic, "/"), "/") {
		n += tlv(8, c)
	}
	return n + strings.Join(others, "")
}

const (
	canBePrefix, mustBeFresh = "\x21\x00", "\x12\x00"
	metadata                 = "\x20\x08metadata"
	versionSeven             = "\x36\x01\x07"
)

func segment(n int) string { return tlv(50, string([]byte{byte(n)})) }

// data is a Data packet, signed with its digest, of an object with three segments.
func data(name, content string) string {
	signed := tlv(7, name) + tlv(20, tlv(25, "\x0a"), tlv(26, segment(2))) + tlv(21, content) + tlv(22, tlv(27, "\x00"))
	sum := sha256.Sum256([]byte(signed))
	return tlv(6, signed, tlv(23, string(sum[:])))
}

// app is a program that speaks NDN and knows nothing of MARS, on the socket of a node.
type app struct {
	t     *testing.T
	conn  net.Conn
	in    *bufio.Reader
	lp    bool // it speaks NDNLPv2
	id    int  // from 0, of the apps of a shell: nonces must differ
	nonce int
}

func (s *shell) attach(lp bool) *app {
	s.t.Helper()
	c, err := net.Dial("unix", s.path("run/node.sock"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(patience))
	s.apps++
	return &app{t: s.t, conn: c, in: bufio.NewReader(c), lp: lp, id: s.apps - 1}
}

func (a *app) newNonce() string {
	a.nonce++
	return tlv(10, fmt.Sprintf("%c%03x", 'a'+a.id, a.nonce))
}

// send sends a packet, with a link header if there is a token to put into it.
func (a *app) send(packet, token string) {
	if token != "" {
		packet = tlv(100, tlv(98, token), tlv(80, packet))
	}
	if _, err := io.WriteString(a.conn, packet); err != nil {
		a.t.Error(err)
	}
}

// next reads a packet; false: the connection has ended.
func (a *app) next() (typ byte, packet, token string, ok bool) {
	for size := 2; ; {
		head, err := a.in.Peek(size)
		if err != nil {
			return 0, "", "", false
		}
		if size == 2 && head[1] == 253 {
			size = 4
			continue
		}
		if size == 2 {
			size += int(head[1])
		} else if size == 4 {
			size += int(head[2])<<8 | int(head[3])
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(a.in, b); err != nil {
			return 0, "", "", false
		}
		typ, packet, _ = element(string(b))
		if typ == 100 {
			token = child(packet, 98)
			if strings.Contains(packet, "\xfd\x03\x20") {
				return typ, packet, token, true // a Nack
			}
			if child(packet, 80) == "" {
				continue // an idle packet
			}
			typ, packet, _ = element(child(packet, 80))
		}
		return typ, packet, token, true
	}
}

// ask sends an Interest and returns the Data.
func (a *app) ask(name string, rest ...string) (gotName, content string) {
	a.t.Helper()
	i := tlv(5, tlv(7, name), strings.Join(rest, ""), a.newNonce())
	token := ""
	if a.lp {
		token = fmt.Sprintf("token %d", a.nonce)
	}
	a.send(i, token)
	typ, packet, got, ok := a.next()
	if !ok || typ != 6 || got != token {
		a.t.Fatalf("asked for %q, got type %d with token %q (%v), want Data with %q", name, typ, got, ok, token)
	}
	return child(packet, 7), child(packet, 21)
}

// command gives the node a command and returns the code of the response.
func (a *app) command(what, parameters string) string {
	a.t.Helper()
	tail := tlv(36) + tlv(44, tlv(27, "\x00")) + tlv(46, strings.Repeat("\x00", 32))
	sum := sha256.Sum256([]byte(tail))
	a.send(tlv(5, tlv(7, name("/localhost/nfd/"+what), tlv(8, tlv(0x68, parameters)), tlv(2, string(sum[:]))),
		a.newNonce(), tail), "")
	typ, packet, _, _ := a.next()
	if typ != 6 {
		a.t.Fatalf("%s is answered with type %d", what, typ)
	}
	return child(child(child(packet, 21), 0x65), 0x66)
}

// faces lists the addresses of the node's faces.
func (a *app) faces() (all []string) {
	a.t.Helper()
	_, list := a.ask(name("/localhost/nfd/faces/list"), canBePrefix, mustBeFresh)
	for list != "" {
		_, entry, rest := element(list)
		all = append(all, child(entry, 0x72))
		list = rest
	}
	return all
}

// produce answers for an object of three segments below prefix until the connection ends.
func (a *app) produce(object string, segments []string) {
	for typ, i, token, ok := a.next(); ok; typ, i, token, ok = a.next() {
		asked, answer := child(i, 7), ""
		for n, content := range segments {
			if full := object + versionSeven + segment(n); asked == full || asked == object && n == 0 {
				answer = data(full, content)
			}
		}
		if asked == object+metadata {
			answer = data(asked+versionSeven+segment(0), tlv(7, object+versionSeven))
		}
		if typ == 5 && answer != "" {
			a.send(answer, token)
		}
	}
}

// TestForeignApplications: programs written for other forwarders produce and consume over the socket of a node, with a link header and
// without, from each other and with ours.
func TestForeignApplications(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.withNode()
	s.write("more/file", []byte("what we serve"))
	s.start(false, "serve", "more", "--prefix", "/more").until(`^get it: `)
	for _, lp := range []bool{false, true} {
		prefix := fmt.Sprintf("/foreign/%v", lp)
		object, segments := name(prefix+"/object"), []string{strings.Repeat("a", 8000), strings.Repeat("b", 8000), "c"}
		producer, consumer := s.attach(lp), s.attach(lp)
		if code := producer.command("rib/register", tlv(7, name(prefix))); code != "\xc8" {
			t.Fatalf("rib/register: %x", code)
		}
		go producer.produce(object, segments)
		if got, content := consumer.ask(object, canBePrefix); got != object+versionSeven+segment(0) || content != segments[0] {
			t.Errorf("%q with %d bytes", got, len(content))
		}
		for n, want := range segments {
			if _, content := consumer.ask(object + versionSeven + segment(n)); content != want {
				t.Errorf("segment %d of theirs has %d bytes", n, len(content))
			}
		}
		s.mars("get", "--plain", prefix+"/object", "-o", "theirs").want(t, 0)
		s.same("theirs", []byte(strings.Join(segments, "")))

		_, about := consumer.ask(name("/more/file", metadata), canBePrefix, mustBeFresh)
		_, versioned, _ := element(about)
		if !strings.HasPrefix(versioned, name("/more/file")) {
			t.Fatalf("metadata of ours: %q", about)
		}
		if _, content := consumer.ask(versioned + segment(0)); content != "what we serve" {
			t.Errorf("content of ours: %q", content)
		}
	}
}

// TestKilledGet: a fetch through the node that is killed leaves nothing behind in it, and the next one goes on where it was.
func TestKilledGet(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(2 << 20)
	at := s.serveSlowly(content, 1)
	node, _ := s.withNode("--face", "a="+at[0])
	node.until(`msg="face up" face=\d+ name=a `)
	watcher := s.attach(false)
	before := watcher.faces()
	get := s.start(false, "get", "/site/object", "-o", "got", "--json")
	get.until(`"event":"progress"`)
	if during := watcher.faces(); len(during) != len(before)+1 {
		t.Errorf("the node has the faces %q, before it had %q", during, before)
	}
	get.end(syscall.SIGKILL)
	for deadline := time.Now().Add(patience); ; { // its end is seen when the kernel tells
		after := watcher.faces()
		if slices.Equal(after, before) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node has the faces %q, want %q", after, before)
		}
	}
	s.mars("get", "/site/object", "-o", "got").want(t, 0, "verified")
	s.same("got", content)
	if code := node.end(syscall.SIGTERM); code != 0 {
		t.Errorf("the node ended with %d", code)
	}
}
