package publish

import (
	"math"
	"strings"
	"testing"

	"mars/internal/wire"
)

// TestParse is what names mean (protocol.md §2, interop.md). 54= and 50= are versions and numbers.
func TestParse(t *testing.T) {
	long := strings.Repeat("x", maxName)
	for _, c := range []struct {
		say, name string
		prefix    bool   // CanBePrefix
		object    string // "": refused
		want      query
	}{
		{"a MARS chunk", "/site/me/32=dt/a/b/v=7/seg=3", false, "/site/a/b", query{version: 7, versioned: true, index: 3, complete: true}},
		{"a MARS segment", "/site/me/32=dt/a/32=manifest/v=7/seg=3", false, "/site/a", query{manifest: true, version: 7, versioned: true, index: 3, complete: true}},
		{"CanBePrefix doesn't matter for a whole name", "/site/me/32=dt/a/v=7/seg=3", true, "/site/a", query{version: 7, versioned: true, index: 3, complete: true}},
		{"MARS without a number", "/site/me/32=dt/a/v=7", true, "", query{}},
		{"MARS without a version", "/site/me/32=dt/a", true, "", query{}},
		{"MARS metadata", "/site/me/32=dt/a/32=metadata", true, "", query{}},
		{"MARS with nothing", "/site/me/32=dt", true, "", query{}},
		{"MARS, of another producer", "/other/me/32=dt/a/v=7/seg=3", false, "", query{}},
		{"MARS, of a producer below", "/site/x/me/32=dt/a/v=7/seg=3", false, "", query{}},
		{"MARS, of the producer above", "/me/32=dt/site/a/v=7/seg=3", false, "", query{}},
		{"discovery", "/site/me/32=pd/%01/seq=3", true, "", query{}},

		{"a chunk", "/site/a/v=7/seg=3", false, "/site/a", query{version: 7, versioned: true, index: 3, complete: true, plain: true}},
		{"a segment", "/site/a/32=manifest/v=7/seg=3", false, "/site/a", query{manifest: true, version: 7, versioned: true, index: 3, complete: true, plain: true}},
		{"the prefix itself", "/site/v=7/seg=3", false, "/site", query{version: 7, versioned: true, index: 3, complete: true, plain: true}},
		{"metadata", "/site/a/32=metadata", true, "/site/a", query{metadata: true, plain: true}},
		{"metadata, which can't have that name", "/site/a/32=metadata", false, "", query{}},
		{"the packet that metadata comes in", "/site/a/32=metadata/v=7/seg=0", false, "/site/a/32=metadata", query{version: 7, versioned: true, complete: true, plain: true}},
		{"a version", "/site/a/v=7", true, "/site/a", query{version: 7, versioned: true, plain: true}},
		{"a version's manifest", "/site/a/32=manifest/v=7", true, "/site/a", query{manifest: true, version: 7, versioned: true, plain: true}},
		{"an object", "/site/a", true, "/site/a", query{plain: true}},
		{"a manifest without a version is nobody's", "/site/a/32=manifest", true, "/site/a/32=manifest", query{plain: true}},
		{"a version that is no number", "/site/a/54=abc", true, "/site/a/54=abc", query{plain: true}},
		{"an object, whole", "/site/a", false, "", query{}},
		{"a version, whole", "/site/a/v=7", false, "", query{}},
		{"an implicit digest", "/site/a/v=7/seg=3/sha256digest=" + strings.Repeat("00", 32), false, "", query{}},

		{"a foreign prefix", "/other/a/v=7/seg=3", false, "", query{}},
		{"a foreign prefix that begins alike", "/sites/a/v=7/seg=3", false, "", query{}},
		{"above the prefix", "/", true, "", query{}},
		{"a number without a version", "/site/a/seg=3", false, "", query{}},
		{"a number after something else", "/site/a/v=7/x/seg=3", false, "", query{}},
		{"a huge number", "/site/a/v=7/seg=18446744073709551615", false, "", query{}},
		{"the greatest number", "/site/a/v=7/seg=9223372036854775807", false, "/site/a", query{version: 7, versioned: true, index: math.MaxInt64, complete: true, plain: true}},
		{"too long a name", "/site/" + long, true, "", query{}},
	} {
		t.Run(c.say, func(t *testing.T) {
			i := wire.Interest{Name: wire.MustParseName(c.name), CanBePrefix: c.prefix}
			q, ok := parse(&i, site, make(wire.Name, 0, 2000))
			if ok != (c.object != "") {
				t.Fatalf("understood: %v", ok)
			}
			if !ok {
				return
			}
			if q.object.String() != c.object {
				t.Errorf("object %v, want %v", q.object, c.object)
			}
			if c.want.object = q.object; !same(q, c.want) {
				t.Errorf("%+v, want %+v", q, c.want)
			}
		})
	}
}

func same(a, b query) bool {
	return a.metadata == b.metadata && a.manifest == b.manifest && a.version == b.version && a.versioned == b.versioned &&
		a.index == b.index && a.complete == b.complete && a.plain == b.plain
}

// FuzzQuery: whatever Interest comes, the engine doesn't panic, asks the application only for what is below its prefix and
// not too long, and sends at most one packet, which decodes and answers it.
func FuzzQuery(f *testing.F) {
	object := newFixture("/site/a", 100, 8, 1)
	for _, n := range []wire.Name{
		object.name("", object.version(), 1), object.name("32=manifest", object.version(), 1), object.name("32=metadata"),
		object.dt("", object.version(), 1), object.dt("32=manifest", object.version(), 0), object.name("", 1, 1),
		object.name(""), wire.MustParseName("/other/a"), wire.MustParseName("/site/me/32=pd/%01/seq=3"),
	} {
		f.Add([]byte(n), true, uint64(4000))
		f.Add([]byte(n), false, uint64(0))
	}
	f.Fuzz(func(t *testing.T, value []byte, canBePrefix bool, lifetime uint64) {
		name, err := wire.DecodeName(value)
		if err != nil || len(name) == 0 || len(name) > 8700 {
			return
		}
		i := wire.Interest{Name: name, CanBePrefix: canBePrefix, Lifetime: lifetime}
		var check wire.Interest
		if i.HasNonce = true; check.Decode(i.Append(nil)) != nil {
			return
		}
		fresh := *object.o
		b := newBench(t, Config{}, &fixture{&fresh, object.content})
		b.left = true
		token := b.asks(i)
		for len(b.asked) > 0 {
			r := b.asked[0]
			if r.Kind == Resolve && (!r.Name.HasPrefix(site) || len(r.Name) > maxObject) {
				t.Fatalf("asked for %v", r.Name)
			}
			b.asked = b.asked[1:]
			b.answer(r)
			b.serve()
		}
		answers(t, i, token, b.next())
		b.silent()
		if n := len(b.e.inquiries.slots) - len(b.e.inquiries.free); n != 0 || b.e.Deadline() != 1<<63-1 {
			t.Fatalf("%d inquiries are left", n)
		}
	})
}
