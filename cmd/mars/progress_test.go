package main

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mars"
)

func peer(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestPlainLines: without a terminal a line per second of the fetch's time, and none when quiet.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		v := newView(w, "file.iso", quiet)
		p := mars.Progress{Size: -1}
		for i := range 25 {
			p.Elapsed = time.Duration(i) * 100 * time.Millisecond
			if i > 12 {
				p.Size, p.Bytes = 1e9, int64(i-12)*1e6
			}
			v.Update(p)
		}
		v.Note("resumed %d", 3)
		v.Close()
		w.Close()
		var got bytes.Buffer
		if _, err := got.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		want := "file.iso: looking up 1.0 s\nfile.iso: 0% 8.0 MB of 1.0 GB 32.0 Mbit/s ETA 4 min 8 s\nresumed 3\n"
		if quiet {
			want = ""
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("quiet %v: %s", quiet, diff)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	p := mars.Progress{Elapsed: 2 * time.Second, Faces: []mars.FaceStatus{
		{Name: "fibre", Peer: peer("192.0.2.1:6363"), State: "up", ContentIn: 30e6},
		{Name: "lte", State: "suspended", ContentIn: 10e6},
		{Name: "dsl", State: "up", Err: errors.New("unreachable")},
	}}
	for _, c := range []struct {
		known caps
		want  string
	}{
		{nil, `
path                    bytes  share      goodput
fibre 192.0.2.1:6363  30.0 MB    75%   120 Mbit/s
lte (suspended)       10.0 MB    25%  40.0 Mbit/s
dsl (down)                0 B     0%      0 bit/s
`},
		{caps{"lte": 50e6}, `
path                    bytes  share      goodput          cap
fibre 192.0.2.1:6363  30.0 MB    75%   120 Mbit/s            –
lte (suspended)       10.0 MB    25%  40.0 Mbit/s  50.0 Mbit/s
dsl (down)                0 B     0%      0 bit/s            –
`},
	} {
		var out strings.Builder
		printTable(&out, p, c.known)
		if diff := cmp.Diff(c.want, "\n"+out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	p := &mars.FetchResult{Progress: mars.Progress{
		Size: 1e9, Bytes: 1e9, Elapsed: 8 * time.Second,
		Faces: []mars.FaceStatus{{ContentIn: 1}, {ContentIn: 0}, {ContentIn: 2}},
	}}
	if got, want := summary("file.iso", p), "file.iso: 1.0 GB in 8.0 s, 1.00 Gbit/s over 2 paths, verified, not signed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.Resumed, p.Faces = 4e8, p.Faces[:1]
	if got, want := summary("-", p), "standard output: 1.0 GB in 8.0 s (400.0 MB of it were here), 600 Mbit/s over 1 path, verified, not signed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.Present = true
	if got, want := summary("file.iso", p), "file.iso: 1.0 GB were here already, verified, not signed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	var m meter
	rate := func(want float64) {
		t.Helper()
		if got := m.rate(); got != want {
			t.Errorf("rate %v, want %v", got, want)
		}
	}
	rate(0)
	m.add(0, 0)
	rate(0)
	for i := 1; i <= 40; i++ {
		m.add(time.Duration(i)*100*time.Millisecond, float64(10*i))
	}
	rate(100)
	for i := 41; i <= 60; i++ { // the counter stands still
		m.add(time.Duration(i)*100*time.Millisecond, 400)
	}
	rate(0)
	if len(m.samples) > 22 {
		t.Errorf("%d samples are kept", len(m.samples))
	}
	m.add(6100*time.Millisecond, 300)
	rate(0)
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1e9: "1.0 GB", 1 << 62: "4.6 EB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	for r, want := range map[float64]string{0: "0 bit/s", 12.4: "12 bit/s", 1050e6: "1.05 Gbit/s", 99.96e6: "100 Mbit/s", 123.4e6: "123 Mbit/s", 40e6: "40.0 Mbit/s", 999.96e3: "1.00 Mbit/s"} {
		if got := formatRate(r); got != want {
			t.Errorf("%v: %q, want %q", r, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0.00 s", 210 * time.Millisecond: "0.21 s", 8200 * time.Millisecond: "8.2 s", 59960 * time.Millisecond: "1 min 0 s",
		200 * time.Second: "3 min 20 s", 7500 * time.Second: "2 h 5 min",
	} {
		if got := formatTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
