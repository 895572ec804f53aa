package wire

// Error is the reason why bytes are not a packet. It is small and comparable, so that drops can be counted by reason.
type Error uint8

// The reasons.
const (
	ErrTruncated Error = iota + 1 // an element ends after its container
	ErrNumber                     // a VAR-NUMBER that is not in shortest form, or an integer of a length other than 1, 2, 4, 8
	ErrType                       // type 0, a type past 32 bits, or another packet type than expected
	ErrTrailing                   // bytes after the packet
	ErrOrder                      // a known critical element repeated or out of place
	ErrCritical                   // an unknown element that must not be ignored
	ErrMissing                    // a required element is absent
	ErrLength                     // a value of the wrong length
	ErrName                       // not a legal name in this place
	ErrFragment                   // impossible fragment numbers, or a whole fragment that is neither Interest nor Data
	ErrValue                      // a value that contradicts another, or with a reserved bit set
)

var reasons = [...]string{
	ErrTruncated: "truncated element",
	ErrNumber:    "malformed number",
	ErrType:      "illegal or unexpected type",
	ErrTrailing:  "trailing bytes",
	ErrOrder:     "element out of order",
	ErrCritical:  "unknown critical element",
	ErrMissing:   "required element missing",
	ErrLength:    "value of wrong length",
	ErrName:      "illegal name",
	ErrFragment:  "illegal fragment",
	ErrValue:     "inconsistent value",
}

// Error returns the reason in a few words.
func (e Error) Error() string {
	if int(e) < len(reasons) && reasons[e] != "" {
		return "wire: " + reasons[e]
	}
	return "wire: unknown error"
}
