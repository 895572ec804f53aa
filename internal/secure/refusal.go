package secure

import "errors"

// ErrUnknown says that nothing speaks for a key.
var ErrUnknown = errors.New("nobody here knows the key")

// Refusal is why a peer that proved its key isn't welcome, in words for both sides' logs: its certificate has expired,
// was revoked, or is another operator's.
type Refusal struct {
	Reason string // at most 200 bytes
}

func (r *Refusal) Error() string { return r.Reason }
