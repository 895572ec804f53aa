package forward

import "mars/internal/machine"

// wakes is a binary heap of the faces that are to be looked at again at a known time, earliest first (ties by face).
type wakes struct{ heap []*face }

func (w *wakes) less(a, b *face) bool {
	if a.wake != b.wake {
		return a.wake < b.wake
	}
	return a.id < b.id
}

func (w *wakes) deadline() machine.Time {
	if len(w.heap) == 0 {
		return machine.Never
	}
	return w.heap[0].wake
}

func (w *wakes) due(now machine.Time) *face {
	if len(w.heap) == 0 || w.heap[0].wake > now {
		return nil
	}
	return w.heap[0]
}

// update puts fc where its wake time belongs; Never takes it out.
func (w *wakes) update(fc *face) {
	if fc.wake == machine.Never {
		if fc.heap >= 0 {
			i, last := fc.heap, len(w.heap)-1
			w.swap(i, last)
			w.heap = w.heap[:last]
			fc.heap = -1
			if i < last {
				w.down(w.up(i))
			}
		}
		return
	}
	if fc.heap < 0 {
		fc.heap = len(w.heap)
		w.heap = append(w.heap, fc)
	}
	w.down(w.up(fc.heap))
}

func (w *wakes) swap(i, j int) {
	w.heap[i], w.heap[j] = w.heap[j], w.heap[i]
	w.heap[i].heap, w.heap[j].heap = i, j
}

func (w *wakes) up(i int) int {
	for i > 0 && w.less(w.heap[i], w.heap[(i-1)/2]) {
		w.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (w *wakes) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(w.heap); c++ {
			if w.less(w.heap[c], w.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		w.swap(i, least)
		i = least
	}
}
