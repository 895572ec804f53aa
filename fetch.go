package mars

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	// Fresh: what an earlier fetch left of the file is thrown away, and a file that is there already is fetched again.
	Fresh bool
	// SHA256, if set, is what the whole content must hash to; else the fetch fails with ErrIntegrity, and File is not
	// replaced.
	SHA256 *[32]byte
	// Retry is how often to try again, with growing pauses, after a failure that may pass (exit code 5). Not with Writer.
	Retry int
	// Stall is how long to wait without progress before ErrTimeout; 0: 30 s.
	Stall time.Duration
	// EndpointCC, for FetchPlain: one window per face of the node, coupled by this controller of package cc. "": one window, over one path
	// at a time.
	EndpointCC string
	// Signers says who may sign the object; else the fetch fails with ErrUntrusted.
	Signers Signers
	// Progress, if set, is called every so often, and at the end.
	Progress func(Progress)
	Every    time.Duration // of Progress; 0: 100 ms. Not of FetchPlain
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
	Files   Files         // of a fetch of many objects
}

// FetchResult is what a fetch brought.
type FetchResult struct {
	Progress
	Name    string
	Version uint64 // first 8 bytes of Digest
	Digest  wire.Digest
	Present bool      // the file was there already, with this content
	Signer  PublicKey // who signed; zero: nobody

	// Unverified: a FetchPlain without SHA256. Digest is zero then.
	Unverified bool
}

const progressEvery = 100 * time.Millisecond

// Fetch fetches one object. It returns when the object is at its destination, verified, or with an error whose kind is one of
// the Err variables; after an interruption (ctx) the next Fetch to the same File continues. A File that has the object's
// content already is left as it is. The node must be running.
func (n *Node) Fetch(ctx context.Context, o FetchOptions) (*FetchResult, error) {
	name, err := objectName(o.Name)
	if err != nil {
		return nil, err
	}
	if (o.Writer != nil) == (o.File != "") {
		return nil, UsageError(errors.New("a fetch needs one destination: a file or a writer"))
	}
	if o.File != "" {
		if err := disk.CheckDestination(o.File); err != nil {
			return nil, fetchError(o.Name, err)
		}
	}
	start := time.Now()
	res := &FetchResult{Name: name.String()}
	retries := o.Retry
	if o.Writer != nil {
		retries = 0 // what was written can't be taken back
	}
	err = n.persist(ctx, o.Name, retries, func() error {
		var st store
		req := fetch.Request{Name: name, Stall: machine.Time(o.Stall), Trust: n.trusting(o.Signers)}
		if o.Writer != nil {
			st, req.MaxAhead = &pipeStore{w: o.Writer, sum: o.SHA256}, maxUnsettled
		} else {
			st = &fileStore{dest: o.File, fresh: o.Fresh, sum: o.SHA256, discarded: o.Discarded}
		}
		if err := n.fetchOne(ctx, start, req, st, res, o); err != nil {
			return fetchError(o.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// objectName reads the name of an object or a directory.
func objectName(uri string) (wire.Name, error) {
	name, err := wire.ParseName(uri)
	if err == nil && len(name) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, UsageError(fmt.Errorf("%q is not an object name: write /prefix/path (%w)", uri, err))
	}
	return name, nil
}

// fetchOne runs one fetch from start to end, and tells how far it is.
func (n *Node) fetchOne(ctx context.Context, start time.Time, req fetch.Request, st store, res *FetchResult, o FetchOptions) error {
	t, err := n.begin(req, st)
	if err != nil {
		return err
	}
	defer t.end()
	ended := make(chan error, 1)
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { ended <- t.run(runCtx) }()

	res.Size = -1
	tick := time.NewTicker(cmp.Or(o.Every, progressEvery))
	defer tick.Stop()
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-tick.C:
		}
		if obj := t.object(); obj != nil {
			res.Size, res.Version, res.Digest, res.Signer = obj.Layout.Size, obj.Version, obj.Digest, signer(obj)
		}
		if !n.observe(t, res) {
			cancel(driver.ErrClosed)
		}
		res.Elapsed = time.Since(start)
		if over && err == nil {
			res.Bytes, res.Present = res.Size, t.sink.whole
			if res.Present {
				res.Resumed = res.Size
			}
		}
		if o.Progress != nil {
			o.Progress(res.Progress)
		}
	}
	return err
}

// observe fills in the progress of a fetch; false: the node has ended.
func (n *Node) observe(t *transfer, res *FetchResult) bool {
	var s fetch.Stats
	if n.driver.Do(func(machine.Time) { s = n.fetch.Stats(t.sink.id) }) != nil {
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
