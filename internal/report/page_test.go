package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"mars/internal/scenario"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// TestSVG: every picture is well-formed, has a title and a description, stays in its frame, and is what it was.
func TestSVG(t *testing.T) {
	for _, f := range SVG([]*scenario.Result{sample(false)}) {
		wellFormed(t, f.Name, f.Text)
		golden(t, f.Name, f.Text)
	}
}

func wellFormed(t *testing.T, name string, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	seen := map[string]string{}
	last := ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			last = token.Name.Local
		case xml.CharData:
			seen[last] += string(token)
		}
	}
	for _, part := range []string{"title", "desc"} {
		if strings.TrimSpace(seen[part]) == "" {
			t.Errorf("%s has no <%s>", name, part)
		}
	}
	if bad := regexp.MustCompile(`NaN|Inf`).Find(text); bad != nil {
		t.Errorf("%s has a place at %s", name, bad)
	}
}

// TestInFrame: nothing is drawn outside of a picture.
func TestInFrame(t *testing.T) {
	for _, unfinished := range []bool{false, true} {
		for _, f := range newStudy(sample(unfinished)).figures() {
			for _, p := range f.panels {
				for _, m := range p.marks {
					for _, q := range m.points {
						if q.x < 0 || q.x > p.w || q.y < 0 || q.y > p.h {
							t.Errorf("%s: %q at %v", p.title, m.text, q)
						}
					}
					if w := textWidth(m.text, m.size); m.anchor == "end" && m.points[0].x-w < 0 || m.anchor == "start" && m.points[0].x+w > p.w+4 {
						t.Errorf("%s: %q is cut off", p.title, m.text)
					}
				}
			}
		}
	}
}

// TestPage: the page asks nobody for anything, says what a reader must know, and shows the paper's value beside ours.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, []*scenario.Result{sample(true)}, nil); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"Two flows &lt;over&gt; two paths", "2 of 4 flows had not ended", "loss 1%", "4.50", "§V", "[R] a note", "prefers-color-scheme:dark",
		"best-route: an unknown time",
	} {
		if !contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if out := regexp.MustCompile(`(src|href|url)\W{1,3}(https?:)?//`).FindString(text); out != "" {
		t.Errorf("the page refers to the outside: %q", out)
	}
	if contains(text, "<script") {
		t.Error("the page has a script")
	}
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1)
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id[1]] {
			t.Errorf("id %s is there twice", id[1])
		}
		seen[id[1]] = true
	}
}

// TestCSV: a row per run and metric; what isn't known is empty.
func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, []*scenario.Result{sample(true)}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 2*2*2*len(scenario.Metrics()); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	empty := 0
	for _, r := range rows[1:] {
		if r[5] == "" {
			empty++
		}
	}
	if empty != 2*2*2 {
		t.Errorf("%d values aren't known", empty)
	}
}

// TestMedians: a row per system at a point.
func TestMedians(t *testing.T) {
	var b bytes.Buffer
	if err := Medians(&b, []*scenario.Result{sample(true)}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+2*2 || len(rows[0]) != 5+len(scenario.Metrics()) {
		t.Fatalf("%d rows of %d", len(rows), len(rows[0]))
	}
	if got := strings.Join(rows[1][:6], " "); got != "sample loss=0 MARS-paper 2 0 4" {
		t.Error(got)
	}
	if got := strings.Join(rows[2][:6], " "); got != "sample loss=0 best-route 2 2 " {
		t.Error(got)
	}
}
