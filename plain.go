package mars

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mars/cc"
	"mars/internal/disk"
	"mars/internal/driver"
	"mars/internal/foreign"
	"mars/internal/machine"
	"mars/internal/wire"
)

// FetchPlain fetches an object of other NDN software, which has no manifest: segments with a CUBIC window, over one path at a
// time, or with EndpointCC a window per face. Unless SHA256 is given, nothing is verified but that packets came whole, and the result says Unverified. It can't be
// resumed; until the object is complete, it is in "<File>.<random>.mars-plain", which goes when the fetch fails.
func (n *Node) FetchPlain(ctx context.Context, o FetchOptions) (*FetchResult, error) {
	name, err := objectName(o.Name)
	if err != nil {
		return nil, err
	}
	if (o.Writer != nil) == (o.File != "") {
		return nil, UsageError(errors.New("a fetch needs one destination: a file or a writer"))
	}
	if err := CheckEndpointCC(o.EndpointCC); err != nil {
		return nil, err
	}
	start := time.Now()
	res := &FetchResult{Name: name.String(), Unverified: o.SHA256 == nil}
	retries := o.Retry
	if o.Writer != nil {
		retries = 0 // what was written can't be taken back
	}
	n.settle()
	err = n.persist(ctx, o.Name, retries, func() error {
		out, err := newPlainOutput(&o)
		if err == nil {
			err = errors.Join(n.plainTo(ctx, start, name, &o, out, res), out.close())
		}
		if err != nil {
			return fetchError(o.Name, n.strangers(err))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// plainTo runs one fetch from start to end, and tells how far it is.
func (n *Node) plainTo(ctx context.Context, start time.Time, name wire.Name, o *FetchOptions, out *plainOutput, res *FetchResult) error {
	var id foreign.ID
	inbox := newMailbox[foreign.Event]()
	var lanes error
	err := n.driver.Do(func(now machine.Time) {
		r := foreign.Request{Name: name, Stall: machine.Time(o.Stall)}
		if lanes = n.lanes(&r, o.EndpointCC); lanes != nil {
			return
		}
		id = n.foreign.Start(now, r)
		n.inboxes[id] = inbox
		n.node.Touch(now)
	})
	if err = cmp.Or(err, lanes); err != nil {
		return err
	}
	defer n.driver.Post(func(now machine.Time) {
		n.foreign.Cancel(now, id)
		delete(n.inboxes, id)
	})
	res.Progress = Progress{Size: -1}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	var events []foreign.Event
	for over := false; !over; {
		tell := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			tell = true
		case <-inbox.filled:
			events = inbox.take(events, settleAtOnce)
			over, err = n.plainEvents(id, events, out, res)
			if err != nil {
				return err
			}
		}
		if over {
			if err := out.finish(); err != nil {
				return err
			}
			res.Size = res.Bytes
		}
		if !over && !tell {
			continue
		}
		if !n.observePlain(id, res) {
			return driver.ErrClosed
		}
		if res.Elapsed = time.Since(start); o.Progress != nil {
			o.Progress(res.Progress)
		}
	}
	return nil
}

// CheckEndpointCC tells whether FetchOptions.EndpointCC may have a value; the error lists those that it may have.
func CheckEndpointCC(name string) error {
	if name == "" {
		return nil
	}
	if _, err := cc.Lookup(name); err != nil {
		return UsageError(err)
	}
	return nil
}

// lanes has a fetch use a window per face on the way to the object, under a controller. "": it doesn't. It runs on the loop goroutine.
func (n *Node) lanes(r *foreign.Request, controller string) error {
	if controller == "" {
		return nil
	}
	a, err := cc.Lookup(controller)
	if err != nil {
		return UsageError(err)
	}
	for _, h := range n.node.Forwarder().NextHops(r.Name) {
		if _, local := n.node.Forwarder().Face(h.Face); !local && !slices.Contains(r.Faces, h.Face) {
			r.Faces = append(r.Faces, h.Face)
		}
	}
	if n.home != nil {
		return UsageError(errors.New("the faces are those of the node of this host, and it shares them out itself: give each path with --via"))
	}
	if len(r.Faces) == 0 {
		return foreign.ErrNoRoute
	}
	r.Coupled, err = a.New(wire.ChunkSize)
	return err
}

// plainEvents stores what came; it tells whether that was all.
func (n *Node) plainEvents(id foreign.ID, events []foreign.Event, out *plainOutput, res *FetchResult) (over bool, err error) {
	var spent [][]byte
	defer func() {
		n.driver.Post(func(now machine.Time) {
			for _, b := range spent {
				n.foreign.Settle(now, id, b)
			}
			n.node.Touch(now)
		})
	}()
	for _, ev := range events {
		switch ev.Kind {
		case foreign.Found:
			res.Size = ev.Size
			if c, ok := ev.Name.At(ev.Name.Len() - 1); ok && c.Type == wire.TypeVersion {
				res.Version, _ = c.Number()
			}
		case foreign.Segment:
			if _, err := out.w.Write(ev.Data); err != nil {
				return false, fmt.Errorf("write output: %w", err)
			}
			res.Bytes += int64(len(ev.Data))
			spent = append(spent, ev.Data)
		case foreign.Done:
			return true, nil
		case foreign.Failed:
			return false, ev.Err
		}
	}
	return false, nil
}

// observePlain fills in the progress of a fetch; false: the node has ended.
func (n *Node) observePlain(id foreign.ID, res *FetchResult) bool {
	var s foreign.Stats
	if n.driver.Do(func(machine.Time) { s = n.foreign.Stats(id) }) != nil {
		return false
	}
	res.Corrupt, res.Resent, res.RTT = int64(s.Corrupt), s.Resent, time.Duration(s.RTT)
	faces, err := n.Status()
	res.Faces = faces
	return err == nil
}

// plainOutput is where the bytes of an object without a manifest go, in order.
type plainOutput struct {
	w    io.Writer
	sum  *wire.Digest // SHA-256 that the content must have; nil: any
	hash hash.Hash
	dest string
	file *os.File // beside dest; nil: there is none (any more)
}

func newPlainOutput(o *FetchOptions) (*plainOutput, error) {
	p := &plainOutput{w: o.Writer, sum: o.SHA256, dest: o.File}
	if o.File != "" {
		if err := errors.Join(disk.Reserved(o.File), disk.CheckDestination(o.File)); err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(o.File); err == nil {
			p.dest = real // the rename would replace a symbolic link
		}
		var random [4]byte
		if _, err := rand.Read(random[:]); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(fmt.Sprintf("%s.%x%s", p.dest, random, disk.PlainSuffix), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		p.w, p.file = f, f
	}
	if p.sum != nil {
		p.hash = sha256.New()
		p.w = io.MultiWriter(p.w, p.hash)
	}
	return p, nil
}

// finish makes the file appear in its place.
func (p *plainOutput) finish() error {
	if p.sum != nil {
		if err := checkSum(wire.Digest(p.hash.Sum(nil)), p.sum); err != nil {
			return err
		}
	}
	if p.file == nil {
		return nil
	}
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.dest); err != nil {
		return err
	}
	p.file = nil
	return nil
}

// close removes what didn't become complete.
func (p *plainOutput) close() error {
	if p.file == nil {
		return nil
	}
	_ = p.file.Close() // finish may have
	return os.Remove(p.file.Name())
}
