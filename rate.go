package mars

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a data rate in bits per second; 0: not limited.
type Rate int64

// BytesPerSecond returns r in bytes per second.
func (r Rate) BytesPerSecond() float64 { return float64(r) / 8 }

// String writes r with the largest unit that keeps it exact: "100Mbit".
func (r Rate) String() string {
	for i := len(prefixes); i > 0; i-- {
		unit := int64(math.Pow10(3 * i))
		if r != 0 && int64(r)%unit == 0 {
			return fmt.Sprintf("%d%sbit", int64(r)/unit, prefixes[i-1:i])
		}
	}
	return fmt.Sprintf("%dbit", int64(r))
}

// MarshalText is String, for YAML and JSON.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

const prefixes = "kMGT"

// ParseRate parses the rate of a link. A bare number or prefix counts bits, as links are sold: "100M", "100Mbit",
// "100Mbit/s", "100Mb/s" and "100Mbps" are 100,000,000 bits per second. "B" counts bytes: "20MB/s", "16MiB/s". Prefixes
// are k, M, G, T (powers of 1000, upper or lower case) and Ki, Mi, Gi, Ti (powers of 1024).
func ParseRate(s string) (Rate, error) {
	return parseRate(s, 1, 1000, "a rate of a link such as 100Mbit, 1.5Gbit or 20MB/s")
}

// ParseByteRate parses the rate of a transfer. A bare number or prefix counts bytes in powers of 1024, as --limit-rate
// of curl, wget and aria2 does: "10M" is 10,485,760 bytes per second. With a unit it reads as ParseRate does: "10MB/s" is
// 10,000,000 bytes per second, "80Mbit" is 80,000,000 bits per second.
func ParseByteRate(s string) (Rate, error) {
	return parseRate(s, 8, 1024, "a rate of a transfer such as 10M (bytes), 20MB/s or 100Mbit")
}

// parseRate reads NUMBER [PREFIX] [UNIT]; without UNIT the number counts bareBits bits in powers of bareBase.
func parseRate(s string, bareBits, bareBase float64, want string) (Rate, error) {
	bad := func(why string) (Rate, error) { return 0, fmt.Errorf("%q is not a rate%s; write %s", s, why, want) }
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	value, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return bad("")
	}
	unit := strings.TrimSpace(text[end:])
	power, binary := 0, false
	if unit != "" {
		if i := strings.IndexByte(strings.ToLower(prefixes), unit[0]|0x20); i >= 0 {
			power, unit = i+1, unit[1:]
			unit, binary = strings.CutPrefix(unit, "i")
			binary = binary && !strings.HasPrefix(unit, "t") // "kit" is a typing error of "kbit"
		}
	}
	bits, base := 1.0, 1000.0
	switch unit {
	case "":
		bits, base = bareBits, bareBase
	case "bit", "bit/s", "bits", "bits/s", "b/s", "bps":
	case "B", "B/s":
		bits = 8
	default:
		return bad(": unknown unit")
	}
	if binary {
		base = 1024
	}
	value = value * bits * math.Pow(base, float64(power))
	if value > math.MaxInt64/2 {
		return bad(": it is too large")
	}
	if value > 0 && value < 1 {
		return bad(": it is less than one bit per second")
	}
	return Rate(math.Round(value)), nil
}
