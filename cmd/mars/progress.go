package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"mars"
)

// caps are the drain rates of faces that are known, by face name.
type caps map[string]mars.Rate

// view shows people how a fetch goes: on a terminal bars that are redrawn ten times a second, one for the whole and one
// per path; elsewhere a plain line per second.
type view struct {
	w      io.Writer
	what   string
	quiet  bool
	bars   *mpb.Progress // nil: plain lines
	total  *mpb.Bar
	closed bool
	paths  map[string]*mpb.Bar

	told time.Duration // when the last plain line was written

	mu    sync.Mutex // the bars are drawn on goroutines of their own
	now   mars.Progress
	faces map[string]mars.FaceStatus // the last state of each, by key
	rates rates
}

// redraw is how often bars are drawn, plain how often a line is written where there are none.
const (
	redraw = 100 * time.Millisecond
	plain  = time.Second
)

// newView shows on w (stderr) the fetch of what, a short name. quiet: it shows nothing.
func newView(w *os.File, what string, quiet bool) *view {
	v := &view{w: w, what: what, quiet: quiet, paths: make(map[string]*mpb.Bar), faces: make(map[string]mars.FaceStatus), rates: newRates()}
	if quiet || os.Getenv("TERM") == "dumb" {
		return v
	}
	if cw, ok := console(w); ok {
		v.bars = mpb.New(mpb.WithConsoleWriter(cw), mpb.WithRefreshRate(redraw), mpb.WithAutoRefresh())
		v.total = v.bar(0, v.totalColumns)
	}
	return v
}

// columns of a bar: at its left what and how much, at its right bytes, rate and time left.
type columns [5]string

// bar adds a bar, the priority-th from above.
func (v *view) bar(priority int, text func() columns) *mpb.Bar {
	column := func(i int, wc decor.WC) decor.Decorator {
		return decor.Any(func(decor.Statistics) string {
			v.mu.Lock()
			defer v.mu.Unlock()
			return text()[i]
		}, wc)
	}
	return v.bars.AddBar(0, mpb.BarPriority(priority),
		mpb.PrependDecorators(column(0, decor.WCSyncSpaceR), column(1, decor.WCSyncSpace)),
		mpb.AppendDecorators(column(2, decor.WCSyncSpace), column(3, decor.WCSyncSpace), column(4, decor.WCSyncSpaceR)),
	)
}

// Update takes the state of the fetch; it is a FetchOptions.Progress.
func (v *view) Update(p mars.Progress) {
	v.note(p)
	switch {
	case v.quiet:
	case v.bars != nil:
		v.total.SetTotal(max(p.Size, 1), false)
		v.total.SetCurrent(p.Bytes)
		sum := contentIn(p)
		for i, f := range p.Faces {
			key := pathKey(f)
			if v.paths[key] == nil {
				v.paths[key] = v.bar(i+1, func() columns { return v.pathColumns(key) })
			}
			v.paths[key].SetTotal(max(sum, 1), false)
			v.paths[key].SetCurrent(int64(f.ContentIn))
		}
	case p.Elapsed-v.told >= plain:
		v.told = p.Elapsed
		fmt.Fprintln(v.w, v.line())
	}
}

// note keeps p for those who draw.
func (v *view) note(p mars.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = p
	v.rates.note(p)
	for _, f := range p.Faces {
		v.faces[pathKey(f)] = f
	}
}

// Note writes a line for people, above the bars if there are some.
func (v *view) Note(format string, args ...any) {
	if !v.quiet {
		_, _ = fmt.Fprintf(v, format+"\n", args...)
	}
}

// Write writes whole lines, above the bars if there are some; for logs.
func (v *view) Write(lines []byte) (int, error) {
	if v.bars != nil {
		if n, err := v.bars.Write(lines); err == nil {
			return n, nil
		}
	}
	return v.w.Write(lines) // there are no bars (any more)
}

// Close takes the bars away; what is written afterwards stands where they were. Update must not follow.
func (v *view) Close() {
	if v.bars == nil || v.closed {
		return
	}
	v.closed = true
	for _, bar := range v.paths {
		bar.Abort(true)
	}
	v.total.Abort(true)
	v.bars.Wait()
}

// totalColumns describes the whole. The caller holds mu.
func (v *view) totalColumns() columns {
	p := v.now
	if p.Size < 0 || p.Elapsed == 0 {
		return columns{v.what, "", "looking up", "", formatTime(p.Elapsed)}
	}
	rate := v.rates.all.rate()
	what := v.what
	if p.Files.Known > 0 {
		what = fmt.Sprintf("%s, %d of %d files", what, p.Files.Done, p.Files.Known)
	}
	c := columns{what, percent(p.Bytes, p.Size), formatBytes(p.Bytes) + " of " + formatBytes(p.Size), formatRate(8 * rate)}
	if left := float64(p.Size-p.Bytes) / rate; rate > 0 && left < 1e8 {
		c[4] = " ETA " + formatTime(time.Duration(left*float64(time.Second)))
	}
	return c
}

// pathColumns describes a path: its share and what it brought. The caller holds mu.
func (v *view) pathColumns(key string) columns {
	f := v.faces[key]
	return columns{"  " + pathLabel(f), share(f, contentIn(v.now)), formatBytes(int64(f.ContentIn)), formatRate(8 * v.rates.paths[key].rate())}
}

// line is the state in one plain line.
func (v *view) line() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.totalColumns()
	return strings.Join(strings.Fields(c[0]+": "+strings.Join(c[1:], " ")), " ")
}

// contentIn is the content that came over all paths, in bytes.
func contentIn(p mars.Progress) int64 {
	sum := int64(0)
	for _, f := range p.Faces {
		sum += int64(f.ContentIn)
	}
	return sum
}

// pathLabel names a path for people, with its state if that isn't the usual one.
func pathLabel(f mars.FaceStatus) string {
	label := f.Name
	if f.Peer.IsValid() {
		label = strings.TrimSpace(label + " " + f.Peer.String())
	}
	if s := pathState(f); s != stateUp {
		label += " (" + s + ")"
	}
	return label
}

// The states of a path.
const (
	stateUp   = "up"
	stateDown = "down"
)

// pathState is the state of a face, an error of its socket included.
func pathState(f mars.FaceStatus) string {
	if f.Err != nil {
		return stateDown
	}
	return f.State
}

// percent is part of whole, rounded down: 100% means all.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "100%"
	}
	return fmt.Sprintf("%d%%", int64(float64(part)/float64(whole)*100))
}

// share is the part of the content that came over f.
func share(f mars.FaceStatus, all int64) string {
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", float64(f.ContentIn)/float64(all)*100)
}

// printTable writes a table of what each path carried, with the paths' rates and, if one is known, their caps.
func printTable(w io.Writer, p mars.Progress, known caps) {
	rows := [][]string{{"path", "bytes", "share", "goodput", "cap"}}
	all, capped := contentIn(p), false
	for _, f := range p.Faces {
		row := []string{pathLabel(f), formatBytes(int64(f.ContentIn)), share(f, all), formatRate(goodput(f, p.Elapsed)), "–"}
		if c := known[f.Name]; c > 0 {
			row[4], capped = formatRate(float64(c)), true
		}
		rows = append(rows, row)
	}
	if !capped {
		for i := range rows {
			rows[i] = rows[i][:4]
		}
	}
	printRows(w, rows)
}

// printRows writes rows of equal length in columns, the first aligned at the left and the others at the right.
func printRows(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", width[i+1], cell)
		}
		fmt.Fprintln(w, line)
	}
}
