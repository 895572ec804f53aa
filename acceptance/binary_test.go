//go:build acceptance

// Package acceptance tests the built binary as its users meet it: real processes, files and sockets, on loopback or
// in namespaces that the tests make.
package acceptance

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binary builds bin/mars once, as `make build` does, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("make", "--no-print-directory", "-C", "..", "build")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	return filepath.Abs("../bin/mars")
})

// mars returns the path of the binary.
func mars(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBinaryIsStatic: one file that runs on any Linux needs neither a dynamic loader nor shared libraries.
func TestBinaryIsStatic(t *testing.T) {
	file, err := elf.Open(mars(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary asks for a dynamic loader")
		}
	}
	if libs, err := file.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("the binary needs shared libraries %v (%v)", libs, err)
	}
}
