package sim

import "testing"

func TestTuning(t *testing.T) {
	var got Tuning
	for _, bad := range []string{"", "window", "window=0", "window=x", "window=9999999", "standing=1", "standing=-1s", "rate=1"} {
		if err := got.Set(bad); err == nil || got != (Tuning{}) {
			t.Errorf("%q: %v, %+v", bad, err, got)
		}
	}
	if err := got.Set("window=16"); err != nil {
		t.Error(err)
	}
	if err := got.Set("standing=100ms"); err != nil || got != (Tuning{16, 100_000_000}) {
		t.Errorf("%v, %+v", err, got)
	}
}
