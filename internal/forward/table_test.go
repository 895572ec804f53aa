package forward

import (
	"testing"

	"mars/internal/machine"
)

// Near and far faces of both kinds are found until they are removed, and none takes the place of another.
func TestTable(t *testing.T) {
	var faces table[machine.FaceID]
	ids := []machine.FaceID{1, 2, nearFaces - 1, nearFaces, nearFaces + 1, 1<<31 - 1, 1 << 31, 1<<31 + 2, 1<<31 + nearFaces, 1<<32 - 1}
	for _, id := range ids {
		if faces.get(id) != nil {
			t.Errorf("face %d is there before it was added", id)
		}
		faces.set(id, &id)
	}
	for _, id := range ids {
		if got := faces.get(id); got == nil || *got != id {
			t.Errorf("face %d: %v", id, got)
		}
	}
	for _, id := range ids {
		faces.set(id, nil)
		if faces.get(id) != nil {
			t.Errorf("face %d is there after it was removed", id)
		}
	}
	if len(faces.far) != 0 {
		t.Errorf("%d faces left", len(faces.far))
	}
}
