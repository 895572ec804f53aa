package gateway

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"

	"mars"
)

// s3Queries are parts of queries that only S3 has, with what we answer: true for those that list.
var s3Queries = map[string]bool{
	"list-type": true, "prefix": true, "delimiter": true, "marker": true, "max-keys": true, "start-after": true,
	"continuation-token": true, "encoding-type": true, "fetch-owner": true,
	"location": false, "acl": false, "cors": false, "lifecycle": false, "policy": false, "tagging": false, "versioning": false,
	"versions": false, "uploads": false, "uploadId": false, "website": false, "object-lock": false, "replication": false,
	"encryption": false, "notification": false, "requestPayment": false, "attributes": false, "torrent": false, "retention": false,
	"legal-hold": false, "logging": false, "policyStatus": false, "publicAccessBlock": false, "ownershipControls": false,
}

// isS3 tells whether a request may be one of S3, and its errors are to be told as S3 does: whoever says what media types he takes
// (curl, browsers, wget, aria2) is none of its clients.
func isS3(r *http.Request) bool { return r.Header.Get("Accept") == "" }

// s3Sure tells whether a request can only be one of S3: signed, or with its headers.
func s3Sure(r *http.Request) bool {
	q := r.URL.Query()
	return isS3(r) && (r.Header.Get("Authorization") != "" || q.Has("X-Amz-Signature") || q.Has("x-id") ||
		r.Header.Get("X-Amz-Content-Sha256") != "" || r.Header.Get("Amz-Sdk-Invocation-Id") != "")
}

// answerS3 answers what only S3 asks; false: a request for an object or a directory.
func (g *Gateway) answerS3(a *answer, r *http.Request, p place) (bool, error) {
	sure, lists := s3Sure(r), false
	for key := range r.URL.Query() { // order: the answer is one of two, and any of the second kind decides
		list, known := s3Queries[key]
		if known && !list && key != "location" {
			return true, &problem{http.StatusNotImplemented, "NotImplemented", "this gateway doesn't know ?" + key}
		}
		lists = lists || list
	}
	switch {
	case p.root() && sure:
		return true, g.listBuckets(a)
	case !p.bucket() && p.directory && sure: // a key may end with a slash, and nobody has such an object
		return true, noSuchKey
	case !p.bucket():
		return false, nil
	case r.URL.Query().Has("location"):
		return true, a.xml(xmlLocation{})
	case a.head && (sure || !p.directory && isS3(r)):
		return true, g.headBucket(r, p)
	case !a.head && (sure || lists):
		return true, g.listObjects(a, r, p)
	}
	return false, nil
}

// xml writes an answer of S3.
func (a *answer) xml(v any) error {
	body := marshal(v)
	a.Header().Set("Content-Type", "application/xml")
	a.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.WriteHeader(http.StatusOK)
	if !a.head {
		_, _ = a.Write([]byte(body)) // a client who went away needs no answer
	}
	return nil
}

type xmlLocation struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
}

type xmlBuckets struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
	Owner   struct{ ID, DisplayName string }
	Buckets []xmlBucket `xml:"Buckets>Bucket"`
}

type xmlBucket struct {
	Name         string
	CreationDate string
}

// listBuckets lists the configured buckets. They have no date; clients want one.
func (g *Gateway) listBuckets(a *answer) error {
	all := xmlBuckets{Owner: struct{ ID, DisplayName string }{"mars", "mars"}}
	for _, b := range g.buckets {
		all.Buckets = append(all.Buckets, xmlBucket{b.name, "1970-01-01T00:00:00.000Z"})
	}
	return a.xml(all)
}

// headBucket tells whether there is a bucket: one of the configuration, or a directory.
func (g *Gateway) headBucket(r *http.Request, p place) error {
	if _, ok := g.buckets.find(p.parts[0]); ok {
		return nil
	}
	_, err := g.list(r.Context(), p)
	if isNotFound(err) {
		return noSuchBucket(p)
	}
	return err
}

func isNotFound(err error) bool { return errors.Is(err, mars.ErrNotFound) || errors.Is(err, noSuchKey) }

func noSuchBucket(p place) error {
	return &problem{
		http.StatusNotFound, "NoSuchBucket",
		"nobody lists /" + p.parts[0] + ": name the bucket after what is served, or give its prefix a name (--bucket NAME=/PREFIX)",
	}
}
