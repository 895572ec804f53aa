// Package planted names the bugs that can be planted in the protocol code, so that a test can show that the swarm finds them.
// They exist in builds with the tag "planted" only: without it Is is a constant false, and the compiler leaves them out.
package planted

// Bug is one bug; None is none.
type Bug int

// The bugs.
const (
	None          Bug = iota
	LabelCheckOff     // discovery accepts Interests that go uphill
	PITLeak           // an Interest that expires stays in the PIT
	DoubleChunk       // a chunk is handed to the application twice
	StaleEpoch        // an epoch that was forgotten is joined again
	FlagsFall         // convergence flags are taken back
	RepairedDelay     // round trips are taken from Interests that were sent twice
	SameDeadFace      // a retransmission goes to the face that lost it
	ChargeLost        // what was in flight on a face is forgotten when its Interests go elsewhere
	NonceCheckOff     // an Interest that came back is taken for another
	ProbeTimerOff     // a new epoch sets no timer for its probes
	FlightLeak        // lost Interests count as in flight for ever
	QueueLeak         // an Interest that ends while it waits stays counted in its queue
	QueueOverflow     // an Interest queue has no end
	FragmentMix       // fragments of different packets are put together
	StretchOff        // Interests go where the producer is farther than they may go
	JournalFirst      // the journal tells of a chunk before it is written; found by the crashes of internal/disk, for the swarm has no disks
	bugs
)

var names = [bugs]string{
	"none", "label-check-off", "pit-leak", "double-chunk", "stale-epoch", "flags-fall", "repaired-delay", "same-dead-face",
	"charge-lost", "nonce-check-off", "probe-timer-off", "flight-leak", "queue-leak", "queue-overflow", "fragment-mix",
	"stretch-off", "journal-first",
}

func (b Bug) String() string { return names[b] }

// All lists the bugs of the protocol code, which the swarm must find.
func All() (all []Bug) {
	for b := None + 1; b < JournalFirst; b++ {
		all = append(all, b)
	}
	return all
}
