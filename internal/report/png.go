package report

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"mars/internal/scenario"
)

// density is how many pixels of a PNG are one of the picture: sharp on paper and on fine screens.
const density = 2

// PNG returns every figure of the results as an image, on a light ground.
func PNG(results []*scenario.Result) (all []File, err error) {
	boards(results, func(name string, p *picture) {
		text, e := p.png()
		if e != nil {
			err = e
		}
		all = append(all, File{name + ".png", text})
	})
	return all, err
}

// canvas paints marks on pixels.
type canvas struct {
	image *image.RGBA
	faces map[face]font.Face
}

type face struct {
	size float64
	bold bool
}

func (p *picture) png() ([]byte, error) {
	c := &canvas{image.NewRGBA(image.Rect(0, 0, int(math.Ceil(p.w*density)), int(math.Ceil(p.h*density)))), map[face]font.Face{}}
	draw.Draw(c.image, c.image.Bounds(), image.NewUniform(ink("bg", 0)), image.Point{}, draw.Src)
	for i := range p.marks {
		if err := c.paint(&p.marks[i]); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, c.image)
	return b.Bytes(), err
}

// ink is the colour of a token on light ground.
func ink(token string, faint float64) color.NRGBA {
	alpha := 1.0
	if faint > 0 {
		alpha = faint
	}
	for _, c := range colours {
		if c.token == token {
			v, _ := strconv.ParseUint(c.light[1:], 16, 32) // they are constants, and tested
			return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), uint8(alpha * 255)}
		}
	}
	return color.NRGBA{A: 255}
}

func (c *canvas) paint(m *mark) error {
	switch {
	case m.text != "":
		return c.write(m)
	case m.radius > 0:
		c.area([][]point{disc(m.points[0], m.radius)}, ink(m.fill, m.faint))
		return nil
	case m.fill != "":
		c.area([][]point{m.points}, ink(m.fill, m.faint))
	}
	if m.line != "" {
		line := m.points
		if m.closed {
			line = append(append([]point(nil), line...), line[0])
		}
		var shapes [][]point
		for _, part := range dashed(line, m.dash) {
			shapes = append(shapes, stroke(part, m.width)...)
		}
		c.area(shapes, ink(m.line, m.faint))
	}
	return nil
}

// area fills shapes as one: where they overlap, they don't add up.
func (c *canvas) area(shapes [][]point, ink color.NRGBA) {
	b := bounds(shapes).Intersect(c.image.Bounds())
	if b.Empty() {
		return
	}
	z := vector.NewRasterizer(b.Dx(), b.Dy())
	for _, s := range shapes {
		if turn(s) < 0 { // all turn the same way, or overlaps would cancel
			s = reversed(s)
		}
		for i, q := range s {
			x, y := float32(q.x*density)-float32(b.Min.X), float32(q.y*density)-float32(b.Min.Y)
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(c.image, b, image.NewUniform(ink), image.Point{})
}

// bounds are the pixels that shapes may touch.
func bounds(shapes [][]point) (b image.Rectangle) {
	for _, s := range shapes {
		for _, q := range s {
			x, y := int(q.x*density), int(q.y*density)
			b = b.Union(image.Rect(x-1, y-1, x+2, y+2))
		}
	}
	return b
}

// turn is twice the area of a shape, negative if it turns the other way.
func turn(s []point) (sum float64) {
	for i, a := range s {
		b := s[(i+1)%len(s)]
		sum += a.x*b.y - b.x*a.y
	}
	return sum
}

func reversed(s []point) []point {
	r := make([]point, len(s))
	for i, q := range s {
		r[len(s)-1-i] = q
	}
	return r
}

func disc(c point, r float64) (s []point) {
	const n = 24
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		s = append(s, point{c.x + r*cos, c.y + r*sin})
	}
	return s
}

// stroke is a line of a width as shapes: a bar for each piece, and a disc where pieces meet.
func stroke(line []point, width float64) (shapes [][]point) {
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		if d == 0 {
			continue
		}
		nx, ny := -(b.y-a.y)/d*width/2, (b.x-a.x)/d*width/2
		shapes = append(shapes, []point{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}})
		if i > 1 && width > 1 {
			shapes = append(shapes, disc(a, width/2))
		}
	}
	return shapes
}

// dashed cuts a line after a pattern of lengths, drawn and left out in turn; without a pattern it stays whole.
func dashed(line []point, pattern string) (parts [][]point) {
	var lengths []float64
	for _, f := range strings.Fields(pattern) {
		if v, err := strconv.ParseFloat(f, 64); err == nil && v > 0 {
			lengths = append(lengths, v)
		}
	}
	if len(lengths) == 0 {
		return [][]point{line}
	}
	k, left := 0, lengths[0]
	part := []point{line[0]}
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		for done := 0.0; done < d; {
			step := min(left, d-done)
			done, left = done+step, left-step
			at := point{a.x + (b.x-a.x)*done/d, a.y + (b.y-a.y)*done/d}
			if k%2 == 0 {
				part = append(part, at)
			}
			if left <= 1e-9 {
				if k%2 == 0 {
					parts = append(parts, part)
				}
				k, part = k+1, []point{at}
				left = lengths[k%len(lengths)]
			}
		}
	}
	if k%2 == 0 && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// write draws a text in the fonts of the Go project, which are part of the program.
func (c *canvas) write(m *mark) error {
	f, err := c.face(face{m.size, m.bold})
	if err != nil {
		return err
	}
	at := m.points[0]
	d := &font.Drawer{Dst: c.image, Face: f}
	x := fixed.Int26_6(at.x * density * 64)
	switch width := d.MeasureString(m.text); m.anchor {
	case "middle":
		x -= width / 2
	case "end":
		x -= width
	}
	put := func(token string, dx, dy float64) {
		d.Src = image.NewUniform(ink(token, m.faint))
		d.Dot = fixed.Point26_6{X: x + fixed.Int26_6(dx*64), Y: fixed.Int26_6((at.y*density + dy) * 64)}
		d.DrawString(m.text)
	}
	if m.halo {
		for i, o := range disc(point{}, 1.5*density) {
			if i%3 == 0 {
				put("bg", o.x, o.y)
			}
		}
	}
	put(m.fill, 0, 0)
	return nil
}

func (c *canvas) face(want face) (font.Face, error) {
	if f := c.faces[want]; f != nil {
		return f, nil
	}
	text := goregular.TTF
	if want.bold {
		text = gobold.TTF
	}
	parsed, err := opentype.Parse(text)
	if err != nil {
		return nil, err
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: want.size, DPI: 72 * density, Hinting: font.HintingNone})
	c.faces[want] = f
	return f, err
}
