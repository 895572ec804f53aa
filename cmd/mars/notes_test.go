package main

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(&notes{w: &out, least: slog.LevelWarn})
	log.Info("nobody cares")
	log.With("object", "/a\x1b").WithGroup("g").Warn("trying again", "after", 2*time.Second, "err", errors.New("no answer"))
	if got, want := out.String(), "mars: trying again, object /a\\x1b, after 2s: no answer\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
