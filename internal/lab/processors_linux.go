package lab

import (
	"os"
	"strconv"
	"strings"
)

// processors is the time that all processors together have spent, in clock ticks.
type processors struct{ busy, total int64 }

// processorTimes reads /proc/stat (proc(5)): time that the hypervisor took away is busy time, for us.
func processorTimes() (p processors) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i > 8 { // guests are counted as users already
			continue
		}
		p.total += v
		if i != 4 && i != 5 { // idle, waiting for a disk
			p.busy += v
		}
	}
	return p
}

// busySince is the part of the time since an earlier reading that the processors were busy; 0 where nothing is known.
func (p processors) busySince(before processors) float64 {
	if p.total <= before.total {
		return 0
	}
	return float64(p.busy-before.busy) / float64(p.total-before.total)
}
