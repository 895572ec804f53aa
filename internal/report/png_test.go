package report

import (
	"bytes"
	"image/png"
	"testing"

	"mars/internal/scenario"
)

// TestPNG: every figure is an image of its size with more than its ground, and the same each time.
func TestPNG(t *testing.T) {
	results := []*scenario.Result{sample(false)}
	first, err := PNG(results)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newStudy(results[0]).figures()[0].board().png()
	if err != nil || !bytes.Equal(again, first[0].Text) {
		t.Errorf("%s differs the second time (%v)", first[0].Name, err)
	}
	if svgs := SVG(results); len(first) != len(svgs) {
		t.Errorf("%d images of %d figures", len(first), len(svgs))
	}
	for _, f := range first {
		img, err := png.Decode(bytes.NewReader(f.Text))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[[3]uint32]bool{}
		for y := 0; y < img.Bounds().Dy(); y += 5 {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				seen[[3]uint32{r, g, b}] = true
			}
		}
		if len(seen) < 10 || img.Bounds().Dx() < 700 {
			t.Errorf("%s: %v with %d colours", f.Name, img.Bounds(), len(seen))
		}
	}
}

// TestDashed: the parts of a dashed line have the lengths of its pattern, around corners too.
func TestDashed(t *testing.T) {
	parts := dashed([]point{{0, 0}, {10, 0}, {10, 10}}, "4 2")
	want := [][]point{{{0, 0}, {4, 0}}, {{6, 0}, {10, 0}}, {{10, 2}, {10, 6}}, {{10, 8}, {10, 10}}}
	if len(parts) != len(want) {
		t.Fatalf("%v", parts)
	}
	for i := range want {
		if a, b := parts[i], want[i]; a[0] != b[0] || a[len(a)-1] != b[len(b)-1] {
			t.Errorf("part %d: %v, want %v", i, a, b)
		}
	}
	if whole := dashed(want[0], ""); len(whole) != 1 {
		t.Errorf("without a pattern: %v", whole)
	}
}
