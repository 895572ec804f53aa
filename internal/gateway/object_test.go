package gateway

import "testing"

func TestAnnounced(t *testing.T) {
	for _, c := range []struct {
		header     string
		from, want int64
	}{
		{"", 0, 0},
		{"bytes=0-9", 0, 10},
		{"bytes=0-9", 1, 0}, // nobody said that he would begin there
		{"bytes=10-", 10, 1000},
		{"bytes=-10", 990, 1000},
		{"bytes=-5000", 0, 1000},
		{"bytes=0-0, 50-59,-1", 50, 60},
		{"bytes=0-0, 50-59,-1", 999, 1000},
		{"bytes=0-9,0-19", 0, 20},
		{"bytes=5-99999", 5, 1000},
		{"bytes=5-9223372036854775807", 5, 1000},
		{"bytes=9-5", 9, 0},
		{"bytes=--5", 0, 0},
		{"bytes=x-5", 0, 0},
		{"bytes=", 0, 0},
		{"lines=0-9", 0, 0},
		{"bytes=99999999999999999999-", 0, 0},
	} {
		if got := announced(c.header, 1000).until(c.from); got != c.want {
			t.Errorf("%q from %d on: until %d, want %d", c.header, c.from, got, c.want)
		}
	}
}

// FuzzAnnounced: whatever the header, what is announced lies behind where it begins and within the object.
func FuzzAnnounced(f *testing.F) {
	f.Add("bytes=0-9,-5", int64(1000), int64(0))
	f.Add("bytes=5-", int64(10), int64(5))
	f.Fuzz(func(t *testing.T, header string, size, from int64) {
		if size < 0 || from < 0 {
			return
		}
		if end := announced(header, size).until(from); end != 0 && (end <= from || end > size) {
			t.Errorf("%q of %d bytes, from %d on: until %d", header, size, from, end)
		}
	})
}
