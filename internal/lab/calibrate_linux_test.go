package lab

import (
	"strings"
	"testing"
	"time"

	"mars/internal/scenario"
)

// probed is what a direction of 10 Mbit/s would have made of 10,000 packets: so many lost, and late by that much in real time.
func probed(loss float64, lost int64, late time.Duration) *probe {
	p := &probe{
		dir: scenario.Direction{Rate: 10e6, MTU: 1500, Loss: scenario.Loss{Random: loss}}, size: 1500, rate: 10e6 / 8 / 1500,
		sent: 10_000, error: &histogram{},
	}
	for range p.sent - lost {
		p.error.add(late)
	}
	return p
}

// TestCalibrationJudges: errors beyond what is allowed are problems, those within aren't, and chance is allowed for.
func TestCalibrationJudges(t *testing.T) {
	for _, c := range []struct {
		name     string
		p        *probe
		dilation float64
		want     string // part of the problem; "": none
	}{
		{"fine", probed(0, 0, 50*time.Microsecond), 1, ""},
		{"late", probed(0, 0, 200*time.Microsecond), 1, "delays are off"},
		{"not in the scenario's time", probed(0, 0, 200*time.Microsecond), 4, ""},
		{"in it too", probed(0, 0, 600*time.Microsecond), 4, "delays are off"},
		{"lost", probed(0, 20, 0), 1, "were lost"},
		{"as many lost as asked for", probed(0.01, 103, 0), 1, ""},
		{"by chance more", probed(0.01, 128, 0), 1, ""},
		{"too many lost", probed(0.01, 180, 0), 1, "were lost"},
		{"too few lost", probed(0.01, 40, 0), 1, "were lost"},
	} {
		cal := &Calibration{Dilation: c.dilation}
		cal.delays([]*probe{c.p})
		if got := strings.Join(cal.Problems, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	for _, c := range []struct {
		name  string
		bytes int64 // in a second, at dilation 2
		want  string
	}{
		{"the rate", 10e6 / 8 / 2, ""}, {"less", 9e6 / 8 / 2, "off its rate"}, {"more", 11e6 / 8 / 2, "off its rate"},
	} {
		p := probed(0, 0, 0)
		p.received, p.bytes, p.first, p.last = 100, c.bytes, time.Unix(1, 0), time.Unix(2, 0)
		cal := &Calibration{}
		cal.rates([]*probe{p}, 2)
		if got := strings.Join(cal.Problems, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
