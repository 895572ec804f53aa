package forward

import "mars/internal/machine"

// nearFaces bounds the faces of one kind that a table keeps in a slice.
const nearFaces = 256

// table finds what belongs to a face, once or twice per packet. Drivers count their faces from 1 and nodes their
// applications from 1<<31, so those that live long are found in two short slices. The numbers of faces that strangers make
// grow without end: a map holds those beyond.
type table[T any] struct {
	near [2][]*T
	far  map[machine.FaceID]*T
}

// split is the slice of a face, and its place there.
func split(id machine.FaceID) (kind, place uint32) { return uint32(id >> 31), uint32(id &^ (1 << 31)) }

// get returns nil for a face that isn't there.
func (t *table[T]) get(id machine.FaceID) *T {
	kind, place := split(id)
	if near := t.near[kind]; uint64(place) < uint64(len(near)) {
		return near[place]
	}
	return t.far[id]
}

// set adds a face; nil removes it.
func (t *table[T]) set(id machine.FaceID, v *T) {
	kind, place := split(id)
	switch {
	case place < nearFaces:
		for uint32(len(t.near[kind])) <= place {
			t.near[kind] = append(t.near[kind], nil)
		}
		t.near[kind][place] = v
	case v == nil:
		delete(t.far, id)
	case t.far == nil:
		t.far = map[machine.FaceID]*T{id: v}
	default:
		t.far[id] = v
	}
}
