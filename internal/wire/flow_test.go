package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSplitFlow(t *testing.T) {
	for _, c := range []struct {
		uri             string
		kind            Kind
		dest, src, rest string
	}{
		{"/d/s/32=pd/%02/seq=9", Discovery, "/d", "s", "/%02/seq=9"},
		{"/d/e/s/32=dt/obj/v=1/seg=0", Transmission, "/d/e", "s", "/obj/v=1/seg=0"},
		{"/d/s/32=dt", Transmission, "/d", "s", "/"},
		{"/d/s/32=dt/32=pd/x", Transmission, "/d", "s", "/32=pd/x"},
		{"/d/s/32=pd/32=dt/x", Discovery, "/d", "s", "/32=dt/x"},
		{"/d/v=3/s/32=dt/x", Transmission, "/d/v=3", "s", "/x"},
		{"/d/.../32=dt/x", Transmission, "/d", "", "/x"},
		{"/", Plain, "/", "", "/"},
		{"/a/b/v=1/seg=0", Plain, "/", "", "/"},
		{"/a/b/dt/c", Plain, "/", "", "/"},
		{"/a/b/32=dtx/c", Plain, "/", "", "/"},
		{"/a/b/32=d/c", Plain, "/", "", "/"},
		{"/a/b/33=dt/c", Plain, "/", "", "/"},
		{"/32=dt/x", Plain, "/", "", "/"},
		{"/s/32=dt/x", Plain, "/", "", "/"},
		{"/s/32=dt/x/y/32=dt/z", Plain, "/", "", "/"}, // the first marker decides
		{"/d/32=s/32=dt/x", Plain, "/", "", "/"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			f := SplitFlow(MustParseName(c.uri))
			flow := "/"
			if c.kind != Plain {
				flow = MustParseName(c.dest).Append(TypeGeneric, []byte(c.src)).String()
			}
			if f.Kind != c.kind || f.Dest.String() != c.dest || string(f.Src) != c.src || f.Rest.String() != c.rest || f.Flow.String() != flow {
				t.Errorf("kind %d, flow %v, dest %v, src %q, rest %v", f.Kind, f.Flow, f.Dest, f.Src, f.Rest)
			}
		})
	}
}

func TestFlowNames(t *testing.T) {
	src := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	dest := MustParseName("/d/e")

	pd := AppendDiscovery(nil, dest, src, 2, 300)
	same(t, "pd", []byte(pd), unhex(t, "080164 080165 0808 0102030405060708 2002 7064 0801 02 3a02 012c"))
	if tier, seq, ok := SplitFlow(pd).Probe(); tier != 2 || seq != 300 || !ok {
		t.Errorf("probe %d, %d, %v", tier, seq, ok)
	}

	dt := AppendTransmission(nil, dest, src, MustParseName("/obj")).AppendChunk(5, 6)
	same(t, "dt", []byte(dt), unhex(t, "080164 080165 0808 0102030405060708 2002 6474 0803 6f626a 3601 05 3201 06"))
	object, version, chunk, ok := SplitFlow(dt).Rest.SplitChunk()
	if object.String() != "/obj" || version != 5 || chunk != 6 || !ok {
		t.Errorf("chunk %d of %v, version %d, %v", chunk, object, version, ok)
	}
}

func TestProbeRejects(t *testing.T) {
	for _, uri := range []string{
		"/d/s/32=dt/%02/seq=9", "/d/s/32=pd", "/d/s/32=pd/%02", "/d/s/32=pd/%02/seq=9/x", "/d/s/32=pd/%02/seg=9",
		"/d/s/32=pd/32=%02/seq=9", "/d/s/32=pd/abc/seq=9", "/d/s/32=pd/%02/58=abc",
	} {
		if tier, seq, ok := SplitFlow(MustParseName(uri)).Probe(); ok {
			t.Errorf("%s is probe %d, %d", uri, tier, seq)
		}
	}
}

func TestSplitChunk(t *testing.T) {
	for uri, want := range map[string]string{
		"/v=3/seg=4": "/", "/a/b/v=3/seg=4": "/a/b", "/a/v=1/seg=2/v=3/seg=4": "/a/v=1/seg=2",
	} {
		object, version, chunk, ok := MustParseName(uri).SplitChunk()
		if object.String() != want || version != 3 || chunk != 4 || !ok {
			t.Errorf("%s: chunk %d of %v, version %d, %v", uri, chunk, object, version, ok)
		}
	}
	for _, uri := range []string{"/", "/a", "/seg=4", "/a/v=3", "/a/seg=4/v=3", "/a/v=3/seg=4/x", "/a/54=abc/seg=1", "/a/v=1/50=abc"} {
		if object, version, chunk, ok := MustParseName(uri).SplitChunk(); ok {
			t.Errorf("%s: chunk %d of %v, version %d", uri, chunk, object, version)
		}
	}
}

func TestFlowRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dest := rapid.Custom(func(t *rapid.T) Name { return name(1, 3).Draw(t, "dest") }).
			Filter(func(n Name) bool { return SplitFlow(n.Append(TypeGeneric, nil)).Kind == Plain }).Draw(t, "dest")
		src := octets(0, 10).Draw(t, "src")
		object := name(0, 3).Draw(t, "object")
		f := SplitFlow(AppendTransmission(nil, dest, src, object))
		if f.Kind != Transmission || !f.Dest.Equal(dest) || string(f.Src) != string(src) || !f.Rest.Equal(object) {
			t.Fatalf("split as %+v", f)
		}
		if !f.Flow.Equal(dest.Append(TypeGeneric, src)) {
			t.Fatalf("flow %v", f.Flow)
		}
		tier, seq := number().Draw(t, "tier"), number().Draw(t, "seq")
		f = SplitFlow(AppendDiscovery(nil, dest, src, tier, seq))
		if gotTier, gotSeq, ok := f.Probe(); gotTier != tier || gotSeq != seq || !ok || !f.Dest.Equal(dest) {
			t.Fatalf("probe %d, %d, %v toward %v", gotTier, gotSeq, ok, f.Dest)
		}
	})
}

func TestSplitFlowAllocatesNothing(t *testing.T) {
	n := exampleName()
	wantNoAllocs(t, func() {
		f := SplitFlow(n)
		if _, _, chunk, ok := f.Rest.SplitChunk(); f.Kind != Transmission || chunk != 1000 || !ok {
			t.Fatal("wrong split")
		}
	})
}

func BenchmarkSplitFlow(b *testing.B) {
	n := exampleName()
	b.ReportAllocs()
	for b.Loop() {
		if SplitFlow(n).Kind != Transmission {
			b.Fatal("wrong kind")
		}
	}
}
