package gateway

import (
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"mars"
)

// object answers with the bytes of an object, or with those that the request asks for.
func (g *Gateway) object(a *answer, r *http.Request, p place) error {
	o, err := g.node.Open(r.Context(), mars.OpenOptions{Name: p.uri(), Stall: g.stall})
	if err != nil {
		return err
	}
	defer o.Close()
	reader := o.NewReader(r.Context())
	defer reader.Close()
	ahead := announced(r.Header.Get("Range"), o.Size())
	reader.Until = ahead.until

	digest := o.Digest()
	h := a.Header()
	h.Set("Etag", etag(digest))
	h.Set("Content-Type", contentType(p.parts[len(p.parts)-1]))
	h.Set("Content-Security-Policy", "sandbox") // a page among the objects is none of ours
	http.ServeContent(a, r, "", o.Modified(), reader)
	switch {
	case reader.Err() != nil:
		return reader.Err()
	case a.status == http.StatusRequestedRangeNotSatisfiable:
		return &problem{a.status, "InvalidRange", "the object has " + strconv.FormatInt(o.Size(), 10) + " bytes, and none of those"}
	}
	return nil
}

// etag stands for every byte of an object: it is the digest of its manifest.
func etag(digest [32]byte) string { return `"` + hex.EncodeToString(digest[:]) + `"` }

// contentType goes by the end of the name: to look into the content would be to fetch it.
func contentType(base string) string {
	if t := mime.TypeByExtension(path.Ext(base)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// span is a part of an object: the bytes from first up to end.
type span struct{ first, end int64 }

// spans are in order of their starts.
type spans []span

// announced reads a Range header to know what is going to be read. http.ServeContent decides what it means: what can't be
// understood here says nothing.
func announced(header string, size int64) (all spans) {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "-")
		if !ok {
			return nil
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		switch {
		case from == "" && err2 == nil: // the last bytes
			all = append(all, span{max(0, size-last), size})
		case to == "" && err == nil:
			all = append(all, span{first, size})
		case err == nil && err2 == nil && first <= last:
			all = append(all, span{first, min(last, size-1) + 1})
		default:
			return nil
		}
	}
	slices.SortFunc(all, func(a, b span) int { return int(min(1, max(-1, a.first-b.first))) })
	return all
}

// until is where reading from offset on will end; 0: not known.
func (s spans) until(offset int64) (end int64) {
	for _, s := range s {
		if s.first == offset {
			end = max(end, s.end)
		}
	}
	return end
}
