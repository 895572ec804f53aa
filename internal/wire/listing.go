package wire

import (
	"bytes"
	"errors"
	"math"
)

// KeywordListing names the listing of a directory: /<dest…>/<directory…>/32=listing is an object like any other, and its
// content is one element per entry, ascending by name (protocol.md, "Listing").
const KeywordListing = "listing"

const (
	typeFileEntry      = 0xF590
	typeDirectoryEntry = 0xF592
	typeMTime          = 0xF50C // as NDN file servers have it: ns since 1970
)

// ErrListing is returned for a listing whose entries are malformed, out of order or there twice.
var ErrListing = errors.New("malformed directory listing")

// Entry is one file or directory in a listing.
type Entry struct {
	Name      []byte // value of the generic component that follows the directory's name: any bytes, also unfit for a path
	Directory bool
	Size      int64  // bytes; of files
	MTime     int64  // ns since 1970; 0: not known
	Digest    Digest // of the manifest, if HasDigest: only files that were hashed have one
	HasDigest bool
}

// Append encodes the entry.
func (e *Entry) Append(dst []byte) []byte {
	typ := uint64(typeFileEntry)
	length := TLVLen(TypeGeneric, len(e.Name))
	if e.Directory {
		typ = typeDirectoryEntry
	} else {
		length += TLVLen(typeSize, NaturalLen(uint64(e.Size)))
	}
	if e.MTime > 0 {
		length += TLVLen(typeMTime, NaturalLen(uint64(e.MTime)))
	}
	if e.HasDigest {
		length += TLVLen(typeManifestDigest, digestLen)
	}
	dst = AppendTLV(AppendTL(dst, typ, length), TypeGeneric, e.Name)
	if !e.Directory {
		dst = AppendNaturalTLV(dst, typeSize, uint64(e.Size))
	}
	if e.MTime > 0 {
		dst = AppendNaturalTLV(dst, typeMTime, uint64(e.MTime))
	}
	if e.HasDigest {
		dst = AppendTLV(dst, typeManifestDigest, e.Digest[:])
	}
	return dst
}

// Listing is the content of a directory's listing, or the rest of it.
type Listing []byte

// Check tells whether every entry is well-formed and the names ascend, so that none is there twice. The error is
// ErrListing.
func (l Listing) Check() error {
	var last []byte
	for first := true; ; first = false {
		e, rest, ok, err := l.Next()
		switch {
		case !ok:
			return err
		case !first && bytes.Compare(e.Name, last) <= 0:
			return ErrListing
		}
		last, l = e.Name, rest
	}
}

// Next takes the first entry off; ok is false when there is none. Elements of unknown even types are passed over. Name
// aliases the listing. The error is ErrListing.
func (l Listing) Next() (e Entry, rest Listing, ok bool, err error) {
	for len(l) > 0 {
		typ, value, after, err := ReadTLV(l)
		if err != nil {
			return Entry{}, nil, false, ErrListing
		}
		l = after
		switch typ {
		case typeFileEntry, typeDirectoryEntry:
			e.Directory = typ == typeDirectoryEntry
			if err := e.decode(value); err != nil {
				return Entry{}, nil, false, err
			}
			return e, after, true, nil
		default:
			if misplaced(typ, false) != nil {
				return Entry{}, nil, false, ErrListing
			}
		}
	}
	return Entry{}, nil, false, nil
}

// decode reads the value of an entry's element: types ascend, unknown even ones are passed over.
func (e *Entry) decode(b []byte) error {
	var last uint64
	sized := false
	for len(b) > 0 {
		typ, value, rest, err := ReadTLV(b)
		if err != nil || last == 0 && typ != TypeGeneric || typ <= last {
			return ErrListing
		}
		number, isNumber := Natural(value)
		isNumber = isNumber && number <= math.MaxInt64
		switch {
		case typ == TypeGeneric:
			e.Name = value
		case typ == typeSize && isNumber:
			e.Size, sized = int64(number), true
		case typ == typeMTime && isNumber:
			e.MTime = int64(number)
		case typ == typeManifestDigest && len(value) == digestLen:
			e.Digest, e.HasDigest = Digest(value), true
		case typ == typeSize, typ == typeMTime, typ == typeManifestDigest, misplaced(typ, false) != nil:
			return ErrListing
		}
		last, b = typ, rest
	}
	switch {
	case last == 0 || !e.Directory && !sized:
		return ErrListing
	case e.Directory: // whose size, if somebody gives one, says nothing
		e.Size = 0
	}
	return nil
}
