package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signature Version 4 of AWS, as clients of S3 sign their requests ("Authenticating Requests", Amazon S3 API Reference).
const (
	algorithm    = "AWS4-HMAC-SHA256"
	amzTime      = "20060102T150405Z"
	emptySum     = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
	maxSkew      = 15 * time.Minute
	longestGrant = 7 * 24 * time.Hour // of a presigned URL
)

// signed is what a request says of its signature.
type signed struct {
	id        string
	scope     []string // date, region, service, "aws4_request"
	headers   []string // lower case, ascending
	signature string
	date      string
	payload   string        // SHA-256 of the body, in hex, or that it isn't signed
	grant     time.Duration // a presigned URL is good for so long; 0: it is no such
}

// Refusals.
var (
	errUnsigned  = &problem{http.StatusForbidden, "AccessDenied", "the request isn't signed: give your client the key's identifier and secret"}
	errMalformed = &problem{http.StatusBadRequest, "AuthorizationHeaderMalformed", "the signature can't be read: it must be one of AWS Signature Version 4"}
	errUnknownID = &problem{http.StatusForbidden, "InvalidAccessKeyId", "there is no key of that identifier"}
	errSkewed    = &problem{http.StatusForbidden, "RequestTimeTooSkewed", "the clocks of client and gateway differ by more than 15 minutes"}
	errExpired   = &problem{http.StatusForbidden, "AccessDenied", "the time for which the URL was signed is over"}
	errMismatch  = &problem{
		http.StatusForbidden, "SignatureDoesNotMatch",
		"the signature isn't the one that the secret of that key makes: check the secret, and that nothing on the way changes the request",
	}
)

// verify tells whether one of the keys signed a request without a body.
func verify(r *http.Request, keys map[string]string, now time.Time) error {
	s, err := readSignature(r)
	if err != nil {
		return err
	}
	at, err := time.Parse(amzTime, s.date)
	if err != nil || !strings.HasPrefix(s.date, s.scope[0]) || len(s.scope[0]) != 8 {
		return errMalformed
	}
	switch age := now.Sub(at); {
	case age < -maxSkew, s.grant == 0 && age > maxSkew:
		return errSkewed
	case s.grant > 0 && age > s.grant:
		return errExpired
	}
	secret, ok := keys[s.id]
	if !ok {
		return errUnknownID
	}
	if r.ContentLength != 0 || s.payload != emptySum && s.payload != "UNSIGNED-PAYLOAD" {
		return &problem{http.StatusBadRequest, "InvalidRequest", "a request to read has no body"}
	}
	canonical, err := s.canonical(r)
	if err != nil {
		return err
	}
	want := s.sign(secret, canonical)
	got, err := hex.DecodeString(s.signature)
	if err != nil || !hmac.Equal(got, want) {
		return errMismatch
	}
	return nil
}

// readSignature finds the signature in the header or, of a presigned URL, in the query.
func readSignature(r *http.Request) (*signed, error) {
	s := &signed{payload: r.Header.Get("X-Amz-Content-Sha256"), date: r.Header.Get("X-Amz-Date")}
	credential, headers := "", ""
	q := r.URL.Query()
	switch auth := r.Header.Get("Authorization"); {
	case auth != "":
		rest, ok := strings.CutPrefix(auth, algorithm+" ")
		if !ok {
			return nil, errMalformed
		}
		for part := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "Credential":
				credential = value
			case "SignedHeaders":
				headers = value
			case "Signature":
				s.signature = value
			}
		}
		if s.payload == "" { // not every client sends it
			s.payload = emptySum
		}
	case q.Has("X-Amz-Signature"):
		credential, headers, s.signature, s.date = q.Get("X-Amz-Credential"), q.Get("X-Amz-SignedHeaders"), q.Get("X-Amz-Signature"), q.Get("X-Amz-Date")
		seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
		if s.grant = time.Duration(seconds) * time.Second; err != nil || seconds <= 0 || seconds > int(longestGrant.Seconds()) || q.Get("X-Amz-Algorithm") != algorithm {
			return nil, errMalformed
		}
		s.payload = "UNSIGNED-PAYLOAD"
	default:
		return nil, errUnsigned
	}
	parts := strings.Split(credential, "/")
	if len(parts) < 5 {
		return nil, errMalformed
	}
	s.id, s.scope = strings.Join(parts[:len(parts)-4], "/"), parts[len(parts)-4:]
	s.headers = strings.Split(headers, ";")
	if s.scope[2] != "s3" || s.scope[3] != "aws4_request" || !slices.Contains(s.headers, "host") || !slices.IsSorted(s.headers) {
		return nil, errMalformed
	}
	return s, nil
}

// canonical is the text that stands for the request.
func (s *signed) canonical(r *http.Request) (string, error) {
	var path []string
	for part := range strings.SplitSeq(r.URL.EscapedPath(), "/") {
		value, err := url.PathUnescape(part)
		if err != nil {
			return "", errMalformed
		}
		path = append(path, escape(value, false))
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", errMalformed
	}
	var query []string
	for name, values := range q { // order: sorted below
		for _, v := range values {
			if name != "X-Amz-Signature" || s.grant == 0 {
				query = append(query, escape(name, false)+"="+escape(v, false))
			}
		}
	}
	slices.Sort(query)
	var headers strings.Builder
	for _, name := range s.headers {
		values := slices.Clone(r.Header.Values(name))
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		for i, v := range values {
			values[i] = strings.Join(strings.Fields(v), " ")
		}
		headers.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	return strings.Join([]string{
		r.Method, strings.Join(path, "/"), strings.Join(query, "&"), headers.String(), strings.Join(s.headers, ";"), s.payload,
	}, "\n"), nil
}

// sign is the signature that the secret makes.
func (s *signed) sign(secret, canonical string) []byte {
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, s.date, strings.Join(s.scope, "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(slices.Clone(s.scope), text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return key
}
