package scenario

import (
	"errors"
	"os"
	"testing"
)

// FuzzLoad feeds arbitrary text to the loader. What it refuses has a place and a remedy; what it takes is a World that
// runners can rely on.
func FuzzLoad(f *testing.F) {
	f.Add(small)
	f.Add(everything)
	f.Add("include: base.yaml\nname: x\nsweep:\nlimit: {a: [$b]}\n")
	f.Add("a: &x [*x]\n---\n? !!set\n<<: {}\n")
	for _, c := range badFiles {
		f.Add(c.in["s.yaml"])
	}
	for _, name := range []string{"mars-emulation-homogeneous", "pcon-loops", "two-paths", "three-hop-bulk"} {
		text, err := os.ReadFile("../../scenarios/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, g := range generatorCases {
		f.Add(generated(g.topology)["s.yaml"])
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := files{"s.yaml": text, "base.yaml": small}.load()
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File == "" || e.Problem == "" || e.Remedy == "" || e.Kind == nil {
				t.Fatalf("%#v", err)
			}
			return
		}
		worlds, err := s.Worlds()
		if err != nil || len(worlds) == 0 || len(s.Hash()) != 64 || len(s.Systems) == 0 || s.Seeds.Count < 1 {
			t.Fatalf("%d worlds, %v: %+v", len(worlds), err, s)
		}
		for i := range worlds {
			sound(t, &worlds[i])
		}
	})
}

// sound checks what runners rely on.
func sound(t *testing.T, w *World) {
	t.Helper()
	names := map[string]bool{}
	once := func(kind, name string) {
		if name == "" || names[kind+name] {
			t.Fatalf("%s %q is empty or there twice", kind, name)
		}
		names[kind+name] = true
	}
	for _, n := range w.Nodes {
		once("node", n.Name)
	}
	for _, l := range w.Links {
		once("link", l.Name)
		if l.A == l.B || l.A < 0 || l.B < 0 || l.A >= len(w.Nodes) || l.B >= len(w.Nodes) {
			t.Fatalf("ends of %+v", l)
		}
		for _, d := range []Direction{l.AB, l.BA} {
			if d.Rate < 1 || d.Delay < 0 || d.Jitter < 0 || d.Packets < 0 || d.Bytes < 0 || d.Packets+d.Bytes == 0 || d.MTU < 576 || d.MTU > 65535 ||
				d.Loss.Random < 0 || d.Loss.Random > 1 {
				t.Fatalf("%s: %+v", l.Name, d)
			}
		}
	}
	if len(w.Flows) == 0 || w.Limit <= 0 {
		t.Fatalf("%d flows, limit %v", len(w.Flows), w.Limit)
	}
	for _, f := range w.Flows {
		once("flow", f.Name)
		if f.Bytes < 1 || f.Start < 0 || f.ChunkSize < 0 || w.Nodes[f.Consumer].Role != Consumer || w.Nodes[f.Producer].Role != Producer {
			t.Fatalf("%+v", f)
		}
	}
	for _, f := range w.Faults {
		if f.At < 0 || f.For < 0 || (f.Link < 0) == (f.Node < 0) || f.Link >= len(w.Links) || f.Node >= len(w.Nodes) || f.After != "" && w.FlowIndex(f.After) < 0 {
			t.Fatalf("%+v", f)
		}
	}
}
