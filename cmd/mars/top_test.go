package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mars"
	"mars/internal/status"
)

// TestTopFits: whatever the size of the terminal, nothing is longer or more than it shows, and what carries most comes first.
func TestTopFits(t *testing.T) {
	s := &mars.NodeStatus{
		Role: "relay", ID: "0123456789abcdef",
		Faces: []status.Face{{Name: "näme\x1b[31m", Way: "relay:1", State: status.Up, In: 1.25e8, Why: strings.Repeat("why ", 40)}, {Peer: "[2001:db8:1234:5678:9abc:def0:1234:5678]:6363", State: status.Handshake}},
		Flows: []status.Flow{
			{Name: "/idle", Paths: []status.Path{{Label: "x", Why: "the flow asks for nothing"}}},
			{Name: "/busy", Rate: 1e6, Paths: []status.Path{{Label: "a", Rate: 7.5e5}, {Label: "b", Rate: 2.5e5}}},
		},
	}
	for _, size := range [][2]int{{80, 24}, {40, 5}, {10, 3}, {200, 60}} {
		lines := topLines(s, size[0], size[1])
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > size[0] || strings.ContainsRune(l, '\x1b') {
				t.Errorf("%v: %d characters in %q", size, n, l)
			}
		}
	}
	page := strings.Join(topLines(s, 80, 24), "\n")
	busy, idle := strings.Index(page, "/busy"), strings.Index(page, "/idle")
	if busy < 0 || idle < busy || !strings.Contains(page, "a              ███████████████·····  6.00 Mbit/s") {
		t.Errorf("the page is\n%s", page)
	}
}
