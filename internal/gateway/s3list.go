package gateway

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mars"
)

// maxKeys is the most that one answer lists, as with S3.
const maxKeys = 1000

// listing is a question for the keys of a bucket, and what was found.
type listing struct {
	g         *Gateway
	prefix    string // of keys
	delimiter string // "/": what is below a directory is one entry; "": all
	after     string // only keys behind this one
	most      int

	found []found
	more  bool // there are more than most
}

// found is a key, or with a delimiter the common prefix of many.
type found struct {
	key    string
	entry  mars.Entry
	common bool
}

// walk finds what is in the directory p, whose key is dir, in the order of the keys: of their bytes. It ends when there is enough.
func (l *listing) walk(ctx context.Context, p place, dir string) error {
	all, err := l.g.list(ctx, p)
	if err != nil {
		return err
	}
	keys := make([]found, 0, len(all))
	for _, e := range all {
		if !nameable(e.Base) || strings.Contains(e.Base, "/") { // a key of that name would mean something else
			continue
		}
		key := dir + e.Base
		if e.Directory {
			key += "/"
		}
		keys = append(keys, found{key: key, entry: e})
	}
	slices.SortFunc(keys, func(a, b found) int { return strings.Compare(a.key, b.key) }) // "a.b" is before "a/"
	for _, f := range keys {
		if err := l.visit(ctx, p, f); err != nil {
			return err
		}
		if l.more {
			return nil
		}
	}
	return nil
}

// visit takes one entry of the directory p.
func (l *listing) visit(ctx context.Context, p place, f found) error {
	within := strings.HasPrefix(f.key, l.prefix)
	if !f.entry.Directory {
		if within && f.key > l.after {
			l.add(f)
		}
		return nil
	}
	switch {
	case !within && !strings.HasPrefix(l.prefix, f.key):
	case f.key <= l.after && (!strings.HasPrefix(l.after, f.key) || l.delimiter != "" && f.key == l.after): // all of it is before
	case within && l.delimiter != "" && len(f.key) > len(l.prefix):
		f.common = true
		l.add(f)
	default:
		if err := l.walk(ctx, p.below(f.entry.Base, true), f.key); err != nil && !isNotFound(err) { // it may be gone
			return err
		}
	}
	return nil
}

func (l *listing) add(f found) {
	if len(l.found) >= l.most {
		l.more = true
		return
	}
	l.found = append(l.found, f)
}

// xmlList is the answer to ListObjects and ListObjectsV2.
type xmlList struct {
	XMLName        xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name           string
	Prefix         string
	Delimiter      string `xml:",omitempty"`
	EncodingType   string `xml:",omitempty"`
	MaxKeys        int
	IsTruncated    bool
	Contents       []xmlObject
	CommonPrefixes []xmlPrefix

	// Of the first version.
	Marker     *string
	NextMarker string `xml:",omitempty"`

	// Of the second.
	KeyCount              *int
	StartAfter            string `xml:",omitempty"`
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
}

type xmlObject struct {
	Key          string
	LastModified string
	ETag         string `xml:",omitempty"`
	Size         int64
	StorageClass string
}

type xmlPrefix struct{ Prefix string }

// listObjects answers ListObjectsV2, and its first version, which older clients speak.
func (g *Gateway) listObjects(a *answer, r *http.Request, p place) error {
	q := r.URL.Query()
	second := q.Get("list-type") == "2"
	l, err := g.question(q, second)
	if err != nil {
		return err
	}
	if l.most > 0 {
		start, dir := p, ""
		for _, part := range strings.Split(l.prefix, "/") { // from the deepest directory on that the prefix names
			if len(dir)+len(part) >= len(l.prefix) || !nameable(part) {
				break
			}
			start, dir = start.below(part, true), dir+part+"/"
		}
		switch err := l.walk(r.Context(), start, dir); {
		case isNotFound(err) && dir == "":
			return noSuchBucket(p)
		case err != nil && !isNotFound(err):
			return err
		}
	}
	return a.xml(l.result(q, p.parts[0], second))
}

// question reads what a query asks for.
func (g *Gateway) question(q url.Values, second bool) (*listing, error) {
	l := &listing{g: g, prefix: q.Get("prefix"), delimiter: q.Get("delimiter"), after: q.Get("marker"), most: maxKeys}
	if l.delimiter != "" && l.delimiter != "/" {
		return nil, &problem{http.StatusNotImplemented, "NotImplemented", "the only delimiter here is /"}
	}
	if text := q.Get("max-keys"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, &problem{http.StatusBadRequest, "InvalidArgument", "max-keys is no number from 0 on"}
		}
		l.most = min(n, maxKeys)
	}
	if second {
		l.after = q.Get("start-after")
		if token := q.Get("continuation-token"); token != "" {
			after, err := base64.RawURLEncoding.DecodeString(token)
			if err != nil {
				return nil, &problem{http.StatusBadRequest, "InvalidArgument", "the continuation token is none of ours"}
			}
			l.after = string(after)
		}
	}
	return l, nil
}

// result is the answer in the words of the client.
func (l *listing) result(q url.Values, bucket string, second bool) xmlList {
	spell := func(text string) string { return strings.ToValidUTF8(text, "�") }
	if q.Get("encoding-type") == "url" {
		spell = func(text string) string { return escape(text, true) }
	}
	x := xmlList{
		Name: bucket, Prefix: spell(l.prefix), Delimiter: spell(l.delimiter), EncodingType: q.Get("encoding-type"),
		MaxKeys: l.most, IsTruncated: l.more,
	}
	last := ""
	for _, f := range l.found {
		last = f.key
		if f.common {
			x.CommonPrefixes = append(x.CommonPrefixes, xmlPrefix{spell(f.key)})
			continue
		}
		o := xmlObject{Key: spell(f.key), Size: f.entry.Size, StorageClass: "STANDARD"}
		o.LastModified = f.entry.Modified.UTC().Format("2006-01-02T15:04:05.000Z")
		if f.entry.Modified.IsZero() { // clients want one
			o.LastModified = time.Unix(0, 0).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if f.entry.HasDigest {
			o.ETag = etag(f.entry.Digest)
		}
		x.Contents = append(x.Contents, o)
	}
	if !second {
		marker := spell(q.Get("marker"))
		x.Marker = &marker
		if l.more {
			x.NextMarker = spell(last)
		}
		return x
	}
	count := len(l.found)
	x.KeyCount, x.StartAfter, x.ContinuationToken = &count, spell(q.Get("start-after")), q.Get("continuation-token")
	if l.more {
		x.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(last))
	}
	return x
}
