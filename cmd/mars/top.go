package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mars"
	"mars/internal/status"
)

func topCommand() *cobra.Command {
	var at ofNode
	var every time.Duration
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch the faces, flows and paths of the node of this host",
		Long: `Shows the faces of the node that runs on this host, and its flows, those that carry most first, with what each path carries or why it
doesn't, until q is pressed. It needs a terminal; mars status --watch doesn't.`,
		Example: `  mars top
  mars top --interval 250ms`,
		Args: exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return usage(c, "--interval must be 100ms or more")
			}
			out, isFile := c.OutOrStdout().(*os.File)
			if !isFile || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
				return &misuse{"top: it needs a terminal for input and output", "use mars status --watch 1s in its place"}
			}
			socket, err := at.find()
			if err != nil {
				return err
			}
			return top(c, out, socket, every)
		},
	}
	at.register(c)
	c.Flags().DurationVar(&every, "interval", time.Second, "look again every `TIME`")
	return c
}

// Sequences of ECMA-48 and xterm.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the other screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfPage  = "\x1b[J"
)

// top draws until q.
func top(c *cobra.Command, out *os.File, socket string, every time.Duration) error {
	was, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(os.Stdin.Fd()), was) }()
	_, _ = io.WriteString(out, enterScreen)
	defer func() { _, _ = io.WriteString(out, leaveScreen) }()
	keys := make(chan byte)
	go func() {
		for b := make([]byte, 1); ; {
			if n, err := os.Stdin.Read(b); err != nil || n == 0 {
				return
			}
			keys <- b[0]
		}
	}()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(every)
	defer tick.Stop()
	s, err := mars.ReadStatus(socket)
	for {
		if err != nil {
			return err
		}
		width, height, sizeErr := term.GetSize(int(out.Fd()))
		if sizeErr != nil || width <= 0 || height <= 0 {
			width, height = 80, 24
		}
		draw(out, topLines(s, width, height))
		select {
		case <-c.Context().Done():
			return nil
		case k := <-keys:
			const ctrlC = 3
			if k == 'q' || k == 'Q' || k == ctrlC {
				return nil
			}
		case <-resized:
		case <-tick.C:
			s, err = mars.ReadStatus(socket)
		}
	}
}

// draw puts lines on the screen.
func draw(w io.Writer, lines []string) {
	var b strings.Builder
	b.WriteString(home)
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l)
		b.WriteString(restOfLine)
	}
	b.WriteString(restOfPage)
	_, _ = io.WriteString(w, b.String())
}

// topLines is the page: at most height lines of at most width characters.
func topLines(s *mars.NodeStatus, width, height int) []string {
	title := fmt.Sprintf("mars %s %s  up %s  busy %.0f%%  q: end", s.Role, printable(orID(s)), formatAge(s.Uptime), 100*s.Busy)
	lines := []string{title, "", row(width, "FACE", "WAY", "STATE", "RTT", "IN", "OUT", "LOSS", "WHY")}
	for i := range s.Faces {
		f := &s.Faces[i]
		lines = append(lines, row(width, printable(f.Label()), dash(f.Way), f.State, formatRTT(f.RTT), formatRate(8*f.In), formatRate(8*f.Out), formatShare(f.Loss), f.Why))
	}
	flows := slices.Clone(s.Flows)
	slices.SortStableFunc(flows, func(a, b status.Flow) int {
		switch {
		case a.Rate > b.Rate:
			return -1
		case a.Rate < b.Rate:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := range flows {
		f := &flows[i]
		lines = append(lines, "", fmt.Sprintf("%-11s %3d waiting  %s", formatRate(8*f.Rate), f.Queued, printable(f.Name)))
		for _, p := range f.Paths {
			share := 0.0
			if f.Rate > 0 {
				share = p.Rate / f.Rate
			}
			lines = append(lines, fmt.Sprintf("  %-14.14s %s %12s  %s", printable(p.Label), bar(share, 20), formatRate(8*p.Rate), p.Why))
		}
	}
	if len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], fmt.Sprintf("… %d lines more: mars status --flows", more))
	}
	for i := range lines {
		lines[i] = clip(lines[i], width)
	}
	return lines
}

func orID(s *mars.NodeStatus) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

// row is a line of the table of faces.
func row(width int, cells ...string) string {
	widths := []int{16, 8, 9, 8, 11, 11, 5, 0}
	if width >= 120 {
		widths[0] = 30
	}
	var b strings.Builder
	for i, cell := range cells {
		w := widths[i]
		if w == 0 {
			b.WriteString(cell)
			continue
		}
		cell = clip(cell, w)
		b.WriteString(cell + strings.Repeat(" ", w-utf8.RuneCountInString(cell)+1))
	}
	return strings.TrimRight(b.String(), " ")
}

// bar draws a share of one, n characters wide.
func bar(share float64, n int) string {
	full := min(max(int(share*float64(n)+0.5), 0), n)
	return strings.Repeat("█", full) + strings.Repeat("·", n-full)
}

// clip cuts a line to so many characters.
func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:max(width-1, 0)]) + "…"
}
