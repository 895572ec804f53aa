package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mars"
	"mars/internal/wire"
)

// Bucket has the first part of a path stand for a prefix: with {data, /site/a}, /data/x is the object /site/a/x.
type Bucket struct {
	Name   string // 3 to 63 of a-z, 0-9, dots and hyphens, as S3 wants it
	Prefix string // an NDN URI
}

// ParseBucket reads NAME=/PREFIX.
func ParseBucket(text string) (Bucket, error) {
	name, prefix, ok := strings.Cut(text, "=")
	if !ok {
		return Bucket{}, mars.UsageError(fmt.Errorf("%q is not NAME=/PREFIX", text))
	}
	b := Bucket{name, prefix}
	_, err := newBuckets([]Bucket{b})
	return b, err
}

// buckets are in order of their names.
type buckets []bucket

type bucket struct {
	name   string
	prefix wire.Name
}

func newBuckets(all []Bucket) (buckets, error) {
	var list buckets
	for _, b := range all {
		fit := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' }
		if len(b.Name) < 3 || len(b.Name) > 63 || strings.ContainsFunc(b.Name, func(c rune) bool { return !fit(c) }) || b.Name[0] == '.' {
			return nil, mars.UsageError(fmt.Errorf("%q is no name of a bucket: use 3 to 63 of a-z, 0-9, dots and hyphens", b.Name))
		}
		prefix, err := wire.ParseName(b.Prefix)
		if err != nil || prefix.Len() == 0 {
			return nil, mars.UsageError(fmt.Errorf("bucket %s: %q is no prefix; write /site/data", b.Name, b.Prefix))
		}
		list = append(list, bucket{b.Name, prefix})
	}
	slices.SortFunc(list, func(a, b bucket) int { return strings.Compare(a.name, b.name) })
	for i := range list {
		if i > 0 && list[i].name == list[i-1].name {
			return nil, mars.UsageError(fmt.Errorf("there are two buckets %s", list[i].name))
		}
	}
	return list, nil
}

func (b buckets) find(name string) (wire.Name, bool) {
	i, ok := slices.BinarySearchFunc(b, name, func(b bucket, name string) int { return strings.Compare(b.name, name) })
	if !ok {
		return nil, false
	}
	return b[i].prefix, true
}

// entries lists the buckets as directories.
func (b buckets) entries() (all []mars.Entry) {
	for _, b := range b {
		all = append(all, mars.Entry{Name: b.prefix.String(), Base: b.name, Directory: true})
	}
	return all
}

// place is what a path means.
type place struct {
	name      wire.Name
	parts     []string // of the path, as the client knows it
	directory bool     // the path ends with a slash
}

func (p place) root() bool { return len(p.parts) == 0 }

// bucket tells whether the path is that of an S3 bucket.
func (p place) bucket() bool { return len(p.parts) == 1 }

func (p place) uri() string { return p.name.String() }

func (p place) asDirectory() place {
	p.directory = true
	return p
}

// below is the place of a part of a directory.
func (p place) below(part string, directory bool) place {
	return place{
		name: p.name.Clone().Append(wire.TypeGeneric, []byte(part)), parts: append(slices.Clone(p.parts), part), directory: directory,
	}
}

// locate reads a path, with its escapes.
func (g *Gateway) locate(escaped string) (place, error) {
	var p place
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return p, noSuchKey
	}
	rest, p.directory = strings.CutSuffix(rest, "/")
	if rest == "" {
		p.directory = true
		return p, nil
	}
	for i, part := range strings.Split(rest, "/") {
		value, err := url.PathUnescape(part)
		if err != nil || !nameable(value) {
			return p, noSuchKey
		}
		p.parts = append(p.parts, value)
		if prefix, ok := g.buckets.find(value); i == 0 && ok {
			p.name = prefix.Clone()
			continue
		}
		p.name = p.name.Append(wire.TypeGeneric, []byte(value))
	}
	return p, nil
}

// nameable tells whether something can be a part of a path.
func nameable(part string) bool { return part != "" && part != "." && part != ".." }

// noSuchKey is the answer to names that nothing has.
var noSuchKey = &problem{http.StatusNotFound, "NoSuchKey", "there is no object of that name"}

// escape encodes text for a URL as S3 does, in a path (slash: slashes stay) or a query.
func escape(text string, slash bool) string {
	var out bytes.Buffer
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, slash && c == '/':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
