package report

// A picture is a drawing in CSS pixels, origin at the top left. It is drawn once and written as SVG or painted as PNG.
type picture struct {
	name        string // of its file
	title, desc string // for who can't see it
	w, h        float64
	marks       []mark
}

// point is a place in a picture.
type point struct{ x, y float64 }

// mark is one thing drawn: a line or area through points, or a text at the first of them.
type mark struct {
	points []point
	closed bool
	line   string  // token of the colour of the line; "": none
	fill   string  // token of the colour of the area or text; "": none
	width  float64 // of the line
	dash   string  // as in SVG: "4 3"
	faint  float64 // opacity; 0: opaque
	radius float64 // not 0: a disc around the first point

	text   string
	size   float64
	anchor string // start, middle, end
	bold   bool
	halo   bool // a rim of the background's colour, so that it can be read upon lines
}

func (p *picture) add(m mark) { p.marks = append(p.marks, m) }

func (p *picture) rule(x1, y1, x2, y2 float64, colour string, width float64) {
	p.add(mark{points: []point{{x1, y1}, {x2, y2}}, line: colour, width: width})
}

func (p *picture) label(x, y float64, anchor, colour, text string) {
	p.add(mark{points: []point{{x, y}}, text: text, size: small, anchor: anchor, fill: colour})
}

// Sizes of text.
const (
	small = 12.0
	large = 13.0
)

// textWidth is about how wide a text is in the sans-serif fonts of browsers; it errs on the wide side.
func textWidth(s string, size float64) (w float64) {
	for _, r := range s {
		switch {
		case r == 'i' || r == 'j' || r == 'l' || r == '.' || r == ',' || r == ':' || r == '\'' || r == '|' || r == 'I':
			w += 0.29
		case r == ' ' || r == 'f' || r == 't' || r == 'r' || r == '-' || r == '(' || r == ')' || r == '[' || r == ']' || r == '/':
			w += 0.36
		case r == 'm' || r == 'w' || r == 'M' || r == 'W' || r == '%' || r == '→':
			w += 0.92
		case r >= 'A' && r <= 'Z':
			w += 0.70
		default:
			w += 0.62
		}
	}
	return w * size
}

// marker draws the sign of a system around a place.
func (p *picture) marker(l look, c point, r float64, faint float64) {
	m := mark{fill: l.colour, faint: faint}
	at := func(dx, dy float64) point { return point{c.x + dx*r, c.y + dy*r} }
	switch l.sign {
	case 0:
		m.points, m.radius = []point{c}, r
	case 1:
		m.points = []point{at(-.9, -.9), at(.9, -.9), at(.9, .9), at(-.9, .9)}
	case 2:
		m.points = []point{at(0, -1.15), at(1.1, .85), at(-1.1, .85)}
	case 3:
		m.points = []point{at(0, -1.3), at(1.3, 0), at(0, 1.3), at(-1.3, 0)}
	default:
		m.points = []point{at(0, 1.15), at(1.1, -.85), at(-1.1, -.85)}
	}
	m.closed = m.radius == 0
	p.add(m)
}

// box is a rectangle that something takes.
type box struct{ x1, y1, x2, y2 float64 }

func (b box) meets(o box) bool { return b.x1 < o.x2 && o.x1 < b.x2 && b.y1 < o.y2 && o.y1 < b.y2 }

// board lays pictures out side by side, columns of them, beneath a title and a legend.
func board(name, title, desc string, legend []entry, panels []*picture, columns int) *picture {
	columns = max(1, min(columns, len(panels)))
	all := &picture{name: name, title: title, desc: desc, w: 360 * float64(columns)}
	all.add(mark{points: []point{{12, 24}}, text: title, size: 15, anchor: "start", fill: "ink", bold: true})
	y := 36.0
	if len(legend) > 0 {
		y = all.legend(legend, y) + 4
	}
	for i := 0; i < len(panels); i += columns {
		row := panels[i:min(i+columns, len(panels))]
		tall := 0.0
		for j, p := range row {
			all.place(p, 360*float64(j), y)
			tall = max(tall, p.h)
		}
		y += tall + 8
	}
	all.h = y
	return all
}

// place draws another picture at a place of this one.
func (p *picture) place(o *picture, x, y float64) {
	for _, m := range o.marks {
		moved := make([]point, len(m.points))
		for i, q := range m.points {
			moved[i] = point{q.x + x, q.y + y}
		}
		m.points = moved
		p.add(m)
	}
}

// entry is one line of a legend.
type entry struct {
	name string
	look look
}

// legend draws entries side by side, in as many rows as they need, and returns where they end.
func (p *picture) legend(entries []entry, y float64) float64 {
	x := 12.0
	for _, e := range entries {
		w := 34 + textWidth(e.name, small) + 14
		if x+w > p.w && x > 12 {
			x, y = 12, y+18
		}
		p.add(mark{points: []point{{x, y + 8}, {x + 26, y + 8}}, line: e.look.colour, width: 2, dash: e.look.dash})
		p.marker(e.look, point{x + 13, y + 8}, 4, 0)
		p.label(x+32, y+12, "start", "ink", e.name)
		x += w
	}
	return y + 18
}
