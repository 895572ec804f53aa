package route

// Drop is a reason for which a message, or part of one, or a call was refused.
type Drop uint8

// The reasons.
const (
	UnknownFace       Drop = iota // a message on a face that isn't up
	TooLong                       // message of more than MaxMessage bytes
	OtherVersion                  // message of another version
	Malformed                     // message that doesn't parse
	OwnMessage                    // our own message: the face leads back to us
	Impostor                      // the neighbour has our id and another boot nonce
	Stale                         // message of an adjacency that has been replaced
	OneWay                        // records from a neighbour that doesn't hear us yet
	BadAdvertisement              // advertisement that doesn't parse
	OverBounds                    // advertisement with too many links, prefixes or bytes
	BadSequence                   // sequence number of 2^62 or more
	TooOld                        // advertisement past its age
	Forged                        // Config.Authentic said no
	Unentitled                    // prefix for which Config.Verify said no
	TooManyNodes                  // advertisement of one origin more than Config.MaxNodes
	DatabaseFull                  // advertisement beyond Config.MaxBytes
	TooManyNames                  // advertisement with more prefixes than its bringer may fill Config.MaxPrefixes with
	TooManyNeighbours             // link beyond MaxLinks, left out of our advertisement
	TooManyPrefixes               // prefix that Announce refused
	BadNotice                     // notice that Config.Notice refused
	TooManyNotices                // notice of one topic more than MaxNotices
	numDrops
)

var dropNames = [numDrops]string{
	"unknown face", "too long", "other version", "malformed", "own message", "impostor", "stale", "one-way",
	"bad advertisement", "over bounds", "bad sequence", "too old", "forged", "unentitled", "too many nodes",
	"database full", "too many names", "too many neighbours", "too many prefixes", "bad notice", "too many notices",
}

func (d Drop) String() string { return dropNames[d] }

// Counters tell what a Router has done since it was made.
type Counters struct {
	MessagesIn, MessagesOut uint64
	BytesIn, BytesOut       uint64
	Drops                   [numDrops]uint64 // by Drop

	Accepted      uint64 // advertisements newer than what was held
	Known         uint64 // advertisements that told nothing new
	Expired       uint64 // advertisements that their origin didn't renew
	Issued        uint64 // our own advertisements
	Overtaken     uint64 // times that the overlay held a newer advertisement in our name
	Duplicates    uint64 // of those, the ones that only another live node with our id explains
	Retransmitted uint64 // messages not acknowledged in time
	Lost          uint64 // faces that fell silent
	Pauses        uint64 // times that the process stood still
	Computations  uint64 // of the routing table
}

// Counters returns the counters.
func (r *Router) Counters() Counters { return r.count }

func (r *Router) drop(why Drop) { r.count.Drops[why]++ }
