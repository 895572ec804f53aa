package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/wire"
)

// TestForeign replays conversations with software written by others, byte for byte (testdata/foreign). The packets are
// written down from the specifications, not made by our codec. One line is one step; a line that begins with a space goes
// on the one before it.
//
//	node [leaf]                          a node begins
//	face ID local | mtu=N                an application, or another node, appears
//	down ID                              it goes
//	static PREFIX FACE                   a configured route
//	serve PREFIX NAME CONTENT            a producer of ours with one object; CONTENT is SIZExBYTE or text
//	let NAME EXPR
//	> FACE EXPR                          the peer sends this packet
//	< FACE EXPR                          we have sent this packet
//	quiet                                we have sent nothing else
//	advance DURATION
//	drops                                what was dropped must be: reason=count …
//
// EXPR is what the packet consists of: 7(…) is an element of decimal type 7, its length counted by the script; x0a1b are
// bytes, "text" is text, N*EXPR repeats, $name stands for what let or a <-line bound, ?name:N is N bytes of our choice
// which a <-line binds, sha256(…) is a digest, head8(…) its first 8 bytes, and signed(…) a Data's inside with a digest signature behind it.
func TestForeign(t *testing.T) {
	files, err := filepath.Glob("testdata/foreign/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			runForeign(t, string(text))
		})
	}
}

type foreign struct {
	t    *testing.T
	line int
	node *Node
	now  machine.Time
	vars map[string][]byte
	sent map[machine.FaceID][][]byte
	pump []func()
}

func runForeign(t *testing.T, text string) {
	f := &foreign{t: t, vars: map[string][]byte{}}
	var step strings.Builder
	begun := 0
	flush := func() {
		if s := strings.TrimSpace(step.String()); s != "" {
			f.line = begun
			f.step(s)
		}
		step.Reset()
	}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if !strings.HasPrefix(line, " ") {
			flush()
			begun = i + 1
		}
		step.WriteString(" " + strings.TrimSpace(line))
	}
	flush()
	f.quiet()
}

func (f *foreign) fatalf(format string, args ...any) {
	f.t.Helper()
	f.t.Fatalf("line %d: %s", f.line, fmt.Sprintf(format, args...))
}

func (f *foreign) step(s string) {
	word, rest, _ := strings.Cut(s, " ")
	rest = strings.TrimSpace(rest)
	args := strings.Fields(rest)
	switch word {
	case "node":
		f.node = New(forward.Config{Seed: 1, Relay: rest != "leaf"})
		f.sent, f.pump = map[machine.FaceID][][]byte{}, nil
	case "face":
		face := machine.Face{Local: args[1] == "local"}
		if mtu, ok := strings.CutPrefix(args[1], "mtu="); ok {
			face.MTU, _ = strconv.Atoi(mtu)
		}
		f.node.FaceUp(f.now, f.face(args[0]), face)
	case "down":
		f.node.FaceDown(f.now, f.face(args[0]))
	case "static":
		f.node.AddRoute(f.now, wire.MustParseName(args[0]), forward.NextHop{Face: f.face(args[1]), Hops: 1})
	case "serve":
		f.serve(args[0], args[1], args[2])
	case "let":
		name, expr, _ := strings.Cut(rest, " ")
		f.vars[name] = f.eval(expr).bytes
	case ">":
		face, expr, _ := strings.Cut(rest, " ")
		f.node.Receive(f.now, f.face(face), machine.NotECT, f.eval(expr).bytes)
	case "<":
		face, expr, _ := strings.Cut(rest, " ")
		f.expect(f.face(face), f.eval(expr))
	case "quiet":
		f.quiet()
	case "advance":
		d, err := time.ParseDuration(rest)
		if err != nil {
			f.fatalf("%v", err)
		}
		f.now += machine.Time(d)
		f.node.Advance(f.now)
	case "drops":
		var got []string
		for _, r := range forward.DropReasons() {
			if n := f.node.Forwarder().Dropped(r); n > 0 {
				got = append(got, fmt.Sprintf("%v=%d", r, n))
			}
		}
		if s := strings.Join(got, " "); s != rest {
			f.fatalf("dropped %s, want %s", s, rest)
		}
	default:
		f.fatalf("unknown step %q", word)
	}
	f.collect()
}

func (f *foreign) face(s string) machine.FaceID {
	n, err := strconv.Atoi(s)
	if err != nil {
		f.fatalf("%v", err)
	}
	return machine.FaceID(n)
}

// serve attaches a producer with one object, whose bytes are there at once.
func (f *foreign) serve(prefix, name, content string) {
	if size, b, ok := strings.Cut(content, "x"); ok {
		n, _ := strconv.Atoi(size)
		content = strings.Repeat(b, n)
	}
	b := wire.NewManifestBuilder(wire.ChunkSize)
	b.Write([]byte(content))
	dest := wire.MustParseName(prefix)
	o := &publish.Object{Name: wire.MustParseName(name), Dest: dest, Manifest: b.Finish()}
	e := publish.New(publish.Config{Prefix: dest})
	f.node.Attach(f.now, e, dest)
	answer := serve(e, f.node, o, []byte(content))
	f.pump = append(f.pump, func() { answer(f.now) })
}

// collect takes what the node sends.
func (f *foreign) collect() {
	if f.node == nil {
		return
	}
	buf := make([]byte, 9200)
	for moved := true; moved; {
		moved = false
		for range 2 { // what one answers may make the engine ask again
			for _, p := range f.pump {
				p()
			}
		}
		for _, id := range f.node.Ready(nil) {
			for {
				n, _ := f.node.Transmit(f.now, id, buf)
				if n <= 0 {
					break
				}
				moved = true
				f.sent[id] = append(f.sent[id], bytes.Clone(buf[:n]))
			}
		}
	}
}

func (f *foreign) expect(face machine.FaceID, want value) {
	f.t.Helper()
	if len(f.sent[face]) == 0 {
		f.fatalf("nothing was sent on face %d, want\n%s", face, short(want.bytes))
	}
	got := f.sent[face][0]
	f.sent[face] = f.sent[face][1:]
	if len(got) == len(want.bytes) {
		for _, h := range want.holes {
			f.vars[h.name] = got[h.at : h.at+h.size]
			copy(want.bytes[h.at:], got[h.at:h.at+h.size])
		}
	}
	if !bytes.Equal(got, want.bytes) {
		f.fatalf("face %d sent\n%s, want\n%s", face, short(got), short(want.bytes))
	}
}

func (f *foreign) quiet() {
	f.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(f.sent)) {
		if len(f.sent[id]) > 0 {
			f.fatalf("face %d also sent\n%s", id, short(f.sent[id][0]))
		}
	}
}

// short is b in hexadecimal, unless it is long.
func short(b []byte) string {
	if len(b) <= 400 {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%x… (%d bytes) …%x", b[:200], len(b), b[len(b)-200:])
}

// value is what an expression stands for, with the bytes that are ours to choose.
type value struct {
	bytes []byte
	holes []hole
}

type hole struct {
	name     string
	at, size int
}

func (v *value) add(o value) {
	for _, h := range o.holes {
		h.at += len(v.bytes)
		v.holes = append(v.holes, h)
	}
	v.bytes = append(v.bytes, o.bytes...)
}

func (f *foreign) eval(s string) value {
	v, rest := f.sequence(s)
	if rest != "" {
		f.fatalf("what is %q?", rest)
	}
	return v
}

// sequence evaluates terms up to a closing parenthesis or the end.
func (f *foreign) sequence(s string) (all value, rest string) {
	for {
		s = strings.TrimLeft(s, " ")
		if s == "" || s[0] == ')' {
			return all, s
		}
		var v value
		v, s = f.term(s)
		all.add(v)
	}
}

func (f *foreign) term(s string) (value, string) {
	if text, rest, ok := strings.Cut(strings.TrimPrefix(s, `"`), `"`); s[0] == '"' && ok {
		return value{bytes: []byte(text)}, rest
	}
	end := strings.IndexAny(s, "() *")
	if end < 0 {
		end = len(s)
	}
	word, rest := s[:end], s[end:]
	switch {
	case strings.HasPrefix(rest, "("):
		inside, after := f.sequence(rest[1:])
		if !strings.HasPrefix(after, ")") {
			f.fatalf("no ) for %s(", word)
		}
		return f.element(word, inside), after[1:]
	case strings.HasPrefix(rest, "*"):
		n, err := strconv.Atoi(word)
		if err != nil {
			f.fatalf("%v", err)
		}
		v, after := f.term(rest[1:])
		return value{bytes: bytes.Repeat(v.bytes, n)}, after
	case word[0] == '$':
		v, ok := f.vars[word[1:]]
		if !ok {
			f.fatalf("%s isn't bound", word)
		}
		return value{bytes: v}, rest
	case word[0] == '?':
		name, size, _ := strings.Cut(word[1:], ":")
		n, err := strconv.Atoi(size)
		if err != nil {
			f.fatalf("%v", err)
		}
		return value{make([]byte, n), []hole{{name, 0, n}}}, rest
	case word[0] == 'x':
		b, err := hex.DecodeString(word[1:])
		if err != nil {
			f.fatalf("%s: %v", word, err)
		}
		return value{bytes: b}, rest
	}
	f.fatalf("what is %q?", word)
	return value{}, ""
}

func (f *foreign) element(word string, inside value) value {
	switch word {
	case "sha256":
		sum := sha256.Sum256(inside.bytes)
		return value{bytes: sum[:]}
	case "head8":
		return value{bytes: inside.bytes[:8]}
	case "signed":
		inside.add(value{bytes: []byte{22, 3, 27, 1, 0}})
		sum := sha256.Sum256(inside.bytes)
		inside.add(value{bytes: append([]byte{23, 32}, sum[:]...)})
		return inside
	}
	typ, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		f.fatalf("%v", err)
	}
	v := value{bytes: number(number(nil, typ), uint64(len(inside.bytes)))}
	v.add(inside)
	return v
}

// number appends a VAR-NUMBER (NDN packet specification, "Variable Size Encoding").
func number(b []byte, n uint64) []byte {
	switch {
	case n < 253:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 253, byte(n>>8), byte(n))
	}
	return append(b, 254, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}
