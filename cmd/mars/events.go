package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"mars"
)

// eventSchema is the JSON Schema of the events of `mars get --json`.
//
//go:embed events.schema.json
var eventSchema string

// schemaVersion changes when programs that read events must change. Fields may be added without.
const schemaVersion = 1

// head begins every event.
type head struct {
	Event         string    `json:"event"`
	SchemaVersion int       `json:"schema_version"`
	Time          time.Time `json:"time"`
}

type versionEvent struct {
	head
	Version string `json:"version"` // of the program
}

type phaseEvent struct {
	head
	Phase string `json:"phase"` // resolve, transfer
	Size  *int64 `json:"size,omitempty"`
}

type pathEvent struct { // path_up, path_down
	head
	Name  string `json:"name"`
	Peer  string `json:"peer"`
	State string `json:"state"`
}

type progressEvent struct {
	head
	Bytes    int64          `json:"bytes"`
	Size     int64          `json:"size"`
	Resumed  int64          `json:"resumed_bytes"`
	Corrupt  int64          `json:"corrupt_chunks"`
	Resent   uint64         `json:"resent_interests"`
	Seconds  float64        `json:"seconds"`
	RateMbps float64        `json:"rate_mbps"` // lately
	Paths    []progressPath `json:"paths"`
}

type progressPath struct {
	Name     string  `json:"name"`
	Peer     string  `json:"peer"`
	State    string  `json:"state"`
	Bytes    uint64  `json:"bytes"`
	RateMbps float64 `json:"rate_mbps"`
	RTT      float64 `json:"rtt_seconds"`
}

type verifyEvent struct {
	head
	Verified bool   `json:"verified"`
	Bytes    int64  `json:"bytes"`
	Corrupt  int64  `json:"corrupt_chunks"`
	Digest   string `json:"digest"`
}

type completeEvent struct {
	head
	Name      string         `json:"name"`
	File      string         `json:"file"` // "-": standard output
	Verified  bool           `json:"verified"`
	Bytes     int64          `json:"bytes"`
	Resumed   int64          `json:"resumed_bytes"`
	Seconds   float64        `json:"seconds"`
	Paths     []completePath `json:"paths"`
	Aggregate float64        `json:"aggregate_mbps"`
	Digest    string         `json:"digest"`
	Version   string         `json:"version"` // of the object
	Signer    string         `json:"signer,omitempty"`
}

type completePath struct {
	Name    string  `json:"name"`
	Peer    string  `json:"peer"`
	Bytes   uint64  `json:"bytes"`
	Goodput float64 `json:"goodput_mbps"`
}

// itemEvent is the fate of one file or directory of many, or with --dry-run what it would be.
type itemEvent struct {
	head
	Name    string     `json:"name"`
	File    string     `json:"file"` // below the destination
	Kind    string     `json:"kind"`
	Bytes   int64      `json:"bytes"`
	Present bool       `json:"present"`
	DryRun  bool       `json:"dry_run"`
	Digest  string     `json:"digest,omitempty"`
	Signer  string     `json:"signer,omitempty"`
	Error   *itemError `json:"error,omitempty"`
}

type itemError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// summaryEvent is the result of a fetch of many.
type summaryEvent struct {
	head
	DryRun    bool           `json:"dry_run"`
	Done      int            `json:"done"`
	Present   int            `json:"present"`
	Failed    int            `json:"failed"`
	Bytes     int64          `json:"bytes"`
	Size      int64          `json:"size"`
	Resumed   int64          `json:"resumed_bytes"`
	Seconds   float64        `json:"seconds"`
	Paths     []completePath `json:"paths"`
	Aggregate float64        `json:"aggregate_mbps"`
}

// entryEvent is one entry of a directory, for `mars ls`.
type entryEvent struct {
	head
	Name     string     `json:"name"`
	Base     string     `json:"base"`
	Kind     string     `json:"kind"`
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"`
	Digest   string     `json:"digest,omitempty"`
	Signer   string     `json:"signer,omitempty"`
}

type errorEvent struct {
	head
	Code    string `json:"code"`
	Exit    int    `json:"exit_code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// events writes what happens to a fetch as JSON lines; nil writes nothing. An event that can't be written is lost: the
// reader is gone, and the exit code still tells the truth.
type events struct {
	enc      *json.Encoder
	rates    rates
	resolved bool
	told     time.Duration     // elapsed time at the last progress event
	states   map[string]string // of the paths, by key
}

// newListEvents begins the events of a command that only asks.
func newListEvents(w io.Writer) *events {
	e := &events{enc: json.NewEncoder(w), rates: newRates(), states: make(map[string]string)}
	e.write(versionEvent{e.head("version"), buildVersion()})
	return e
}

// newEvents begins the events of one fetch.
func newEvents(w io.Writer) *events {
	e := newListEvents(w)
	e.write(phaseEvent{head: e.head("phase"), Phase: "resolve"})
	return e
}

func (e *events) head(event string) head { return head{event, schemaVersion, time.Now().UTC()} }

func (e *events) write(event any) { _ = e.enc.Encode(event) }

// observe tells what changed, and once a second how far the fetch is.
func (e *events) observe(p mars.Progress) {
	if e == nil {
		return
	}
	if !e.resolved && p.Size >= 0 {
		e.resolved = true
		e.write(phaseEvent{head: e.head("phase"), Phase: "transfer", Size: &p.Size})
	}
	for _, f := range p.Faces {
		key, state := pathKey(f), pathState(f)
		if e.states[key] == state {
			continue
		}
		e.states[key] = state
		event := "path_up"
		if state != stateUp {
			event = "path_down"
		}
		e.write(pathEvent{e.head(event), f.Name, f.PeerName(), state})
	}
	e.rates.note(p)
	if p.Elapsed-e.told >= time.Second {
		e.progress(p)
	}
}

func (e *events) progress(p mars.Progress) {
	e.told = p.Elapsed
	ev := progressEvent{
		e.head("progress"), p.Bytes, p.Size, p.Resumed, p.Corrupt, p.Resent, p.Elapsed.Seconds(), megabits(e.rates.all.rate()),
		make([]progressPath, 0, len(p.Faces)),
	}
	for _, f := range p.Faces {
		ev.Paths = append(ev.Paths, progressPath{
			f.Name, f.PeerName(), pathState(f), f.ContentIn, megabits(e.rates.paths[pathKey(f)].rate()), f.RTT,
		})
	}
	e.write(ev)
}

// complete tells the result.
func (e *events) complete(res *mars.FetchResult, file string) {
	if e == nil {
		return
	}
	e.progress(res.Progress)
	digest := fmt.Sprintf("%x", res.Digest)
	if !res.Unverified {
		e.write(verifyEvent{e.head("verify"), true, res.Bytes, res.Corrupt, digest})
	}
	ev := completeEvent{
		e.head("complete"), res.Name, file, !res.Unverified, res.Bytes, res.Resumed, res.Elapsed.Seconds(),
		completePaths(res.Progress), fetchedRate(res.Progress) / 1e6, digest, fmt.Sprintf("%016x", res.Version),
		res.Signer.String(),
	}
	e.write(ev)
}

func completePaths(p mars.Progress) []completePath {
	paths := make([]completePath, 0, len(p.Faces))
	for _, f := range p.Faces {
		paths = append(paths, completePath{f.Name, f.PeerName(), f.ContentIn, goodput(f, p.Elapsed) / 1e6})
	}
	return paths
}

// item tells the fate of one of many.
func (e *events) item(i mars.Item, dryRun bool) {
	if e == nil {
		return
	}
	ev := itemEvent{
		head: e.head("item"), Name: i.Name, File: utf8Text(i.File), Kind: entryKind(i.Entry), Bytes: i.Size, Present: i.Present, DryRun: dryRun,
		Digest: digestText(i.Entry), Signer: i.Signer.String(),
	}
	if i.Err != nil {
		ev.Error = &itemError{mars.ErrorCode(i.Err), i.Err.Error(), nextStep(i.Err)}
	}
	e.write(ev)
}

// summary tells the result of a fetch of many.
func (e *events) summary(p *mars.Progress, dryRun bool) {
	if e == nil {
		return
	}
	if !dryRun {
		e.progress(*p)
	}
	e.write(summaryEvent{
		e.head("summary"), dryRun, p.Files.Done, p.Files.Present, p.Files.Failed, p.Bytes, p.Size, p.Resumed, p.Elapsed.Seconds(),
		completePaths(*p), fetchedRate(*p) / 1e6,
	})
}

// entry tells one entry of a directory.
func (e *events) entry(x mars.Entry) {
	if e == nil {
		return
	}
	ev := entryEvent{head: e.head("entry"), Name: x.Name, Base: utf8Text(x.Base), Kind: entryKind(x), Size: x.Size, Digest: digestText(x), Signer: x.Signer.String()}
	if !x.Modified.IsZero() {
		at := x.Modified.UTC()
		ev.Modified = &at
	}
	e.write(ev)
}

func entryKind(e mars.Entry) string {
	if e.Directory {
		return "directory"
	}
	return "file"
}

func digestText(e mars.Entry) string {
	if !e.HasDigest {
		return ""
	}
	return fmt.Sprintf("%x", e.Digest)
}

// utf8Text replaces bytes that JSON can't hold; the name of the object, in its URI, has them all.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// fail tells the error with which the fetch ended.
func (e *events) fail(err error) {
	if e != nil {
		e.write(errorEvent{e.head("error"), mars.ErrorCode(err), mars.ExitCode(err), err.Error(), nextStep(err)})
	}
}

// megabits converts bytes per second to Mbit/s.
func megabits(bytesPerSecond float64) float64 { return 8 * bytesPerSecond / 1e6 }
