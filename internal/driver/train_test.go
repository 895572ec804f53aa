package driver

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func trainOf(sizes ...int) *train {
	t := newTrain()
	for i, n := range sizes {
		for j := range n {
			t.free()[j] = byte(i)
		}
		t.add(n)
	}
	return t
}

func TestRun(t *testing.T) {
	tests := []struct {
		why   string
		sizes []int
		want  []int
	}{
		{"one datagram", []int{100}, []int{1}},
		{"equal ones leave together", []int{100, 100, 100}, []int{3}},
		{"the last may be shorter", []int{100, 100, 40}, []int{3}},
		{"nothing follows a shorter one", []int{100, 40, 40, 40}, []int{2, 2}},
		{"a longer one begins anew", []int{40, 100, 100}, []int{1, 2}},
		{"a run stays below a device's limit", []int{30_000, 30_000, 5_000}, []int{3}},
		{"and is cut there", []int{30_000, 30_000, 5_001}, []int{2, 1}},
	}
	for _, tt := range tests {
		tr, got := trainOf(tt.sizes...), []int(nil)
		for i := 0; i < tr.count(); i += tr.run(i) {
			got = append(got, tr.run(i))
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: runs of %v, want %v", tt.why, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: runs of %v, want %v", tt.why, got, tt.want)
			}
		}
	}
}

// TestRunsCutBackIntoTheSameDatagrams cuts each run as the kernel would.
func TestRunsCutBackIntoTheSameDatagrams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 50, 1000}), 1, trainDatagrams).Draw(t, "sizes")
		tr := trainOf(sizes...)
		n := 0
		for i := 0; i < tr.count(); {
			run := tr.run(i)
			segment := tr.ends[i] - tr.start(i)
			for rest := tr.buf[tr.start(i):tr.ends[i+run-1]]; len(rest) > 0; n++ {
				cut := min(segment, len(rest))
				if !bytes.Equal(rest[:cut], tr.datagram(n)) {
					t.Fatalf("datagram %d of %v comes out with %d bytes", n, sizes, cut)
				}
				rest = rest[cut:]
			}
			i += run
		}
		if n != len(sizes) {
			t.Fatalf("%d datagrams of %d", n, len(sizes))
		}
	})
}
