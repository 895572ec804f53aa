//go:build !linux

package mars

import "time"

// starvation is how long the threads of the process have waited for a processor so far: nobody says here.
func starvation() time.Duration { return 0 }
