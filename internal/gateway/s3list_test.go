package gateway

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// list asks for every page of a list, by either version of ListObjects, and returns keys and common prefixes in the order in which
// they came: of each page first the keys.
func (s *stage) list(t *testing.T, q url.Values) (keys, prefixes []string, pages int) {
	t.Helper()
	for {
		got := s.askRaw(t, "GET", "/data?"+q.Encode())
		var x xmlList
		if err := xml.Unmarshal(got.body, &x); err != nil || got.StatusCode != 200 {
			t.Fatalf("%v: %s %v %s", q, got.Status, err, got.body)
		}
		pages++
		for _, o := range x.Contents {
			key, _ := url.PathUnescape(o.Key)
			keys = append(keys, key)
		}
		for _, p := range x.CommonPrefixes {
			prefix, _ := url.PathUnescape(p.Prefix)
			prefixes = append(prefixes, prefix)
		}
		if !x.IsTruncated {
			return keys, prefixes, pages
		}
		if q.Get("list-type") == "2" {
			q.Set("continuation-token", x.NextContinuationToken)
		} else {
			marker, _ := url.PathUnescape(x.NextMarker)
			q.Set("marker", marker)
		}
	}
}

// expect is what S3 lists of keys, in the words of its documentation.
func expect(all []string, prefix, delimiter, after string) (keys, prefixes []string) {
	for _, key := range all {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok || key <= after {
			continue
		}
		if i := strings.Index(rest, "/"); delimiter != "" && i >= 0 {
			common := prefix + rest[:i+1]
			if !slices.Contains(prefixes, common) {
				prefixes = append(prefixes, common)
			}
			continue
		}
		keys = append(keys, key)
	}
	return keys, prefixes
}

// TestListObjectsProperty: whatever the tree, the question and the size of the pages, the lists are those that S3 would give of the
// same keys.
func TestListObjectsProperty(t *testing.T) {
	dir := t.TempDir()
	var all []string
	parts := []string{"a", "a.b", "a-", "ab", "b c", "ü"}
	for i, one := range parts {
		for j, two := range parts {
			if i%2 == 0 {
				all = append(all, "d"+one+"/"+two)
				continue
			}
			for _, three := range parts[:j] {
				all = append(all, "d"+one+"/d"+two+"/"+three)
			}
		}
		all = append(all, one)
	}
	for _, key := range all {
		write(t, dir, key, []byte(key))
	}
	slices.Sort(all)
	s := newStage(t, dir, Options{Buckets: []Bucket{{"data", "/site/data"}}})
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.SampledFrom(all)
		prefix := key.Draw(rt, "key")
		prefix = prefix[:rapid.IntRange(0, len(prefix)).Draw(rt, "prefix")]
		after := ""
		q := url.Values{"prefix": {prefix}, "max-keys": {fmt.Sprint(rapid.IntRange(1, 60).Draw(rt, "page"))}, "encoding-type": {"url"}}
		second, delimiter := rapid.Bool().Draw(rt, "second"), rapid.SampledFrom([]string{"", "/"}).Draw(rt, "delimiter")
		if second {
			q.Set("list-type", "2")
			if rapid.Bool().Draw(rt, "from a key on") {
				after = key.Draw(rt, "after")
				q.Set("start-after", after)
			}
		}
		if delimiter != "" {
			q.Set("delimiter", delimiter)
		}
		keys, prefixes, _ := s.list(t, q)
		wantKeys, wantPrefixes := expect(all, prefix, delimiter, after)
		if !slices.Equal(keys, wantKeys) {
			rt.Fatalf("%v: keys\n%q, want\n%q", q, keys, wantKeys)
		}
		// S3 leaves a common prefix out when none of its keys is behind the start; here a directory may be named that has
		// only earlier ones.
		prefixes = slices.DeleteFunc(prefixes, func(p string) bool { return strings.HasPrefix(after, p) && !slices.Contains(wantPrefixes, p) })
		if !slices.Equal(prefixes, wantPrefixes) {
			rt.Fatalf("%v: prefixes\n%q, want\n%q", q, prefixes, wantPrefixes)
		}
	})
}

func TestListObjectsAnswers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", nil)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, dir, Options{Buckets: []Bucket{{"data", "/site/data"}}})
	for _, c := range []struct {
		path   string
		status int
		holds  string
	}{
		{"/data?list-type=2", 200, "<KeyCount>1</KeyCount>"},
		{"/data?list-type=2&max-keys=0", 200, "<IsTruncated>false</IsTruncated>"},
		{"/data?list-type=2&prefix=none/", 200, "<KeyCount>0</KeyCount>"},
		{"/data?list-type=2&prefix=empty/&delimiter=/", 200, "<KeyCount>0</KeyCount>"},
		{"/data?list-type=2&prefix=a//b", 200, "<KeyCount>0</KeyCount>"},
		{"/data?list-type=2&prefix=../", 200, "<KeyCount>0</KeyCount>"},
		{"/data/?list-type=2", 200, "<KeyCount>1</KeyCount>"},
		{"/data?list-type=2&delimiter=x", 501, "<Code>NotImplemented</Code>"},
		{"/data?list-type=2&max-keys=x", 400, "<Code>InvalidArgument</Code>"},
		{"/data?list-type=2&continuation-token=*", 400, "<Code>InvalidArgument</Code>"},
		{"/nobody?list-type=2", 404, "<Code>NoSuchBucket</Code>"},
		{"/data?location", 200, "<LocationConstraint"},
		{"/data?acl", 501, "<Code>NotImplemented</Code>"},
		{"/?x-id=ListBuckets", 200, "<Bucket><Name>data</Name>"},
		{"/data/none", 404, "<Code>NoSuchKey</Code>"},
		{"/data/none?x-id=GetObject", 404, "<Resource>/data/none</Resource>"},
		{"/data/empty", 404, "<Code>NoSuchKey</Code>"},
		{"/data/empty/?x-id=GetObject", 404, "<Code>NoSuchKey</Code>"},
	} {
		got := s.askRaw(t, "GET", c.path)
		if got.StatusCode != c.status || !strings.Contains(string(got.body), c.holds) || got.Header.Get("Content-Type") != "application/xml" {
			t.Errorf("%s: %s %s\n%s", c.path, got.Status, got.Header.Get("Content-Type"), got.body)
		}
	}
	for path, status := range map[string]int{"/data": 200, "/nobody": 404, "/data/a": 200, "/data/empty": 404, "/data/none": 404} {
		if got := s.askRaw(t, "HEAD", path); got.StatusCode != status {
			t.Errorf("HEAD %s: %s, want %d", path, got.Status, status)
		}
	}
}
