package gateway

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mars"
)

// answer is an http.ResponseWriter that keeps the header until the first byte of content is there, so that a failure before it
// can still be told by the status.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	head    bool
	status  int       // 0: not known yet
	began   bool      // the header is on its way
	sent    int64     // bytes of content
	until   time.Time // the client must have taken something by then
	cut     bool      // content is missing at the end
}

func newAnswer(w http.ResponseWriter, r *http.Request, stall time.Duration) *answer {
	return &answer{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, head: r.Method == http.MethodHead}
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter. A client who takes nothing for as long as stall is given up. That there is no such range
// is told by the caller, in the client's words.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status == http.StatusRequestedRangeNotSatisfiable && !a.began {
		return len(p), nil
	}
	a.begin()
	if now := time.Now(); a.until.Sub(now) < a.stall-a.stall/8 { // not for each of thousands of writes per second
		a.until = now.Add(a.stall)
		_ = a.control.SetWriteDeadline(a.until) // not every writer can
	}
	n, err := a.ResponseWriter.Write(p)
	a.sent += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom for http.ServeContent: a part of an object comes without a copy between.
func (a *answer) ReadFrom(src io.Reader) (int64, error) {
	if part, ok := src.(*io.LimitedReader); ok {
		if r, ok := part.R.(*mars.Reader); ok {
			n, err := r.CopyN(a, part.N)
			part.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{a}, src)
}

// begin sends the header.
func (a *answer) begin() {
	if !a.began {
		a.began = true
		a.ResponseWriter.WriteHeader(a.status)
	}
}

// finish sends the header of an answer without content.
func (a *answer) finish() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.begin()
	_ = a.control.SetWriteDeadline(time.Time{}) // the connection may go on
}

// problem is a failure with what S3 and people call it.
type problem struct {
	status  int
	code    string // of S3
	message string
}

func (p *problem) Error() string { return p.message }

// problemOf says what becomes of an error of the node.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	p := &problem{http.StatusInternalServerError, "InternalError", err.Error()}
	switch {
	case errors.Is(err, mars.ErrNotFound):
		p.status, p.code = http.StatusNotFound, "NoSuchKey"
	case errors.Is(err, mars.ErrUsage): // of a name
		p.status, p.code = http.StatusBadRequest, "InvalidArgument"
	case errors.Is(err, mars.ErrTimeout), errors.Is(err, mars.ErrDeadline):
		p.status, p.code = http.StatusGatewayTimeout, "RequestTimeout"
	case errors.Is(err, mars.ErrIntegrity), errors.Is(err, mars.ErrUntrusted):
		p.status = http.StatusBadGateway
	case errors.Is(err, mars.ErrAuth):
		p.status, p.code = http.StatusForbidden, "AccessDenied"
	case errors.Is(err, mars.ErrChanged), errors.Is(err, mars.ErrBusy), errors.Is(err, mars.ErrQuota), errors.Is(err, mars.ErrInterrupted):
		p.status, p.code = http.StatusServiceUnavailable, "ServiceUnavailable"
	}
	return p
}

// fail tells why there is no content, in XML as S3 does or in a line of text; when there was some already, the connection is cut.
func (a *answer) fail(r *http.Request, err error) {
	if a.began {
		a.cut = true
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil { // nobody listens any more
		a.status = 499 // as other servers log it
		a.cut = true
		panic(http.ErrAbortHandler)
	}
	p := problemOf(err)
	h := a.Header()
	for _, of := range []string{"Content-Length", "Etag", "Last-Modified", "Content-Encoding", "Accept-Ranges", "Content-Security-Policy"} {
		h.Del(of)
	}
	if p.status != http.StatusRequestedRangeNotSatisfiable {
		h.Del("Content-Range")
	}
	if p.status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD")
	}
	h.Set("Cache-Control", "no-store")
	body := p.message + "\n"
	if next := mars.NextStep(err); next != "" {
		body += next + "\n"
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if isS3(r) {
		h.Set("Content-Type", "application/xml")
		body = marshal(xmlError{Code: p.code, Message: strings.ReplaceAll(strings.TrimSuffix(body, "\n"), "\n", "; "), Resource: r.URL.Path})
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	a.status = p.status
	a.begin()
	if !a.head {
		n, _ := io.WriteString(a.ResponseWriter, body)
		a.sent += int64(n)
	}
}

// xmlError is how S3 tells errors.
type xmlError struct {
	XMLName  xml.Name `xml:"Error"`
	Code     string
	Message  string
	Resource string
}

func marshal(v any) string {
	text, err := xml.Marshal(v)
	if err != nil {
		panic(err) // of our own types
	}
	return xml.Header + string(text)
}
