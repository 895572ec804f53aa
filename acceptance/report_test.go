//go:build acceptance

package acceptance

import (
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// probe shows a page in a frame of a width, and writes what it measures there into the document.
const probe = `<!DOCTYPE html><link rel="icon" href="data:,"><body style="margin:0">
<iframe id="f" src="%s" style="border:0;width:%dpx;height:900px"></iframe><pre id="out"></pre><script>
onload = () => {
	const d = document.getElementById('f').contentDocument, outside = []
	const pictures = [...d.querySelectorAll('svg[role=img]')]
	for (const s of pictures) for (const t of s.querySelectorAll('text')) {
		const a = t.getBoundingClientRect(), b = s.getBoundingClientRect()
		if (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1) outside.push(t.textContent)
	}
	document.getElementById('out').textContent = JSON.stringify({
		ground: getComputedStyle(d.body).backgroundColor, width: d.documentElement.clientWidth, content: d.documentElement.scrollWidth,
		pictures: pictures.length, named: pictures.filter(s => s.querySelector('title')?.textContent && s.querySelector('desc')?.textContent).length,
		outside, heading: d.querySelector('h1')?.textContent,
	})
}
</script>`

// measured is what probe writes.
type measured struct {
	Ground   string   `json:"ground"`
	Width    int      `json:"width"`
	Content  int      `json:"content"`
	Pictures int      `json:"pictures"`
	Named    int      `json:"named"`
	Outside  []string `json:"outside"`
	Heading  string   `json:"heading"`
}

// bad is a page with every fault that the test looks for.
const bad = `<!DOCTYPE html><link rel="icon" href="data:,"><h1>bad</h1><div style="width:3000px">wide</div>
<svg role="img" width="50" height="20"><text x="20" y="12">does not fit into it</text></svg><script>console.error("a fault")</script>`

// TestReportInBrowser opens the report of the heterogeneous study in Chromium, in light and dark, as wide as a desk's screen and
// a phone's: nothing is asked for, no error is logged, nothing is wider than the screen, and no text is cut off.
func TestReportInBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: install it with `make setup` as root on Debian, or from https://www.chromium.org")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		c := exec.Command(mars(t), args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("mars %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	study, err := filepath.Abs("../scenarios/mars-emulation-heterogeneous.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run("sim", "run", study, "--system", "MARS-paper", "--system", "best-route", "--seeds", "1", "-q", "-o", "results")
	run("report", "results", "-q")
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, path: chromium, pages: map[string]string{"/report.html": string(page), "/bad.html": bad}}
	b.serve()

	grounds := map[string]bool{}
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 390} {
			m, log := b.open("/report.html", width, dark)
			what := fmt.Sprintf("%d wide, dark: %v", width, dark)
			if m.Heading != "mars-emulation-heterogeneous" || m.Pictures < 12 || m.Named != m.Pictures {
				t.Errorf("%s: %+v", what, m)
			}
			if m.Content > m.Width {
				t.Errorf("%s: the page is %d wide", what, m.Content)
			}
			if len(m.Outside) > 0 {
				t.Errorf("%s: texts beyond their pictures: %q", what, m.Outside)
			}
			if len(log) > 0 {
				t.Errorf("%s: %q", what, log)
			}
			grounds[m.Ground] = true
		}
	}
	if len(grounds) != 2 {
		t.Errorf("light and dark have grounds %v", grounds)
	}
	if m, log := b.open("/bad.html", 390, false); m.Content <= m.Width || len(m.Outside) != 1 || len(log) == 0 {
		t.Errorf("a page with every fault passes: %+v, %q", m, log)
	}
	if len(b.strange) > 0 {
		t.Errorf("asked for: %q", b.strange)
	}
}

// browser is Chromium without a window, and a server of the pages that it opens.
type browser struct {
	t     *testing.T
	path  string
	pages map[string]string
	url   string

	mu      sync.Mutex
	strange []string // asked for, and not one of the pages
}

func (b *browser) serve() {
	b.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.url = "http://" + l.Addr().String()
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		text, ok := b.pages[r.URL.Path]
		if !ok {
			b.strange = append(b.strange, r.URL.String())
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	})}
	go func() { _ = s.Serve(l) }() // ends with an error when it is closed
	b.t.Cleanup(func() { _ = s.Close() })
}

var (
	output  = regexp.MustCompile(`(?s)<pre id="out">(.*?)</pre>`)
	logged  = regexp.MustCompile(`(?m)^.*CONSOLE.*$`)
	schemes = map[bool]string{false: "1", true: "0"}
)

// open opens a page in a frame of a width, and returns what was measured and what was logged.
func (b *browser) open(page string, width int, dark bool) (m measured, log []string) {
	b.t.Helper()
	b.mu.Lock()
	b.pages["/probe.html"] = fmt.Sprintf(probe, page, width)
	b.mu.Unlock()
	args := []string{
		"--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage", "--enable-logging=stderr",
		"--user-data-dir=" + b.t.TempDir(), "--window-size=1400,1000", "--blink-settings=preferredColorScheme=" + schemes[dark],
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to run as root otherwise
	}
	c := exec.CommandContext(b.t.Context(), b.path, append(args, "--dump-dom", b.url+"/probe.html")...)
	var stderr strings.Builder
	c.Stderr = &stderr
	dom, err := c.Output()
	if err != nil {
		b.t.Fatalf("chromium: %v\n%s", err, &stderr)
	}
	found := output.FindSubmatch(dom)
	if found == nil || len(found[1]) == 0 {
		b.t.Fatalf("nothing was measured\n%s\n%.2000s", &stderr, dom)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &m); err != nil {
		b.t.Fatal(err)
	}
	return m, logged.FindAllString(stderr.String(), -1)
}
