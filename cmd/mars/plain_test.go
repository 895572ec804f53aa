package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
)

func TestGetPlain(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(1<<20 + 3)
	at := s.serve(content, 1)[0]
	r := s.mars("get", "/site/object", "--plain", "--via", at)
	r.want(t, 0, "object: 1.0 MB in ", "over 1 path\n", "mars: not verified: no manifest\n")
	s.same("object", content)

	r = s.mars("get", "/site/object", "--plain", "--json", "--via", at)
	r.want(t, 0)
	events := parseEvents(t, r.stdout)
	if c := only(t, events, "complete"); c["verified"] != false || c["bytes"] != float64(len(content)) {
		t.Errorf("%v", c)
	}
	for _, e := range events {
		if e["event"] == "verify" {
			t.Errorf("nothing was verified, and it says %v", e)
		}
	}

	sum := fmt.Sprintf("sha256=%x", sha256.Sum256(content))
	r = s.mars("get", "/site/object", "--plain", "--json", "--checksum", sum, "-o", "-", "--via", at)
	r.want(t, 0)
	if c := only(t, parseEvents(t, r.stderr), "complete"); c["verified"] != true || sha256.Sum256([]byte(r.stdout)) != sha256.Sum256(content) {
		t.Errorf("%v", c)
	}

	r = s.mars("get", "/site/nothing", "--plain", "--via", at)
	r.want(t, 3, "not found")
	s.mars("get", "/site/", "--plain", "--via", at, "-o", "all/").want(t, 2, "--plain is for one object")
	s.mars("get", "/site/object", "--plain", "--limit-rate", "100M", "-o", "limited", "--via", at).want(t, 0)
	if left, _ := filepath.Glob(s.path("*.mars-plain")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestGetEndpointCC fetches over two paths with a window for each.
func TestGetEndpointCC(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(1<<20 + 3)
	at := s.serve(content, 2)
	s.mars("get", "/site/object", "--endpoint-cc", "olia", "--via", at[0], "--via", at[1]).
		want(t, 0, "object: 1.0 MB in ", "over 2 paths\n", "mars: not verified: --endpoint-cc asks for no manifest\n")
	s.same("object", content)
	s.mars("get", "/site/object", "--endpoint-cc", "vegas", "--via", at[0]).want(t, 2, `no congestion controller "vegas"`, "lia, olia, balia")
	s.mars("get", "/site/", "-o", "all/", "--endpoint-cc", "lia", "--via", at[0]).want(t, 2, "--endpoint-cc is for one object")
}
