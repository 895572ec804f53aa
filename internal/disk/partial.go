package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"mars/internal/planted"
	"mars/internal/wire"
)

// flushEvery bounds the chunks written and not yet journalled: 2 MB at the default chunk size.
const flushEvery = 256

// Partial is the destination of one fetch. Chunks go to a sparse file beside the destination ("<dest>.mars-part"), and
// a journal ("<dest>.mars-journal") tells which of them were written; Finish puts the file in its place.
//
// What the journal tells are claims: after a power cut the journal may have reached the disk and the chunk may not, and
// anybody may have edited the partial file since. So a chunk counts only once it was written or passed Verify in this
// session, and Finish refuses to go on before all do. A kill loses only what was not flushed.
//
// Methods may be called from several goroutines, but a chunk must have one writer at a time.
type Partial struct {
	id            Identity
	chunks        int64
	at            target
	part, journal *os.File
	created       bool // the partial file was not there
	blank         bool // nothing but chunks of this session was ever written to it
	discarded     error
	mtime         int64     // that the file is to have, ns since 1970; 0: none in particular
	buffers       sync.Pool // *[]byte of one chunk, for Verify

	mu      sync.Mutex
	claimed bitmap // in the journal when it was opened, and not disproved since
	done    bitmap // written or verified in this session
	pending []run  // done and not journalled
	waiting int    // chunks in pending
	seed    uint32 // CRC of the journal's header
	end     int64  // length of the journal
	closed  bool
	seen    stamp // the partial file after our last change of it

	tap func(change) // of tests: told of every change of the two files before it is made
}

// OpenPartial opens the partial file of dest for the content that id names, and continues what an earlier fetch of the
// same content left there; what was left of other content is discarded (see Resumed). It fails before any transfer with
// ErrLocked, ErrIsDirectory, ErrNotRegular, ErrDiskFull, or a system error such as fs.ErrPermission.
func OpenPartial(dest string, id Identity) (*Partial, error) {
	if err := Reserved(dest); err != nil {
		return nil, err
	}
	at, err := findTarget(dest)
	if err != nil {
		return nil, err
	}
	if at.folder, err = openFolder(filepath.Dir(at.path)); err != nil {
		return nil, err
	}
	return openPartial(at, id)
}

// openPartial owns the target's folder from now on.
func openPartial(at target, id Identity) (_ *Partial, err error) {
	if err := errors.Join(id.Validate(), at.checkSize(id.Layout)); err != nil {
		return nil, errors.Join(err, at.close())
	}
	p := &Partial{id: id, chunks: id.Chunks(), at: at}
	p.buffers.New = func() any { b := make([]byte, 0, id.ChunkSize); return &b }
	if p.journal, err = at.openLocked(at.journal(), 0o600); err != nil {
		return nil, errors.Join(err, at.close())
	}
	p.claimed, p.done = newBitmap(p.chunks), newBitmap(p.chunks)
	if err := p.open(); err != nil {
		p.closed = true
		if info, statErr := p.journal.Stat(); statErr == nil && info.Size() == 0 && !p.created {
			_ = at.remove(at.journal()) // we made it, and it says nothing
		}
		return nil, errors.Join(err, p.release(p.created))
	}
	return p, nil
}

// open brings the two files and the claims in line with the identity.
func (p *Partial) open() error {
	if err := p.openPart(); err != nil {
		return err
	}
	if err := p.single(); err != nil {
		return err
	}
	why, err := p.readJournal()
	switch {
	case err != nil:
		return err
	case p.created: // whatever the journal says, nothing is there
		return p.reset()
	case why == nil:
		return errors.Join(explain(p.truncate(p.part, p.id.Size)), p.see())
	case !errors.Is(why, errNoJournal):
		p.discarded = why
	}
	return p.reset()
}

// openPart opens the partial file. It never follows a link: the directory may be writable by others.
func (p *Partial) openPart() (err error) {
	p.part, err = p.at.open(p.at.part(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		p.part, err = p.at.open(p.at.part(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		p.created = err == nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(regular(p.part), lock(p.part)); err != nil { // the journal's lock doesn't keep out Dest.Put
		return err
	}
	if p.at.exists { // before the first byte: the content may be as private as what it replaces
		return p.part.Chmod(p.at.mode)
	}
	return nil
}

// readJournal takes the claims of a journal that is about the same content. why says what speaks against that.
func (p *Partial) readJournal() (why, err error) {
	id, seed, n, err := readHeader(p.journal)
	switch {
	case errors.Is(err, errNoJournal), errors.Is(err, errJournalFormat), errors.Is(err, errJournalHeader):
		return err, nil
	case err != nil:
		return nil, err
	case !id.sameContent(p.id):
		return fmt.Errorf("the partial file was of %s version %016x", id.Name, id.Version), nil
	}
	good, err := readRecords(p.journal, seed, p.chunks, func(r run) { p.claimed.setRange(r.first, r.count) })
	if err != nil {
		return nil, err
	}
	p.seed, p.end = seed, int64(n)+good
	return nil, p.truncate(p.journal, p.end)
}

// Reset discards all claims and chunks: the next fetch starts from nothing.
func (p *Partial) Reset() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fs.ErrClosed
	}
	return p.reset()
}

func (p *Partial) reset() error {
	p.claimed.reset()
	p.done.reset()
	p.blank = true
	p.pending, p.waiting = p.pending[:0], 0
	header := appendHeader(nil, p.id)
	for _, step := range []func() error{
		func() error { return p.truncate(p.journal, 0) },
		func() error { return p.writeAt(p.journal, header, 0) },
		func() error { return p.truncate(p.part, 0) },
		func() error { return p.truncate(p.part, p.id.Size) },
	} {
		if err := step(); err != nil {
			return explain(err)
		}
	}
	_, p.seed, _, _ = readHeader(bytes.NewReader(header))
	p.end = int64(len(header))
	return p.see()
}

// Resumed returns how many chunks the journal claims to be there, and, if the remains of another content or a damaged
// journal had to be discarded, a non-nil error that says which.
func (p *Partial) Resumed() (claims int64, discarded error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claimed.count, p.discarded
}

// Path is the destination, with symbolic links resolved.
func (p *Partial) Path() string { return p.at.path }

// Claimed reports whether the journal claims chunk i and Verify hasn't refuted it.
func (p *Partial) Claimed(i int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return i >= 0 && i < p.chunks && p.claimed.has(i)
}

// Done reports whether chunk i was written or verified in this session.
func (p *Partial) Done(i int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return i >= 0 && i < p.chunks && p.done.has(i)
}

// WriteChunk writes chunk i, whose bytes the caller has verified. The journal's record of it is written with those of
// up to 255 others, or at the next Flush, whichever is first. After ErrDiskFull or another error the Partial can be
// closed and resumed later.
func (p *Partial) WriteChunk(i int64, data []byte) error {
	if err := p.check(i); err != nil {
		return err
	}
	if len(data) != p.id.ChunkLen(i) {
		return fmt.Errorf("chunk %d has %d bytes, not %d", i, len(data), p.id.ChunkLen(i))
	}
	blank := zero(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fs.ErrClosed
	}
	if p.done.has(i) {
		return nil
	}
	if err := p.guard(); err != nil {
		return err
	}
	if !p.blank || !blank { // what is zero and was never written stays a hole
		if planted.Is(planted.JournalFirst) {
			if err := errors.Join(p.complete(i), p.flush()); err != nil {
				return err
			}
		}
		if err := p.writeAt(p.part, data, i*int64(p.id.ChunkSize)); err != nil {
			return explain(errors.Join(err, p.see()))
		}
		if err := p.see(); err != nil {
			return err
		}
	}
	return p.complete(i)
}

// change is one change of the partial file or the journal: bytes written at an offset, or with nil the new length at.
type change struct {
	journal bool
	at      int64
	bytes   []byte
}

func (p *Partial) writeAt(f *os.File, b []byte, at int64) error {
	if p.tap != nil {
		p.tap(change{f == p.journal, at, b})
	}
	_, err := f.WriteAt(b, at)
	return err
}

func (p *Partial) truncate(f *os.File, size int64) error {
	if p.tap != nil {
		p.tap(change{f == p.journal, size, nil})
	}
	return f.Truncate(size)
}

// zero tells whether b has only zero bytes.
func zero(b []byte) bool {
	for len(b) >= 8 {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// complete counts chunk i as done and sees to its record.
func (p *Partial) complete(i int64) error {
	p.done.set(i)
	if p.claimed.has(i) {
		return nil
	}
	if n := len(p.pending); n > 0 && i == p.pending[n-1].first+p.pending[n-1].count {
		p.pending[n-1].count++
	} else {
		p.pending = append(p.pending, run{i, 1})
	}
	if p.waiting++; p.waiting >= flushEvery {
		return p.flush()
	}
	return nil
}

// Flush writes the records of all chunks written so far, so that a kill doesn't lose them. Call it at least every
// 100 ms while chunks arrive.
func (p *Partial) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fs.ErrClosed
	}
	return p.flush()
}

// flush writes at a known place instead of appending, so that a half-written batch is overwritten by the next try.
func (p *Partial) flush() error {
	if len(p.pending) == 0 {
		return nil
	}
	p.pending = mergeRuns(p.pending)
	records := make([]byte, 0, len(p.pending)*recordLen)
	for _, r := range p.pending {
		records = appendRecord(records, p.seed, r)
	}
	if err := p.writeAt(p.journal, records, p.end); err != nil {
		return explain(err)
	}
	p.end += int64(len(records))
	p.pending, p.waiting = p.pending[:0], 0
	return nil
}

// ReadChunk appends the bytes of chunk i in the partial file to dst, whatever they are.
func (p *Partial) ReadChunk(dst []byte, i int64) ([]byte, error) {
	if err := p.check(i); err != nil {
		return dst, err
	}
	return readChunk(dst, p.part, p.id.Layout, i)
}

// Verify hashes chunk i in the partial file: if it is what it should be the chunk is done, else the claim is dropped.
func (p *Partial) Verify(i int64, want wire.Digest) (bool, error) {
	buf := p.buffers.Get().(*[]byte)
	defer p.buffers.Put(buf)
	b, err := p.ReadChunk((*buf)[:0], i)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	good := err == nil && sha256.Sum256(b) == want
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return false, fs.ErrClosed
	case !good:
		p.claimed.clear(i)
	case !p.done.has(i):
		return true, p.complete(i)
	}
	return good, nil
}

func (p *Partial) check(i int64) error {
	if i < 0 || i >= p.chunks {
		return fmt.Errorf("chunk %d is outside of 0…%d", i, p.chunks-1)
	}
	return nil
}

// SetTime has Finish give the file a time of its last change, ns since 1970; 0: that of the transfer.
func (p *Partial) SetTime(ns int64) { p.mtime = ns }

// Finish makes the file durable and puts it at its destination with the permission bits of the file that it replaces,
// then removes the journal and closes the Partial. ErrIncomplete if a chunk is neither written nor verified. After
// another error the state is kept, and Finish may be called again.
func (p *Partial) Finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fs.ErrClosed
	}
	if p.done.count != p.chunks {
		return fmt.Errorf("%w: %d of %d chunks are missing, the first is %d", ErrIncomplete, p.chunks-p.done.count, p.chunks, p.done.missing(p.chunks))
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := errors.Join(p.single(), p.guard()); err != nil {
		return err
	}
	if !p.at.holds(p.at.part(), p.part) {
		return fmt.Errorf("partial file %q was removed or replaced while it was written; run the same command again", p.part.Name())
	}
	if err := errors.Join(p.at.setTime(p.at.part(), p.mtime), p.see()); err != nil {
		return err
	}
	if err := p.part.Sync(); err != nil {
		return explain(err)
	}
	if err := p.guard(); err != nil { // making it durable takes long
		return err
	}
	if err := p.at.rename(p.at.part(), p.at.name); err != nil {
		return err
	}
	p.closed = true
	removed := p.at.remove(p.at.journal())
	if errors.Is(removed, fs.ErrNotExist) { // somebody was quicker; the file is in its place all the same
		removed = nil
	}
	return errors.Join(p.at.sync(), removed, p.part.Close(), p.journal.Close(), p.at.close())
}

// Sum256 is the SHA-256 of the file, of which every chunk must be done.
func (p *Partial) Sum256() (sum wire.Digest, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.part, 0, p.id.Size)); err != nil {
		return sum, err
	}
	return wire.Digest(h.Sum(nil)), nil
}

// Discard closes the Partial and removes what it holds.
func (p *Partial) Discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return p.release(true)
}

// Close ends the session and keeps the resumable state; when there is nothing to resume it removes both files. It does
// nothing after Finish.
func (p *Partial) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	err := p.flush()
	return errors.Join(err, p.release(p.claimed.count == 0 && p.done.count == 0))
}

// release closes both files, which gives up the lock; before that it may remove them.
func (p *Partial) release(remove bool) error {
	var errs []error
	if remove {
		errs = append(errs, p.at.remove(p.at.part()), p.at.remove(p.at.journal()))
	}
	if p.part != nil {
		errs = append(errs, p.part.Close())
	}
	return errors.Join(append(errs, p.journal.Close(), p.at.close())...)
}

// readChunk appends chunk i of f to dst; io.EOF or io.ErrUnexpectedEOF if the file is too short.
func readChunk(dst []byte, f *os.File, l wire.Layout, i int64) ([]byte, error) {
	start, n := len(dst), l.ChunkLen(i)
	dst = append(dst, make([]byte, n)...)
	got, err := f.ReadAt(dst[start:], i*int64(l.ChunkSize))
	if got == n {
		err = nil
	}
	return dst[:start+got], err
}
