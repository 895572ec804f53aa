package main

import (
	"io"
	"os"

	"github.com/vbauerster/cupwriter"
)

// console is what bars are drawn on; false if w is no terminal.
func console(w *os.File) (*cupwriter.Writer, bool) {
	cw := cupwriter.New(lines{w}, false)
	cw.SetTermFd(int(w.Fd()))
	return cw, cw.IsTerminal()
}

// lines writes from the left edge on, wherever the cursor is: when a person types, ^C above all, the terminal shows it where
// the bars end, and moving up to draw them again keeps the column.
type lines struct{ w io.Writer }

func (l lines) Write(b []byte) (int, error) {
	n, err := l.w.Write(append([]byte{'\r'}, b...))
	return max(0, n-1), err
}

// isTerminal tells whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cupwriter.New(f, false).IsTerminal()
}
