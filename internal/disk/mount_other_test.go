//go:build !linux

package disk

import "testing"

func smallFS(t *testing.T) string {
	t.Skip("mounts a small file system, which only Linux does so simply")
	return ""
}

func readOnly(*testing.T, string) {}
