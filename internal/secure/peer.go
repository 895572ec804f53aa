package secure

import "mars/internal/wire"

// Peer is who is at the other end of a face, or signed something, as far as our policy knows.
type Peer struct {
	Key  PublicKey
	Name string // for people; "": the key is all we know
	// Announce bounds the prefixes that the peer may announce; nil: all.
	Announce []wire.Name
	// Leaf: the peer may not forward for others.
	Leaf bool
	// Expires is when that ends, seconds since 1970; 0: never.
	Expires int64
}

// Admit judges a peer by its key, which it has proved to hold, and its certificate, which may be empty. wall is the
// time, seconds since 1970. ErrUnknown: the peer is to meet silence. A *Refusal: it is told why.
type Admit func(wall int64, key PublicKey, certificate []byte) (Peer, error)
