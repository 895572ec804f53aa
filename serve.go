package mars

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"mars/internal/disk"
	"mars/internal/driver"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/publish"
	"mars/internal/wire"
)

const (
	// maxRequests bounds the reads and look-ups that a service has under way; more wait in the node's Interest queue.
	maxRequests = 256
	// versionIdle is how long an object that nobody asks for is remembered; the bytes of a replaced file are freed then.
	versionIdle = 5 * 60 * machine.Second
	// sweepEvery is how often idle versions are looked for.
	sweepEvery = 10 * machine.Second
)

// service serves one directory below one prefix: a producer engine in the node, and workers that hash and read.
type service struct {
	prefix wire.Name
	tree   *disk.Tree
	engine *publish.Engine // loop goroutine only
	node   *node.Node
	driver *driver.Driver
	log    *slog.Logger

	reads   chan chunkRequest
	stop    chan struct{}
	workers sync.WaitGroup
	swept   machine.Time
	buffers sync.Pool
	scratch []publish.Request
}

// readers is the number of goroutines that read chunks: one keeps the disk busy while another waits for it.
const readers = 2

func (n *Node) serve(c ServeConfig) error {
	prefix, err := wire.ParseName(c.Prefix)
	if err != nil {
		return err
	}
	tree, err := disk.OpenTree(c.Dir, disk.TreeOptions{ChunkSize: c.Chunk})
	if err != nil {
		return err
	}
	s := &service{
		prefix: prefix, tree: tree, node: n.node, driver: n.driver, log: n.log,
		engine: publish.New(publish.Config{Prefix: prefix, MaxPending: maxRequests, Signer: n.signer}),
		reads:  make(chan chunkRequest, 2*maxRequests), stop: make(chan struct{}),
	}
	n.node.Attach(0, s.engine, prefix)
	n.services = append(n.services, s)
	for range readers {
		s.workers.Go(s.read)
	}
	s.workers.Go(s.prepare)
	return nil
}

// prepare hashes the files of the directory, one after the other, so that the first consumer needn't wait for it. What it
// can't read is told when somebody asks for it.
func (s *service) prepare() {
	_ = s.tree.Walk(func(suffix wire.Name, _ int64) error {
		select {
		case <-s.stop:
			return errors.New("stopped")
		default:
			_, _ = s.tree.Lookup(suffix)
			return nil
		}
	})
}

func (s *service) close() {
	close(s.stop)
	s.tree.Close() // ends hashing under way
	s.workers.Wait()
}

// turn hands the engine's requests to the workers. It runs on the loop goroutine and must not block.
func (s *service) turn(now machine.Time) {
	s.scratch = s.engine.Requests(s.scratch[:0])
	for _, r := range s.scratch {
		if r.Kind == publish.Read {
			// It never blocks: the engine has at most maxRequests under way. The handle goes along since the object is the
			// loop's, which may give it another one.
			s.reads <- chunkRequest{r, r.Object.Handle.(*disk.Version)}
			continue
		}
		s.workers.Go(func() { s.resolve(r) })
	}
	for _, b := range s.engine.Spent(nil) {
		s.buffers.Put(&b)
	}
	if now-s.swept >= sweepEvery {
		s.swept = now
		for _, o := range s.engine.Idle(nil, now-versionIdle) {
			s.engine.Withdraw(now, o)
			o.Handle.(*disk.Version).Close()
		}
	}
}

// resolve finds the current version of an object, hashing the file if it must.
func (s *service) resolve(r publish.Request) {
	v, err := s.lookup(r.Name[len(s.prefix):])
	var o *publish.Object
	switch {
	case err == nil:
		o = &publish.Object{Name: r.Name, Dest: s.prefix, Manifest: v.Manifest, MTime: v.MTime(), Handle: v}
	case errors.Is(err, disk.ErrNotFound), errors.Is(err, disk.ErrIsDirectory), errors.Is(err, disk.ErrNotRegular):
		err = fmt.Errorf("%w: %w", publish.ErrNotFound, err)
	default:
		s.log.Warn("can't serve", "object", r.Name.String(), "err", err)
	}
	s.driver.Post(func(now machine.Time) {
		s.engine.Resolved(now, r.ID, o, err)
		s.node.Touch(now)
	})
}

// lookup finds the file or listing of a directory that a name below the prefix means.
func (s *service) lookup(suffix wire.Name) (*disk.Version, error) {
	last := suffix.Len() - 1
	if c, ok := suffix.At(last); ok && c.Type == wire.TypeKeyword && string(c.Value) == wire.KeywordListing {
		return s.tree.List(suffix.Prefix(last))
	}
	return s.tree.Lookup(suffix)
}

// chunkRequest asks for a chunk of a version.
type chunkRequest struct {
	publish.Request
	version *disk.Version
}

// chunkRead is the answer to one read request.
type chunkRead struct {
	id   uint64
	data []byte
	err  error
}

// read reads chunks until the service ends, handing the loop as many at once as are ready.
func (s *service) read() {
	for {
		var batch []chunkRead
		select {
		case <-s.stop:
			return
		case r := <-s.reads:
			batch = append(batch, s.readOne(r))
		}
		const most = 32
	more:
		for len(batch) < most {
			select {
			case r := <-s.reads:
				batch = append(batch, s.readOne(r))
			default:
				break more
			}
		}
		s.driver.Post(func(now machine.Time) {
			for _, c := range batch {
				s.engine.Read(now, c.id, c.data, c.err)
			}
			s.node.Touch(now)
		})
	}
}

func (s *service) readOne(r chunkRequest) chunkRead {
	var buf []byte
	if b, ok := s.buffers.Get().(*[]byte); ok {
		buf = (*b)[:0]
	}
	data, err := r.version.ReadChunk(buf, r.Chunk)
	if errors.Is(err, disk.ErrGone) {
		_ = r.version.Close() // the bytes are of no use, and what space they take is free again
		err = fmt.Errorf("%w: %w", publish.ErrGone, err)
	} else if err != nil {
		s.log.Warn("read failed", "object", r.Object.Name.String(), "chunk", r.Chunk, "err", err)
	}
	return chunkRead{r.ID, data, err}
}
