package mars

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"mars/internal/disk"
	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/wire"
)

// BatchOptions says which objects and directories to fetch.
type BatchOptions struct {
	// Names are NDN URIs. One that ends with a slash is a directory, and stands for all that is below it.
	Names []string
	// Dir is the directory in which each of Names appears under its last component; it is created if it is missing.
	Dir string
	// Flat: Names is one directory, and what is in it appears in Dir itself.
	Flat bool
	// Look: nothing is fetched; Item is told what would be.
	Look bool
	// Fresh: files that are there already are fetched again, and what earlier fetches left of others is thrown away.
	Fresh bool
	// Signers says who may sign what is fetched; what somebody else has signed fails with ErrUntrusted.
	Signers Signers
	// Stall is how long each object may be without progress before ErrTimeout; 0: 30 s.
	Stall time.Duration
	// Retry is how often each object is tried again, with growing pauses, after a failure that may pass (exit code 5).
	Retry int
	// Progress, if set, is called about ten times a second, and at the end.
	Progress func(Progress)
	// Item, if set, is called for each file and directory when it is done, by one goroutine at a time.
	Item func(Item)
}

// Item is the fate of one file or directory of a batch.
type Item struct {
	Entry
	File    string // its path below BatchOptions.Dir
	Present bool   // it was there already, with this content
	Err     error
}

// Files counts the objects of a batch.
type Files struct {
	Known   int // so far: directories that aren't listed yet may hold more
	Done    int // at their destination, those that were there already too
	Present int // of these, there already
	Failed  int // files and directories
}

// Bounds of what a batch does at once: enough to fill a long path with small files.
const (
	minRunning = 16      // objects, at first: one more with each that ends well, until nothing waits for a round trip
	maxRunning = 192     // objects
	maxWanted  = 8 << 20 // bytes of them, unless it is one
	maxLarge   = 6       // of them with a journal: each takes three descriptors, so that there are fewer if those are few
)

// FetchAll fetches many objects, with many under way at once. One that fails doesn't end the others; the error then counts
// the failures and is of the gravest one's kind. The result is never nil, unless the options make no sense.
func (n *Node) FetchAll(ctx context.Context, o BatchOptions) (*Progress, error) {
	b := &batch{n: n, o: &o, ended: make(chan outcome, maxRunning), live: make(map[*transfer]struct{}), room: minRunning, most: disk.Share(maxLarge, 16), start: time.Now()}
	if err := b.plan(); err != nil {
		return nil, err
	}
	if !o.Look {
		dest, err := disk.OpenDest(o.Dir)
		if err != nil {
			return nil, fetchError(b.first[0].Name, err)
		}
		defer dest.Close()
		b.dest = dest
	}
	b.loop(ctx)
	return &b.sum, b.result(ctx)
}

// batch is one FetchAll.
type batch struct {
	n    *Node
	o    *BatchOptions
	dest *disk.Dest

	first   []job     // what the caller named
	open    []*opened // directories that are listed and not walked through yet, the deepest last
	waiting *job      // the next one, which there is no room for
	ended   chan outcome
	running int
	room    int   // for so many
	wanted  int64 // bytes of what is running
	large   int
	most    int // of them
	written bool
	worst   error

	start time.Time
	sum   Progress

	spare sync.Pool // see destStore

	mu   sync.Mutex
	live map[*transfer]struct{}
}

// job is one object or directory to be fetched.
type job struct {
	Item
	name wire.Name
	size int64 // that it counts with
	bare bool  // named by the caller: nobody has told its size
}

// opened is a directory that is being walked through.
type opened struct {
	name wire.Name
	file string
	by   PublicKey // who signed the listing
	rest wire.Listing
}

// outcome is how a job ended.
type outcome struct {
	job
	list  wire.Listing
	stats fetch.Stats
}

// plan makes the first jobs.
func (b *batch) plan() error {
	taken := make(map[string]string)
	for _, uri := range b.o.Names {
		name, err := objectName(uri)
		if err != nil {
			return err
		}
		last, _ := name.At(name.Len() - 1)
		j := job{name: name, bare: true, Item: Item{Entry: Entry{Name: name.String(), Base: string(last.Value), Directory: uri[len(uri)-1] == '/'}}}
		switch {
		case b.o.Flat && (len(b.o.Names) != 1 || !j.Directory):
			return UsageError(errors.New("only one directory can become the destination directory itself"))
		case b.o.Flat:
		case last.Type != wire.TypeGeneric || disk.CheckElement(last.Value) != nil:
			return UsageError(fmt.Errorf("the last part of %s can't be a file name", uri))
		case taken[j.Base] != "":
			return UsageError(fmt.Errorf("%s and %s would both become %q", taken[j.Base], uri, j.Base))
		default:
			taken[j.Base], j.File = uri, j.Base
		}
		b.first = append(b.first, j)
		if !j.Directory {
			b.sum.Files.Known++
		}
	}
	if len(b.first) == 0 {
		return UsageError(errors.New("there is nothing to fetch"))
	}
	return nil
}

// loop runs jobs until there are none, or until ctx ends.
func (b *batch) loop(ctx context.Context) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		for ctx.Err() == nil {
			j := b.next()
			if j == nil {
				break
			}
			b.running++
			b.wanted += j.size
			if j.size > smallFile {
				b.large++
			}
			go func() { b.ended <- b.do(ctx, *j) }()
		}
		if b.running == 0 {
			break
		}
		select {
		case out := <-b.ended:
			b.took(ctx, out)
		case <-tick.C:
			b.tell()
		}
	}
	if b.written && b.worst == nil && ctx.Err() == nil {
		if err := b.dest.Sync(); err != nil {
			b.worst = fetchError(b.first[0].Name, err)
		}
	}
	b.tell()
}

// next takes the next job that there is room for; nil: none.
func (b *batch) next() *job {
	j := b.waiting
	if j == nil {
		j = b.pull()
	}
	b.waiting = nil
	if j != nil && b.running > 0 && (b.running >= b.room || b.wanted+j.size > maxWanted || j.size > smallFile && b.large >= b.most) {
		b.waiting, j = j, nil
	}
	return j
}

// pull takes the next entry of the deepest directory.
func (b *batch) pull() *job {
	for len(b.open) > 0 {
		d := b.open[len(b.open)-1]
		e, rest, ok, _ := d.rest.Next() // it was checked
		if !ok {
			b.open = b.open[:len(b.open)-1]
			continue
		}
		d.rest = rest
		next := entryOf(d.name, e)
		next.Signer = d.by
		return &job{
			Item: Item{Entry: next, File: path.Join(d.file, string(e.Name))},
			name: d.name.Clone().Append(wire.TypeGeneric, e.Name), size: e.Size,
		}
	}
	if len(b.first) == 0 {
		return nil
	}
	j := b.first[0]
	b.first = b.first[1:]
	return &j
}

// do fetches one object or listing, on a goroutine of its own.
func (b *batch) do(ctx context.Context, j job) (out outcome) {
	out.job = j
	if !(b.o.Flat && j.File == "") {
		if err := disk.CheckElement([]byte(j.Base)); err != nil { // from a listing: path.Join must never see it
			out.Err = &Error{Op: "get " + j.Name, Err: err, Next: "tell whoever runs the producer: no file can have that name"}
			return out
		}
	}
	err := b.n.persist(ctx, j.Name, b.o.Retry, func() error {
		var err error
		switch {
		case j.Directory:
			if out.list, out.Signer, err = b.n.listing(ctx, j.name, b.o.Stall, b.o.Signers); err == nil && !b.o.Look {
				err = b.dest.Mkdir(j.File)
			}
		case !b.o.Look:
			err = b.file(ctx, &out)
		case j.bare:
			out.Entry, err = b.n.look(ctx, j.name, b.o.Stall, b.o.Signers)
		}
		if err != nil {
			return fetchError(j.Name, err)
		}
		return nil
	})
	out.Err = err
	return out
}

// file fetches one file.
func (b *batch) file(ctx context.Context, out *outcome) error {
	if !b.o.Fresh && !out.bare && !out.Modified.IsZero() && b.dest.Unchanged(out.File, out.Size, out.Modified.UnixNano()) {
		out.Present = true // as rsync judges it; nobody is asked
		return nil
	}
	st := &destStore{dir: b.dest, file: out.File, spare: &b.spare, fileStore: fileStore{fresh: b.o.Fresh}}
	t, err := b.n.begin(fetch.Request{Name: out.name, Stall: machine.Time(b.o.Stall), Trust: b.n.trusting(b.o.Signers)}, st)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.live[t] = struct{}{}
	b.mu.Unlock()
	err = t.run(ctx)
	b.mu.Lock()
	delete(b.live, t)
	b.mu.Unlock()
	out.stats, _ = t.end()
	if o := t.object(); o != nil && err == nil {
		out.Size, out.Digest, out.HasDigest, out.Present = o.Layout.Size, o.Digest, true, t.sink.whole
		out.Signer = signer(o)
	}
	return err
}
