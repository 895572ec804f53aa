package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// notes writes what a node has to say to a person who waits for a fetch: a line each, without time and level.
type notes struct {
	w     io.Writer
	least slog.Level
	attrs string
}

func (n *notes) Enabled(_ context.Context, l slog.Level) bool { return l >= n.least }

func (n *notes) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message + n.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(describe(a))
		return true
	})
	_, err := fmt.Fprintf(n.w, "mars: %s\n", printable(b.String()))
	return err
}

// WithAttrs implements slog.Handler.
func (n *notes) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *n
	for _, a := range attrs {
		more.attrs += describe(a)
	}
	return &more
}

// WithGroup implements slog.Handler; people need no groups.
func (n *notes) WithGroup(string) slog.Handler { return n }

// describe is an attribute as a person would add it: an error speaks for itself.
func describe(a slog.Attr) string {
	if a.Key == "err" {
		return ": " + a.Value.String()
	}
	return fmt.Sprintf(", %s %s", a.Key, a.Value)
}
