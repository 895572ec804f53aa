package wire

import "testing"

func TestFaceFilter(t *testing.T) {
	face := FaceStatus{ID: 7, URI: "udp4://192.0.2.1:6363", LocalURI: "null://"}
	app := FaceStatus{ID: 300, URI: "fd://300", LocalURI: "unix:///x", Local: true, OnDemand: true}
	for _, c := range []struct {
		filter            string // hex
		wantFace, wantApp bool
	}{
		{"", true, true},
		{"690107", true, false},
		{"6902012c", false, true},
		{"7215 756470343a2f2f3139322e302e322e313a36333633", true, false},
		{"8109 756e69783a2f2f2f78", false, true},
		{"8304 75647034", true, false},
		{"8304 756e6978", false, true},
		{"8302 7564", false, false},
		{"840101", false, true},
		{"850100", true, false},
		{"860100 840100", true, false},
		{"860101", false, false},
		{"690107 850101", false, false},
		{"7600", true, true}, // unknown, and may be ignored
	} {
		var f FaceFilter
		if err := f.Decode(packet(t, typeFaceQueryFilter, c.filter)); err != nil {
			t.Errorf("%s: %v", c.filter, err)
		}
		if a, b := f.Matches(&face), f.Matches(&app); a != c.wantFace || b != c.wantApp {
			t.Errorf("%s matches the face %v, the application %v; want %v, %v", c.filter, a, b, c.wantFace, c.wantApp)
		}
	}
	for value, want := range map[string]Error{"6903000001": ErrNumber, "7300": ErrCritical, "8400": ErrNumber} {
		wantError(t, new(FaceFilter).Decode(packet(t, typeFaceQueryFilter, value)), want)
	}
	wantError(t, new(FaceFilter).Decode(unhex(t, "6800")), ErrType)
}

func FuzzFaceFilter(f *testing.F) {
	f.Add(unhex(f, "9606 690107 850101"), "udp4://192.0.2.1:1", uint64(7))
	f.Fuzz(func(t *testing.T, b []byte, uri string, id uint64) {
		var filter FaceFilter
		if filter.Decode(b) == nil {
			filter.Matches(&FaceStatus{ID: id, URI: uri})
		}
	})
}
