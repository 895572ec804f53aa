package report

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// fonts are those that a system has anyway: nothing is loaded.
const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

// svg writes the picture; alone it brings its colours and ground with it, otherwise the page has them. id makes the ids of a
// page differ.
func (p *picture) svg(id string, alone bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"`,
		number(p.w), number(p.h), id, id)
	if alone {
		fmt.Fprintf(&b, ` width="%s" height="%s"`, number(p.w), number(p.h))
	}
	fmt.Fprintf(&b, ` font-family="%s">`, escape(fonts))
	fmt.Fprintf(&b, "\n<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", id, escape(p.title), id, escape(p.desc))
	if alone {
		fmt.Fprintf(&b, "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" class=\"f-bg\"/>\n", sheet())
	}
	for i := range p.marks {
		p.marks[i].svg(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (m *mark) svg(b *strings.Builder) {
	var class []string
	if m.line != "" {
		class = append(class, "l-"+m.line)
	}
	if m.halo {
		class = append(class, "l-bg")
	}
	rest := ""
	if m.fill != "" {
		class = append(class, "f-"+m.fill)
	} else {
		rest += ` fill="none"`
	}
	if m.width > 0 && m.line != "" {
		rest += ` stroke-width="` + number(m.width) + `"`
	}
	if m.dash != "" {
		rest += ` stroke-dasharray="` + m.dash + `"`
	}
	if m.faint > 0 {
		rest += ` opacity="` + strconv.FormatFloat(m.faint, 'f', -1, 64) + `"`
	}
	at := m.points[0]
	attributes := fmt.Sprintf(` class="%s"%s`, strings.Join(class, " "), rest)
	switch {
	case m.text != "":
		if m.anchor != "start" {
			attributes += ` text-anchor="` + m.anchor + `"`
		}
		if m.bold {
			attributes += ` font-weight="600"`
		}
		if m.halo {
			attributes += ` stroke-width="3" stroke-linejoin="round" paint-order="stroke"`
		}
		fmt.Fprintf(b, "<text x=\"%s\" y=\"%s\" font-size=\"%s\"%s>%s</text>\n", number(at.x), number(at.y), number(m.size), attributes, escape(m.text))
	case m.radius > 0:
		fmt.Fprintf(b, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"%s/>\n", number(at.x), number(at.y), number(m.radius), attributes)
	default:
		d := "M"
		for i, q := range m.points {
			if i > 0 {
				d += "L"
			}
			d += number(q.x) + " " + number(q.y)
		}
		if m.closed {
			d += "Z"
		}
		fmt.Fprintf(b, "<path d=\"%s\"%s/>\n", d, attributes)
	}
}

// number is x to a tenth of a pixel.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder doesn't fail
	return b.String()
}

// key writes a small picture that only repeats what stands beside it.
func (p *picture) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%s" height="%s" aria-hidden="true">`, number(p.w), number(p.h))
	for i := range p.marks {
		p.marks[i].svg(&b)
	}
	b.WriteString("</svg>")
	return b.String()
}
