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
