package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// KnownControls returns the congestion controllers that endpoint systems and background flows may run: those of package cc.
func KnownControls() []string {
	return []string{
		"reno", "cubic", "bbr", "lia", "olia", "balia", "u-mpcubic", "le-mpcubic", "coupled-cubic", "ferlin-mpcubic", "ba-mpcubic",
		"ba-mpcubic-noecn", "cubic-mpquic", "olia-mpquic",
	}
}

func parseControl(name string) (string, error) {
	if !slices.Contains(KnownControls(), name) {
		return "", bad(ErrValue, nearest(name, KnownControls()), "unknown congestion control %q", name)
	}
	return name, nil
}

// schedulers are those of endpoint.LookupScheduler.
var schedulers = []string{"minrtt", "roundrobin", "mainline"}

// endpoints reads how TCP, MPTCP and MPQUIC are set up.
func (b *builder) endpoints(top *section) {
	s, ok := top.section("endpoints")
	if !ok {
		return
	}
	e := &b.w.Endpoints
	read(s, "scheduler", &e.Scheduler, oneOf(schedulers...))
	read(s, "ecn", &e.ECN, parseSwitch)
	read(s, "pace", &e.Pace, parseSwitch)
	var buffer int64
	if read(s, "buffer", &buffer, parseBytes) {
		const most = 1 << 30
		if e.Buffer = int(buffer); buffer > most {
			b.d.fail(s.at, s.sub("buffer"), ErrSize, "choose a smaller one", "a receive buffer of %d bytes; the limit is %d", buffer, most)
		}
	}
	s.done()
}

// parseSwitch parses true or false; 1 or 0 where it is swept.
func parseSwitch(s string) (bool, error) {
	switch s {
	case "1":
		return true, nil
	case "0":
		return false, nil
	}
	return parseBool(s)
}

// settings writes the sections endpoints and measure.
func (w *World) settings() string {
	var b strings.Builder
	if e := w.Endpoints; e != (Endpoints{}) {
		var all []string
		if e.Scheduler != "" {
			all = append(all, "scheduler: "+e.Scheduler)
		}
		if e.ECN {
			all = append(all, "ecn: true")
		}
		if e.Pace {
			all = append(all, "pace: true")
		}
		if e.Buffer > 0 {
			all = append(all, fmt.Sprintf("buffer: %d B", e.Buffer))
		}
		fmt.Fprintf(&b, "endpoints: {%s}\n", strings.Join(all, ", "))
	}
	if m := w.Measure; m != (Measure{}) {
		fmt.Fprintf(&b, "measure: {from: %s, to: %s, step: %s}\n", duration(m.From), duration(m.To), duration(m.Step))
	}
	return b.String()
}
