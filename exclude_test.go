package mars

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestExclude: nothing comes by a face that is out of service, and the fetch goes on when it is back.
func TestExclude(t *testing.T) {
	s := newSite(t, 1<<20)
	n, _ := consumerVia(t, s.addr)
	name := ""
	for _, f := range n.driver.Faces() {
		name = f.Name
	}
	if err := n.Exclude("another", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown face: %v", err)
	}
	if err := n.Exclude(name, true); err != nil {
		t.Fatal(err)
	}
	f := startFetch(n, filepath.Join(t.TempDir(), "copy"))
	time.Sleep(200 * time.Millisecond)
	faces, err := n.Status()
	if err != nil || faces[0].ContentIn != 0 {
		t.Errorf("while it is out: %+v, %v", faces, err)
	}
	if err := n.Exclude(name, false); err != nil {
		t.Fatal(err)
	}
	if _, err := f.wait(); err != nil {
		t.Error(err)
	}
}
