package scenario

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// badValue is what a parser of scalars says: the decoder adds the place.
type badValue struct {
	kind            error
	problem, remedy string
}

func (e *badValue) Error() string { return e.problem + "; " + e.remedy }

func bad(kind error, remedy, format string, args ...any) error {
	return &badValue{kind, fmt.Sprintf(format, args...), remedy}
}

var quantity = regexp.MustCompile(`^([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(.*)$`)

// number splits "40 Mbit/s" into 40 and "Mbit/s".
func number(s string) (float64, string, bool) {
	m := quantity.FindStringSubmatch(s)
	if m == nil {
		return 0, "", false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, "", false
	}
	return f, m[2], true
}

// Units that people write, in units of ours.
var (
	rateUnits = map[string]float64{"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
	byteUnits = map[string]float64{
		"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}
	timeUnits   = map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
	packetUnits = map[string]float64{"packet": 1, "packets": 1}
)

// measure parses a number with one of units, and holds it to low…high.
func measure(s string, units map[string]float64, low, high float64, example string) (float64, error) {
	f, unit, ok := number(s)
	factor, known := units[unit]
	switch remedy := "write it as " + example; {
	case !ok:
		return 0, bad(ErrUnit, remedy, "%q is no number with a unit", s)
	case !known && f == 0 && unit == "" && low <= 0:
		return 0, nil
	case !known && f == 0 && unit == "":
		return 0, bad(ErrValue, "write a positive one such as "+example, "0 isn't above zero")
	case !known && unit == "":
		return 0, bad(ErrUnit, remedy, "%q has no unit", s)
	case !known:
		return 0, bad(ErrUnit, remedy, "%q isn't a unit of this", unit)
	}
	f = float64(f * factor)
	switch {
	case f < low && f <= 0:
		return 0, bad(ErrValue, "write a positive one such as "+example, "%q isn't above zero", s)
	case f < low || f > high:
		return 0, bad(ErrSize, "choose one between, such as "+example, "%q is outside %g…%g", s, low/factor, high/factor)
	}
	return f, nil
}

// Limits of values.
const (
	maxRate  = 1e13 // bit/s
	maxTime  = 24 * time.Hour
	maxQueue = 10_000_000
	maxBytes = 1 << 40
)

func parseRate(s string) (float64, error) { return measure(s, rateUnits, 1, maxRate, "40 Mbit/s") }

func parseDuration(s string) (time.Duration, error) {
	f, err := measure(s, timeUnits, 0, float64(maxTime), "5ms")
	return time.Duration(math.Round(f)), err
}

func parsePositiveDuration(s string) (time.Duration, error) {
	f, err := measure(s, timeUnits, 1, float64(maxTime), "60s")
	return time.Duration(math.Round(f)), err
}

// parseBytes parses a size of at least one byte.
func parseBytes(s string) (int64, error) {
	f, err := measure(s, byteUnits, 1, maxBytes, "18.24 MB")
	return int64(math.Round(f)), err
}

func parsePackets(s string) (int, error) {
	f, err := measure(s, packetUnits, 1, maxQueue, "1000 packets")
	return int(f), err
}

// parseFraction parses a part of one: 0.01 or 1%.
func parseFraction(s string) (float64, error) {
	const remedy = "write a part of one such as 0.01, or 1%"
	f, unit, ok := number(s)
	if unit == "%" {
		// Not f/100: 0.1% is the same number as 0.001.
		var err error
		if f, err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%"))+"e-2", 64); err != nil {
			f /= 100
		}
	}
	switch {
	case !ok || unit != "" && unit != "%":
		return 0, bad(ErrUnit, remedy, "%q is no fraction", s)
	case f < 0 || f > 1:
		return 0, bad(ErrValue, remedy, "%q is outside 0…1", s)
	}
	return f, nil
}

// integer returns a parser of whole numbers from low to high.
func integer(low, high int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch remedy := fmt.Sprintf("write a whole number from %d to %d", low, high); {
		case errors.Is(err, strconv.ErrRange) || err == nil && n > high:
			return 0, bad(ErrSize, remedy, "%s is too many", s)
		case err != nil:
			return 0, bad(ErrValue, remedy, "%q is no whole number", s)
		case n < low:
			return 0, bad(ErrValue, remedy, "%d is too few", n)
		}
		return n, nil
	}
}

func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, bad(ErrValue, "write a whole number from 0", "%q is no seed", s)
	}
	return n, nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, bad(ErrValue, "write true or false", "%q is neither true nor false", s)
}

var nameText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// parseName parses the name of a node, link, flow or scenario.
func parseName(s string) (string, error) {
	const longest = 64
	if !nameText.MatchString(s) || len(s) > longest {
		return "", bad(ErrValue, fmt.Sprintf("use at most %d letters, digits, . _ and -", longest), "%q can't be a name", s)
	}
	return s, nil
}

// parseText takes any text of at most 2000 bytes.
func parseText(s string) (string, error) {
	if len(s) > 2000 {
		return "", bad(ErrSize, "shorten it", "a text of %d bytes", len(s))
	}
	return s, nil
}

func oneOf[T ~string](names ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		var known []string
		for _, n := range names {
			if s == string(n) {
				return n, nil
			}
			known = append(known, string(n))
		}
		return "", bad(ErrValue, nearest(s, known), "%q isn't known", s)
	}
}

// parseParameter parses the value of a swept parameter, whatever its unit: its number in bit/s, bytes, seconds, packets or
// parts of one.
func parseParameter(s string) (float64, error) {
	f, unit, ok := number(s)
	if !ok || math.Abs(f) > 1e15 {
		return 0, bad(ErrSweep, "write numbers with or without a unit, such as 0.1%, 40 Mbit/s, 5ms, 18 MB or 3", "%q is no number", s)
	}
	switch {
	case unit == "":
		return f, nil
	case unit == "%":
		return parseFraction(s)
	case rateUnits[unit] > 0:
		return float64(f * rateUnits[unit]), nil
	case byteUnits[unit] > 0:
		return float64(f * byteUnits[unit]), nil
	case packetUnits[unit] > 0:
		return f, nil
	case timeUnits[unit] > 0:
		return f * timeUnits[unit] / 1e9, nil
	}
	return 0, bad(ErrUnit, "write it as 0.1%, 40 Mbit/s, 5ms, 18 MB, 100 packets or 3", "%q isn't a unit", unit)
}
