//go:build !planted

package planted

// Enabled tells whether bugs can be planted in this build.
const Enabled = false

// Is tells whether b is planted: never.
func Is(Bug) bool { return false }
