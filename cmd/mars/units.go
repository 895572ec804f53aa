package main

import (
	"fmt"
	"time"
)

// Bytes and bits are counted in powers of 1000, as links and disks are sold.
const unitPrefixes = "kMGTPE"

// scale divides v by the power of 1000 that leaves at most three digits before the point, also after rounding.
func scale(v float64) (float64, string) {
	prefix := ""
	for i := 0; i < len(unitPrefixes) && v >= 999.95; i++ {
		v, prefix = v/1000, unitPrefixes[i:i+1]
	}
	return v, prefix
}

// formatBytes writes a number of bytes: "512 B", "1.0 GB".
func formatBytes(n int64) string {
	v, prefix := scale(float64(n))
	if prefix == "" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %sB", v, prefix)
}

// formatRate writes a rate in bit/s with three digits: "1.05 Gbit/s", "0 bit/s".
func formatRate(bits float64) string {
	v, prefix := scale(bits)
	digits := 0
	switch {
	case prefix != "" && v < 9.995:
		digits = 2
	case prefix != "" && v < 99.95:
		digits = 1
	}
	return fmt.Sprintf("%.*f %sbit/s", digits, v, prefix)
}

// formatTime writes a duration for people: "0.21 s", "8.2 s", "3 min 20 s", "2 h 5 min".
func formatTime(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 59.95:
		return fmt.Sprintf("%.1f s", s)
	}
	s := int64(d.Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}
