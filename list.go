package mars

import (
	"context"
	"errors"
	"time"

	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/wire"
)

// Entry is a file or directory that a producer serves.
type Entry struct {
	Name      string // its NDN URI
	Base      string // the last component, as it is: any bytes
	Directory bool
	Size      int64       // bytes; of files
	Modified  time.Time   // zero: not known
	Digest    wire.Digest // of the manifest, if HasDigest
	HasDigest bool
	Signer    PublicKey // who signed the object, or the listing that names it; zero: nobody
}

// maxListing bounds the listing of one directory, bytes: about a million entries.
const maxListing = 64 << 20

// List returns what is in a directory, by name, or if the name is that of a file, the file alone. Errors are those of Fetch.
func (n *Node) List(ctx context.Context, uri string, stall time.Duration) ([]Entry, error) {
	name, err := objectName(uri)
	if err != nil {
		return nil, err
	}
	l, by, err := n.listing(ctx, name, stall, Signers{})
	if errors.Is(err, fetch.ErrNotFound) {
		e, err := n.look(ctx, name, stall, Signers{})
		if err != nil {
			return nil, fetchError(uri, err)
		}
		return []Entry{e}, nil
	}
	if err != nil {
		return nil, fetchError(uri, err)
	}
	var all []Entry
	for {
		e, rest, ok, _ := l.Next() // it was checked
		if !ok {
			return all, nil
		}
		next := entryOf(name, e)
		next.Signer = by
		all, l = append(all, next), rest
	}
}

// listing fetches the listing of a directory.
func (n *Node) listing(ctx context.Context, name wire.Name, stall time.Duration, by Signers) (wire.Listing, PublicKey, error) {
	st := &memoryStore{most: maxListing}
	req := fetch.Request{Name: name.Clone().AppendString(wire.TypeKeyword, wire.KeywordListing), Stall: machine.Time(stall), Trust: n.trusting(by)}
	o, _, err := n.fetchTo(ctx, req, st)
	if err != nil {
		return nil, PublicKey{}, err
	}
	l := wire.Listing(st.content)
	return l, signer(o), l.Check()
}

// look asks for the size and version of an object.
func (n *Node) look(ctx context.Context, name wire.Name, stall time.Duration, by Signers) (Entry, error) {
	o, _, err := n.fetchTo(ctx, fetch.Request{Name: name, Stall: machine.Time(stall), Trust: n.trusting(by)}, &lookStore{})
	if err != nil {
		return Entry{}, err
	}
	last, _ := name.At(name.Len() - 1)
	return Entry{Name: name.String(), Base: string(last.Value), Size: o.Layout.Size, Digest: o.Digest, HasDigest: true, Signer: signer(o)}, nil
}

// entryOf is what a listing's entry says of something in a directory.
func entryOf(directory wire.Name, e wire.Entry) Entry {
	name := directory.Clone().Append(wire.TypeGeneric, e.Name)
	all := Entry{Name: name.String(), Base: string(e.Name), Directory: e.Directory, Size: e.Size, Digest: e.Digest, HasDigest: e.HasDigest}
	if e.MTime > 0 {
		all.Modified = time.Unix(0, e.MTime)
	}
	return all
}
