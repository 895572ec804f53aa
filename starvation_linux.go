package mars

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// starvation is how long the threads of the process have waited for a processor so far, taken together (proc(5), schedstat; of
// threads that live); 0: not known.
func starvation() (sum time.Duration) {
	const tasks = "/proc/self/task"
	d, err := os.Open(tasks)
	if err != nil {
		return 0
	}
	defer d.Close()
	names, _ := d.Readdirnames(64) // those that matter are among the first
	for _, task := range names {
		text, err := os.ReadFile(tasks + "/" + task + "/schedstat")
		if fields := bytes.Fields(text); err == nil && len(fields) >= 2 {
			ns, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
