package report

// labels are names to be written beside their lines, where there is room.
type labels struct {
	names []named
	taken []box
}

// named is a line with its name.
type named struct {
	text, colour string
	line         []point // places on it, close to each other
}

// add names a line. Names keep off all lines that are added or avoided.
func (l *labels) add(text, colour string, line []point) {
	dense := l.avoid(line)
	l.names = append(l.names, named{text, colour, dense})
}

// avoid keeps names off a line, and returns places on it.
func (l *labels) avoid(line []point) (dense []point) {
	const step = 4.0
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		n := int(max(abs(b.x-a.x), abs(b.y-a.y))/step) + 1
		for k := range n {
			t := float64(k) / float64(n)
			p := point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t}
			dense = append(dense, p)
			l.taken = append(l.taken, box{p.x - 2, p.y - 2, p.x + 2, p.y + 2})
		}
	}
	return dense
}

func abs(x float64) float64 { return max(x, -x) }

// draw writes each name right beside its line, as near to the line's middle as it meets nothing, within a box. A name without
// such a place is left to the legend.
func (l *labels) draw(p *picture, within box) {
	for _, n := range l.names {
		w := 1.12 * textWidth(n.text, small) // bold
		best, found := box{}, 1e9
		for i, at := range n.line {
			far := abs(float64(2*i - len(n.line)))
			for _, b := range []box{
				{at.x + 7, at.y - 5, at.x + 7 + w, at.y + 8},
				{at.x - 7 - w, at.y - 5, at.x - 7, at.y + 8},
				{at.x - w/2, at.y - 18, at.x + w/2, at.y - 5},
				{at.x - w/2, at.y + 6, at.x + w/2, at.y + 19},
			} {
				if far < found && b.x1 > within.x1+2 && b.x2 < within.x2 && b.y1 > within.y1 && b.y2 < within.y2-2 && !l.meets(b) {
					best, found = b, far
				}
			}
		}
		if found == 1e9 {
			continue
		}
		l.taken = append(l.taken, box{best.x1 - 4, best.y1 - 2, best.x2 + 4, best.y2 + 2})
		p.add(mark{points: []point{{best.x1, best.y2 - 3}}, text: n.text, size: small, anchor: "start", fill: n.colour, bold: true, halo: true})
	}
}

func (l *labels) meets(b box) bool {
	for _, t := range l.taken {
		if b.meets(t) {
			return true
		}
	}
	return false
}
