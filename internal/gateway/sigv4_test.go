package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// exampleKeys are of the examples in "Authenticating Requests", Amazon S3 API Reference.
var exampleKeys = map[string]string{"AKIAIOSFODNN7EXAMPLE": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}

const exampleCredential = algorithm + " Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"

// example is a request of these examples.
func example(target string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Host = "examplebucket.s3.amazonaws.com"
	r.Header.Set("X-Amz-Content-Sha256", emptySum)
	r.Header.Set("X-Amz-Date", "20130524T000000Z")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

var exampleTime = time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)

const exampleURL = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
	"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
	"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"

// TestSignatureExamples: the signatures are those that Amazon publishes.
func TestSignatureExamples(t *testing.T) {
	presigned := httptest.NewRequest("GET", exampleURL, nil)
	presigned.Host = "examplebucket.s3.amazonaws.com"
	for what, r := range map[string]*http.Request{
		"an object": example("/test.txt", "Range", "bytes=0-9", "Authorization", exampleCredential+
			"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
		"a query without values": example("/?lifecycle", "Authorization", exampleCredential+
			"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
		"a list": example("/?max-keys=2&prefix=J", "Authorization", exampleCredential+
			"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
		"a presigned URL": presigned,
	} {
		if err := verify(r, exampleKeys, exampleTime.Add(time.Minute)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSignatureRefusals(t *testing.T) {
	const good = exampleCredential + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	signed := func(change func(r *http.Request)) *http.Request {
		r := example("/test.txt", "Range", "bytes=0-9", "Authorization", good)
		change(r)
		return r
	}
	set := func(name, value string) *http.Request {
		return signed(func(r *http.Request) { r.Header.Set(name, value) })
	}
	presigned := func(target string) *http.Request {
		r := httptest.NewRequest("GET", target, nil)
		r.Host = "examplebucket.s3.amazonaws.com"
		return r
	}
	const hour = time.Hour
	for _, c := range []struct {
		what  string
		r     *http.Request
		after time.Duration
		code  string
	}{
		{"nothing", signed(func(r *http.Request) { r.Header.Del("Authorization") }), 0, "AccessDenied"},
		{"another range", set("Range", "bytes=0-10"), 0, "SignatureDoesNotMatch"},
		{"another host", signed(func(r *http.Request) { r.Host = "other" }), 0, "SignatureDoesNotMatch"},
		{"another path", signed(func(r *http.Request) { r.URL.Path = "/test.txu" }), 0, "SignatureDoesNotMatch"},
		{"a query", signed(func(r *http.Request) { r.URL.RawQuery = "prefix=a" }), 0, "SignatureDoesNotMatch"},
		{"another method", signed(func(r *http.Request) { r.Method = "HEAD" }), 0, "SignatureDoesNotMatch"},
		{"another date", set("X-Amz-Date", "20130524T000001Z"), 0, "SignatureDoesNotMatch"},
		{"a date out of scope", set("X-Amz-Date", "20130525T000000Z"), 0, "AuthorizationHeaderMalformed"},
		{"no date", set("X-Amz-Date", ""), 0, "AuthorizationHeaderMalformed"},
		{"late", signed(func(*http.Request) {}), 16 * time.Minute, "RequestTimeTooSkewed"},
		{"early", signed(func(*http.Request) {}), -16 * time.Minute, "RequestTimeTooSkewed"},
		{"a body", signed(func(r *http.Request) { r.ContentLength = 5 }), 0, "InvalidRequest"},
		{"an unknown body", set("X-Amz-Content-Sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), 0, "InvalidRequest"},
		{"an unknown key", set("Authorization", "AWS4-HMAC-SHA256 Credential=OTHER/20130524/us-east-1/s3/aws4_request,SignedHeaders=host,Signature=00"), 0, "InvalidAccessKeyId"},
		{"no host signed", set("Authorization", exampleCredential+"SignedHeaders=range,Signature=00"), 0, "AuthorizationHeaderMalformed"},
		{"no signature", set("Authorization", exampleCredential+"SignedHeaders=host"), 0, "SignatureDoesNotMatch"},
		{"no hex", set("Authorization", exampleCredential+"SignedHeaders=host,Signature=zz"), 0, "SignatureDoesNotMatch"},
		{"another service", set("Authorization", algorithm+" Credential=A/20130524/us-east-1/sqs/aws4_request,SignedHeaders=host,Signature=00"), 0, "AuthorizationHeaderMalformed"},
		{"a short credential", set("Authorization", algorithm+" Credential=A/s3,SignedHeaders=host,Signature=00"), 0, "AuthorizationHeaderMalformed"},
		{"another scheme", set("Authorization", "Basic YTpi"), 0, "AuthorizationHeaderMalformed"},
		{"the URL, late", presigned(exampleURL), 25 * hour, "AccessDenied"},
		{"the URL, early", presigned(exampleURL), -hour, "RequestTimeTooSkewed"},
		{"the URL, of another object", presigned("/other" + exampleURL[len("/test.txt"):]), 0, "SignatureDoesNotMatch"},
		{"the URL, with more", presigned(exampleURL + "&prefix=a"), 0, "SignatureDoesNotMatch"},
		{"the URL, for another time", presigned(exampleURL + "&X-Amz-Expires=1"), 0, "SignatureDoesNotMatch"},
	} {
		err := verify(c.r, exampleKeys, exampleTime.Add(c.after))
		if p, ok := err.(*problem); !ok || p.code != c.code {
			t.Errorf("%s: %v, want %s", c.what, err, c.code)
		}
	}
}
