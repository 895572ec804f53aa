package report

import (
	"math"
	"strconv"
)

// scale maps values to a side of a picture.
type scale struct {
	lo, hi   float64 // values at its ends
	from, to float64 // where these are
}

func (s scale) at(v float64) float64 {
	return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// ticks returns round values from lo to hi, at least two and about n of them: steps of 1, 2 or 5 times a power of ten.
func ticks(lo, hi float64, n int) []float64 {
	if !(hi > lo) || n < 1 {
		return []float64{lo}
	}
	for {
		step := stepOf((hi - lo) / float64(n))
		var all []float64
		for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
			all = append(all, i*step)
		}
		if len(all) > 1 {
			return all
		}
		n++
	}
}

// stepOf is the round step that is no smaller than least.
func stepOf(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// tickText writes ticks with the decimals that their step needs.
func tickText(all []float64) []string {
	decimals := 0
	if len(all) > 1 {
		decimals = max(0, int(math.Ceil(-math.Log10(all[1]-all[0])-1e-9)))
	}
	text := make([]string, len(all))
	for i, v := range all {
		text[i] = strconv.FormatFloat(v, 'f', decimals, 64)
		if math.Abs(v) < 1e-12 {
			text[i] = "0"
		}
	}
	return text
}

// roundUp is the next tick at or above v.
func roundUp(v float64, n int) float64 {
	if v <= 0 {
		return 1
	}
	step := stepOf(v / float64(n))
	return math.Ceil(v/step-1e-9) * step
}

// Sizes of a panel.
const (
	panelWidth  = 360.0
	panelHeight = 262.0
	edge        = 22.0 // beside the plot, so that the last tick's text has room
)

// panel is a picture with two axes.
type panel struct {
	picture
	x, y scale
}

// newPanel draws a frame: a heading, grid lines at the ticks of both axes, and what the axes are of. Axes begin and end at
// the values given.
func newPanel(heading, xName, yName string, xLo, xHi, yLo, yHi float64) *panel {
	p := &panel{picture: picture{w: panelWidth, h: panelHeight}}
	yt := ticks(yLo, yHi, 5)
	left := 12.0
	for _, s := range tickText(yt) {
		left = max(left, 18+textWidth(s, small))
	}
	top := 46.0
	p.y = scale{yLo, yHi, p.h - 44, top}
	for i, s := range tickText(yt) {
		at := p.y.at(yt[i])
		p.rule(left, at, p.w-edge, at, "grid", 1)
		p.label(left-6, at+4, "end", "muted", s)
	}
	p.label(12, 36, "start", "muted", yName)
	p.horizontal(heading, xName, xLo, xHi, left)
	return p
}

// horizontal draws the heading and the lower axis.
func (p *panel) horizontal(heading, xName string, xLo, xHi, left float64) {
	p.add(mark{points: []point{{12, 17}}, text: heading, size: large, anchor: "start", fill: "ink", bold: true})
	p.x = scale{xLo, xHi, left, p.w - edge}
	bottom := p.h - 44
	p.rule(left, bottom, p.w-edge, bottom, "edge", 1)
	if xName == "" { // whoever leaves it out draws categories
		return
	}
	xt := ticks(xLo, xHi, 6)
	for i, s := range tickText(xt) {
		at := p.x.at(xt[i])
		p.rule(at, bottom, at, bottom+4, "edge", 1)
		p.label(at, bottom+18, "middle", "muted", s)
	}
	p.label((left+p.w-edge)/2, p.h-8, "middle", "muted", xName)
}
