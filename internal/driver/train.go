package driver

const (
	// trainBytes bounds a train, and is the largest UDP payload over IPv4.
	trainBytes = 65_507
	// trainDatagrams bounds what one face sends before the others get their turn, and is what every kernel that segments
	// takes in one go (UDP_MAX_SEGMENTS).
	trainDatagrams = 64
	// runBytes bounds what leaves in one piece: with headers it must stay below a device's gso_max_size, usually 65,536,
	// or the kernel cuts it at once.
	runBytes = 65_000
)

// A train is a run of datagrams of one face, back to back in memory so that equal ones can leave in one piece.
type train struct {
	buf   []byte
	ends  []int // end of each datagram in buf
	first int   // the first one that is not sent yet
}

func newTrain() *train {
	return &train{buf: make([]byte, trainBytes), ends: make([]int, 0, trainDatagrams)}
}

func (t *train) reset() { t.ends, t.first = t.ends[:0], 0 }

func (t *train) count() int { return len(t.ends) }

// done says whether nothing is left to send.
func (t *train) done() bool { return t.first == len(t.ends) }

// start is where datagram i begins; start(count()) is where the next one will.
func (t *train) start(i int) int {
	if i == 0 {
		return 0
	}
	return t.ends[i-1]
}

func (t *train) datagram(i int) []byte { return t.buf[t.start(i):t.ends[i]] }

// free is the space behind the last datagram.
func (t *train) free() []byte { return t.buf[t.start(len(t.ends)):] }

// add makes the first n bytes of free a datagram.
func (t *train) add(n int) { t.ends = append(t.ends, t.start(len(t.ends))+n) }

// run returns how many datagrams from i on can leave as one segmented send: equal sizes, only the last may be shorter.
func (t *train) run(i int) int {
	size := t.ends[i] - t.start(i)
	j := i + 1
	for j < len(t.ends) {
		n := t.ends[j] - t.ends[j-1]
		if n > size || n == 0 || t.ends[j]-t.start(i) > runBytes {
			break
		}
		j++
		if n < size {
			break
		}
	}
	return j - i
}
