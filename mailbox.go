package mars

import "sync"

// mailbox is a queue from the node's loop to a goroutine. It takes any number of values, so that the loop never waits, be
// the disk slow or the reader gone; whoever fills it is bounded by other means.
type mailbox[T any] struct {
	filled chan struct{} // holds a token while there are values, and may hold one when there are none

	mu    sync.Mutex
	queue []T
	head  int // values before it are taken
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{filled: make(chan struct{}, 1)} }

func (m *mailbox[T]) put(v T) {
	m.mu.Lock()
	if len(m.queue) == cap(m.queue) && m.head > len(m.queue)/2 {
		n := copy(m.queue, m.queue[m.head:])
		clear(m.queue[n:])
		m.queue, m.head = m.queue[:n], 0
	}
	m.queue = append(m.queue, v)
	m.mu.Unlock()
	m.signal()
}

// take puts up to most values, oldest first, in the place of what dst held. One reader at a time.
func (m *mailbox[T]) take(dst []T, most int) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(dst)
	taken := m.queue[m.head:min(m.head+most, len(m.queue))]
	dst = append(dst[:0], taken...)
	clear(taken)
	m.head += len(taken)
	if m.head == len(m.queue) {
		m.queue, m.head = m.queue[:0], 0
	} else {
		m.signal()
	}
	return dst
}

func (m *mailbox[T]) signal() {
	select {
	case m.filled <- struct{}{}:
	default:
	}
}
