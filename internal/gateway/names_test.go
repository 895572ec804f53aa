package gateway

import (
	"errors"
	"strings"
	"testing"

	"mars"
)

func TestLocate(t *testing.T) {
	g, err := New(nil, Options{Buckets: []Bucket{{"data", "/site/a%20b"}, {"more", "/x"}}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":               "/ /",
		"/site/x":         "/site/x",
		"/site/x/":        "/site/x/",
		"/data":           "/site/a%20b",
		"/data/f":         "/site/a%20b/f",
		"/site/data/f":    "/site/data/f", // only the first part can be a bucket
		"/a%2Fb":          "/a%2Fb",
		"/a%3Db":          "/a%3Db",
		"/%FF":            "/%FF",
		"//x":             "",
		"/x//y":           "",
		"/x/./y":          "",
		"/x/%2e%2E/y":     "",
		"/x/%zz":          "",
		"http://other/x/": "",
		"":                "",
	} {
		p, err := g.locate(path)
		got := ""
		if err == nil {
			got = p.uri()
			if p.directory {
				got += "/"
			}
			if p.root() {
				got = "/ /"
			}
		}
		if got != want {
			t.Errorf("%q: %q (%v), want %q", path, got, err, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	for _, text := range []string{"data=/site/data", "a.b-c3=/x"} {
		if _, err := ParseBucket(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "data", "data=", "data=/", "data=site", "ab=/x", "Data=/x", "a/b=/x", "..x=/x", strings.Repeat("a", 64) + "=/x"} {
		if _, err := ParseBucket(text); !errors.Is(err, mars.ErrUsage) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := New(nil, Options{Buckets: []Bucket{{"abc", "/x"}, {"abc", "/y"}}}); !errors.Is(err, mars.ErrUsage) {
		t.Errorf("two buckets of a name: %v", err)
	}
}
