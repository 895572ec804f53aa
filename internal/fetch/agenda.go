package fetch

import "mars/internal/machine"

// agenda is a binary heap of things that wait for a moment, earliest first. Each knows its place in it, so that it can
// move or leave from anywhere; none is in two agendas of its kind.
type agenda[T waiter] struct{ heap []T }

type waiter interface {
	comparable
	due() (at machine.Time, tie uint64)
	place() *int // position in the heap from 1; 0: not there
}

// at is when the first is due; Never if there is none.
func (a *agenda[T]) at() machine.Time {
	if len(a.heap) == 0 {
		return machine.Never
	}
	at, _ := a.heap[0].due()
	return at
}

// ready tells whether the first is due by now.
func (a *agenda[T]) ready(now machine.Time) bool { return len(a.heap) > 0 && a.at() <= now }

// first is the earliest, which there must be.
func (a *agenda[T]) first() T { return a.heap[0] }

// put enters x, or moves it to where it belongs now.
func (a *agenda[T]) put(x T) {
	if *x.place() == 0 {
		a.heap = append(a.heap, x)
		*x.place() = len(a.heap)
	}
	a.down(a.up(*x.place() - 1))
}

// remove takes x out, if it is there.
func (a *agenda[T]) remove(x T) {
	i, last := *x.place()-1, len(a.heap)-1
	if i < 0 {
		return
	}
	a.swap(i, last)
	var none T
	a.heap[last] = none
	a.heap = a.heap[:last]
	*x.place() = 0
	if i < last {
		a.down(a.up(i))
	}
}

func (a *agenda[T]) less(i, j int) bool {
	at, tie := a.heap[i].due()
	otherAt, otherTie := a.heap[j].due()
	return at < otherAt || at == otherAt && tie < otherTie
}

func (a *agenda[T]) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	*a.heap[i].place(), *a.heap[j].place() = i+1, j+1
}

func (a *agenda[T]) up(i int) int {
	for i > 0 && a.less(i, (i-1)/2) {
		a.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (a *agenda[T]) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(a.heap); c++ {
			if a.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}
