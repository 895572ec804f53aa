package gateway

import (
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mars"
)

// list returns what is in a directory; a file is none.
func (g *Gateway) list(ctx context.Context, p place) ([]mars.Entry, error) {
	all, err := g.node.List(ctx, p.uri(), g.stall)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && !all[0].Directory && all[0].Name == p.uri() {
		return nil, noSuchKey
	}
	return all, nil
}

// directory answers with the list of a directory.
func (g *Gateway) directory(a *answer, r *http.Request, p place) error {
	all, err := g.list(r.Context(), p)
	if err != nil {
		return err
	}
	return g.writeList(a, r, p, all)
}

// toDirectory sends the client to the path with the slash, by which relative links in the list are right.
func (g *Gateway) toDirectory(a *answer, r *http.Request) error {
	parts := strings.Split(strings.TrimRight(r.URL.EscapedPath(), "/"), "/")
	to := "./" + parts[len(parts)-1] + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	a.Header().Set("Location", to)
	a.WriteHeader(http.StatusMovedPermanently)
	return nil
}

// wantsJSON tells whether a list is for a program.
func wantsJSON(r *http.Request) bool {
	if r.URL.Query().Has("json") {
		return true
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// jsonEntry is an entry of a list for programs.
type jsonEntry struct {
	Name     string     `json:"name"`
	Href     string     `json:"href"` // relative to the list
	Kind     string     `json:"kind"` // file, directory
	Size     *int64     `json:"size,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
	ETag     string     `json:"etag,omitempty"`
}

func (g *Gateway) writeList(a *answer, r *http.Request, p place, all []mars.Entry) error {
	h := a.Header()
	h.Set("Vary", "Accept")
	h.Set("Cache-Control", "no-cache")
	var body []byte
	if wantsJSON(r) {
		h.Set("Content-Type", "application/json")
		entries := make([]jsonEntry, 0, len(all))
		for _, e := range all {
			entries = append(entries, jsonOf(e))
		}
		body, _ = json.Marshal(entries) // it can't fail: there are only texts and numbers
		body = append(body, '\n')
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		var page strings.Builder
		if err := listPage.Execute(&page, pageOf(p, all)); err != nil {
			return err
		}
		body = []byte(page.String())
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.WriteHeader(http.StatusOK)
	if a.head {
		return nil
	}
	_, _ = a.Write(body) // a client who went away needs no answer
	return nil
}

func jsonOf(e mars.Entry) jsonEntry {
	j := jsonEntry{Name: e.Base, Href: href(e), Kind: "directory"}
	if !e.Directory {
		j.Kind, j.Size = "file", &e.Size
	}
	if !e.Modified.IsZero() {
		utc := e.Modified.UTC()
		j.Modified = &utc
	}
	if e.HasDigest {
		j.ETag = etag(e.Digest)
	}
	return j
}

// href is the link to an entry from the list of its directory.
func href(e mars.Entry) string {
	to := "./" + url.PathEscape(e.Base) // so that a colon in it begins no scheme
	if e.Directory {
		to += "/"
	}
	return to
}

// page is a list for people.
type page struct {
	Title string
	Up    bool
	Rows  []row
}

type row struct{ Href, Name, Size, Modified string }

func pageOf(p place, all []mars.Entry) page {
	list := page{Title: "/" + strings.Join(p.parts, "/"), Up: !p.root()}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b mars.Entry) int { // directories first
		switch {
		case a.Directory == b.Directory:
			return 0
		case a.Directory:
			return -1
		}
		return 1
	})
	for _, e := range all {
		if !nameable(e.Base) {
			continue
		}
		r := row{Href: href(e), Name: strings.ToValidUTF8(e.Base, "�")}
		if e.Directory {
			r.Name += "/"
		} else {
			r.Size = strconv.FormatInt(e.Size, 10)
		}
		if !e.Modified.IsZero() {
			r.Modified = e.Modified.UTC().Format(time.DateTime)
		}
		list.Rows = append(list.Rows, r)
	}
	return list
}

var listPage = template.Must(template.New("list").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.2rem; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884 }
td { overflow-wrap: anywhere }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<table>
<tr><th>Name</th><th class="n">Bytes</th><th class="n">Modified (UTC)</th></tr>
{{- if .Up}}
<tr><td><a href="../">../</a></td><td></td><td></td></tr>
{{- end}}
{{- range .Rows}}
<tr><td><a href="{{.Href}}">{{.Name}}</a></td><td class="n">{{.Size}}</td><td class="n">{{.Modified}}</td></tr>
{{- end}}
</table>
</body>
</html>
`))
