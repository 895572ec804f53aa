package disk

import (
	"syscall"
	"testing"
)

// smallFS mounts a file system of 1 MB.
func smallFS(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(dir, 0)) })
	return dir
}

// readOnly lets nobody write to a file system any more.
func readOnly(t *testing.T, dir string) {
	check(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}
