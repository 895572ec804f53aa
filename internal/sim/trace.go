package sim

import (
	"bufio"
	"io"
	"strconv"

	"mars/internal/machine"
)

// tracer streams what happens as one JSON object per line. Only every n-th packet of a link is told. Without a tracer a run
// spends one comparison per packet on it.
type tracer struct {
	w     *bufio.Writer
	every int64
	line  []byte
	err   error
}

func newTracer(w io.Writer, every int64) *tracer {
	return &tracer{w: bufio.NewWriterSize(w, 1<<16), every: max(every, 1)}
}

// packet tells that a packet came to the end of a link, or would have.
func (t *tracer) packet(now machine.Time, l *link, p *packet) {
	if l.packets%t.every != 0 {
		return
	}
	b := append(t.line[:0], `{"t":`...)
	b = strconv.AppendFloat(b, now.Seconds(), 'f', 9, 64)
	b = append(b, `,"ev":"arrive","link":`...)
	b = strconv.AppendQuote(b, l.name)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, int64(p.size), 10)
	b = append(b, `,"queue":`...)
	b = strconv.AppendInt(b, int64(l.wait), 10)
	if p.ecn == machine.CE {
		b = append(b, `,"ce":true`...)
	}
	if p.lost {
		b = append(b, `,"lost":true`...)
	}
	t.write(append(b, "}\n"...))
}

// flow tells of one flow: name of the event, and figures in the order given.
func (t *tracer) flow(now machine.Time, ev, flow string, figures ...figure) {
	b := append(t.line[:0], `{"t":`...)
	b = strconv.AppendFloat(b, now.Seconds(), 'f', 9, 64)
	b = append(b, `,"ev":`...)
	b = strconv.AppendQuote(b, ev)
	b = append(b, `,"flow":`...)
	b = strconv.AppendQuote(b, flow)
	for _, f := range figures {
		b = append(b, ',')
		b = strconv.AppendQuote(b, f.name)
		b = append(b, ':')
		b = strconv.AppendFloat(b, f.value, 'g', 9, 64)
	}
	t.write(append(b, "}\n"...))
}

// figure is one number of a trace line.
type figure struct {
	name  string
	value float64
}

func (t *tracer) write(line []byte) {
	t.line = line
	if t.err == nil {
		_, t.err = t.w.Write(line)
	}
}

func (t *tracer) close() error {
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}
