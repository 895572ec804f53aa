package mars

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"mars/internal/disk"
	"mars/internal/driver"
	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/wire"
)

// FetchOptions says what to fetch and where to.
type FetchOptions struct {
	// Name is the object's NDN URI, "/site/data/file.iso".
	Name string
	// File is the destination. It appears there when it is complete and verified; until then "<File>.mars-part" and
	// "<File>.mars-journal" hold what came, and a later Fetch continues from them.
	File string
	// Writer is the destination instead of File: verified bytes, in order. It can't be resumed.
	Writer io.Writer
	// Fresh: what an earlier fetch left of the file is thrown away.
	Fresh bool
	// Stall is how long to wait without progress before ErrTimeout; 0: 30 s.
	Stall time.Duration
	// Progress, if set, is called about ten times a second, and at the end.
	Progress func(Progress)
	// Discarded, if set, is told why the remains of an earlier fetch were of no use.
	Discarded func(reason error)
}

// Progress is how far a fetch is.
type Progress struct {
	Size    int64         // bytes of the object; −1: not known yet
	Bytes   int64         // of these, verified and stored
	Resumed int64         // of these, verified on disk rather than fetched
	Corrupt int64         // chunks that came with wrong bytes and were fetched again
	Resent  uint64        // Interests sent again
	Elapsed time.Duration // since the call
	RTT     time.Duration // mean of the flow's last round trips, queueing included
	Faces   []FaceStatus  // of the node, in the order of the configuration
}

// FetchResult is what a fetch brought.
type FetchResult struct {
	Progress
	Name    string
	Version uint64 // first 8 bytes of Digest
	Digest  wire.Digest
}

const progressEvery = 100 * time.Millisecond

// Fetch fetches one object. It returns when the object is at its destination, verified, or with an error whose kind is one of
// the Err variables; after an interruption (ctx) the next Fetch to the same File continues. The node must be running.
func (n *Node) Fetch(ctx context.Context, o FetchOptions) (*FetchResult, error) {
	name, err := wire.ParseName(o.Name)
	if err != nil || len(name) == 0 {
		return nil, UsageError(fmt.Errorf("%q is not an object name: write /prefix/path (%w)", o.Name, err))
	}
	var st store
	req := fetch.Request{Name: name, Stall: machine.Time(o.Stall)}
	switch {
	case o.Writer != nil && o.File != "", o.Writer == nil && o.File == "":
		return nil, UsageError(errors.New("a fetch needs one destination: a file or a writer"))
	case o.Writer != nil:
		st, req.MaxAhead = &pipeStore{w: o.Writer}, maxUnsettled
	default:
		st = &fileStore{dest: o.File, fresh: o.Fresh, discarded: o.Discarded}
	}
	res, err := n.fetchTo(ctx, req, st, o.Progress)
	if err != nil {
		return nil, fetchError(o.Name, err)
	}
	return res, nil
}

// fetchTo runs one fetch from start to end.
func (n *Node) fetchTo(ctx context.Context, req fetch.Request, st store, progress func(Progress)) (*FetchResult, error) {
	start := time.Now()
	objects := make(chan fetch.Object, 1)
	var s *sink
	post := func(f func(machine.Time, *fetch.Engine)) {
		n.driver.Post(func(now machine.Time) {
			f(now, n.fetch)
			n.node.Touch(now)
		})
	}
	err := n.driver.Do(func(now machine.Time) {
		s = newSink(n.fetch.Start(now, req), st, post, objects)
		n.sinks[s.id] = s
		n.node.Touch(now)
	})
	if err != nil {
		return nil, err
	}
	defer n.driver.Post(func(now machine.Time) {
		n.fetch.Cancel(now, s.id)
		delete(n.sinks, s.id)
	})
	ended := make(chan error, 1)
	sinkCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { ended <- s.run(sinkCtx) }()

	res := &FetchResult{Name: req.Name.String()}
	res.Size = -1
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-tick.C:
		}
		select {
		case obj := <-objects:
			res.Size, res.Version, res.Digest = obj.Layout.Size, obj.Version, obj.Digest
		default:
		}
		if !n.observe(s.id, res) {
			cancel(driver.ErrClosed)
		}
		res.Elapsed = time.Since(start)
		if over && err == nil {
			res.Bytes = res.Size
		}
		if progress != nil {
			progress(res.Progress)
		}
	}
	return res, err
}

// observe fills in the progress of a fetch; false: the node has ended.
func (n *Node) observe(id fetch.ID, res *FetchResult) bool {
	var s fetch.Stats
	if n.driver.Do(func(machine.Time) { s = n.fetch.Stats(id) }) != nil {
		return false
	}
	if s != (fetch.Stats{}) {
		res.Bytes, res.Resumed, res.Corrupt, res.Resent = s.Bytes, s.Resumed, s.Corrupt, s.Resent
		if s.RTT > 0 { // the flow ends before the fetch does
			res.RTT = time.Duration(s.RTT)
		}
	}
	faces, err := n.Status()
	if err == nil {
		res.Faces = faces
	}
	return err == nil
}

// fetchError gives the errors of the engine and the file side the kinds of this package.
func fetchError(name string, err error) error {
	e := &Error{Op: "get " + name, Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind = ErrInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = ErrDeadline
	case errors.Is(err, fetch.ErrNotFound):
		e.Kind, e.Next = ErrNotFound, "check the name; the producer answers, but has no such file"
	case errors.Is(err, fetch.ErrNoRoute):
		e.Kind, e.Next = ErrNotFound, "check the name's prefix, and that its producer is running: no node on the way knows it"
	case errors.Is(err, fetch.ErrTimeout):
		e.Kind, e.Next = ErrTimeout, "check the addresses after --via (or the faces in the configuration) and that the other side is running; then run the same command again: it resumes"
	case errors.Is(err, fetch.ErrChanged):
		e.Kind = ErrChanged
	case errors.Is(err, fetch.ErrIntegrity), errors.Is(err, fetch.ErrForeign):
		e.Kind = ErrIntegrity
	case errors.Is(err, disk.ErrDiskFull):
		e.Kind = ErrDiskFull
	case errors.Is(err, disk.ErrLocked):
		e.Kind = ErrBusy
	case errors.Is(err, fs.ErrPermission):
		e.Next = "choose a destination that you may write to"
	}
	return e
}
