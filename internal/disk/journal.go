package disk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"mars/internal/wire"
)

// The journal of a partial file:
//
//	header  "MARSJNL" format(1) chunk-size(4) size(8) version(8) digest(32) name-length(2) name crc32c(4)
//	record  first(8) count(4) crc32c(4)        chunks first … first+count−1 were written
//
// All numbers are big-endian. The CRC of a record continues the header's CRC, so a record left over from another
// object's journal doesn't count. Records are only appended; the good prefix of a torn journal is used.
const (
	journalMagic  = "MARSJNL"
	journalFormat = 1
	headerFixed   = len(journalMagic) + 1 + 4 + 8 + 8 + len(wire.Digest{}) + 2
	recordLen     = 16
)

// Why a journal can't be continued.
var (
	errNoJournal     = errors.New("there is no journal")
	errJournalFormat = errors.New("the journal was written by another release")
	errJournalHeader = errors.New("the journal is damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Identity says which bytes a partial file is to hold.
type Identity struct {
	Name    wire.Name   // the object's name without version; for messages only, so that a mirror can finish a fetch
	Version uint64      // the version that the chunks' names carry
	Digest  wire.Digest // the manifest's digest: what decides whether two partial files are of one content
	wire.Layout
}

// sameContent reports whether chunks of one are chunks of the other.
func (id Identity) sameContent(o Identity) bool {
	return id.Version == o.Version && id.Digest == o.Digest && id.Layout == o.Layout
}

// run is a run of chunks.
type run struct{ first, count int64 }

// appendHeader appends the journal's header; the last four bytes are its CRC.
func appendHeader(dst []byte, id Identity) []byte {
	start := len(dst)
	dst = append(dst, journalMagic...)
	dst = append(dst, journalFormat)
	dst = binary.BigEndian.AppendUint32(dst, uint32(id.ChunkSize))
	dst = binary.BigEndian.AppendUint64(dst, uint64(id.Size))
	dst = binary.BigEndian.AppendUint64(dst, id.Version)
	dst = append(dst, id.Digest[:]...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(id.Name)))
	dst = append(dst, id.Name...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// appendRecord appends one record to a journal whose header has the CRC seed.
func appendRecord(dst []byte, seed uint32, r run) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.first))
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.count))
	return binary.BigEndian.AppendUint32(dst, crc32.Update(seed, castagnoli, dst[start:]))
}

// readHeader reads a journal's header and returns it with its CRC and length. The errors are errNoJournal (nothing
// there), errJournalFormat and errJournalHeader, or the reader's own.
func readHeader(r io.Reader) (id Identity, seed uint32, n int, err error) {
	fixed := make([]byte, headerFixed)
	got, err := io.ReadFull(r, fixed)
	switch {
	case got == 0 && errors.Is(err, io.EOF):
		return id, 0, 0, errNoJournal
	case got > len(journalMagic) && string(fixed[:len(journalMagic)]) == journalMagic && fixed[len(journalMagic)] != journalFormat:
		return id, 0, 0, errJournalFormat
	case err != nil:
		return id, 0, 0, torn(err)
	case string(fixed[:len(journalMagic)]) != journalMagic:
		return id, 0, 0, errJournalHeader
	}
	b := fixed[len(journalMagic)+1:]
	id.ChunkSize = int(binary.BigEndian.Uint32(b))
	id.Size = int64(binary.BigEndian.Uint64(b[4:]))
	id.Version = binary.BigEndian.Uint64(b[12:])
	copy(id.Digest[:], b[20:])
	rest := make([]byte, int(binary.BigEndian.Uint16(b[52:]))+4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return id, 0, 0, torn(err)
	}
	name, sum := rest[:len(rest)-4], binary.BigEndian.Uint32(rest[len(rest)-4:])
	seed = crc32.Update(crc32.Checksum(fixed, castagnoli), castagnoli, name)
	if seed != sum || id.Validate() != nil {
		return id, 0, 0, errJournalHeader
	}
	if id.Name, err = wire.DecodeName(name); err != nil {
		return id, 0, 0, fmt.Errorf("%w: %w", errJournalHeader, err)
	}
	return id, seed, headerFixed + len(rest), nil
}

// torn maps a short read to errJournalHeader.
func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errJournalHeader
	}
	return err
}

// readRecords calls claim for every good record of an object of the given number of chunks, and stops at the first that
// is torn, corrupt or out of range. It returns the length of the good prefix; err is the reader's.
func readRecords(r io.Reader, seed uint32, chunks int64, claim func(run)) (good int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var b [recordLen]byte
	for {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
			return good, err
		}
		if crc32.Update(seed, castagnoli, b[:12]) != binary.BigEndian.Uint32(b[12:]) {
			return good, nil
		}
		first, count := binary.BigEndian.Uint64(b[:]), int64(binary.BigEndian.Uint32(b[8:]))
		if first >= uint64(chunks) || count == 0 || count > chunks-int64(first) {
			return good, nil
		}
		claim(run{int64(first), count})
		good += recordLen
	}
}

// mergeRuns sorts runs and joins those that touch or overlap, in place.
func mergeRuns(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	out := runs[:0]
	for _, r := range runs {
		if n := len(out); n > 0 && r.first <= out[n-1].first+out[n-1].count {
			out[n-1].count = max(out[n-1].count, r.first+r.count-out[n-1].first)
			continue
		}
		out = append(out, r)
	}
	return out
}
