//go:build acceptance

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSameBits: the simulator gives the same bits on other processors: on amd64 with the instructions of level 3, among them
// fused multiplication and addition, and on arm64, emulated.
func TestSameBits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("this machine isn't amd64: here the golden test itself is the other architecture")
	}
	for _, c := range []struct{ name, env, needs, emulator string }{
		{"amd64 v3", "GOAMD64=v3", "avx2", ""},
		{"arm64", "GOARCH=arm64", "", "qemu-aarch64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if info, err := os.ReadFile("/proc/cpuinfo"); c.needs != "" && (err != nil || !strings.Contains(string(info), c.needs)) {
				t.Skipf("this processor has no %s: it can't run such a binary", c.needs)
			}
			args := []string{}
			if c.emulator != "" {
				path, err := exec.LookPath(c.emulator)
				if err != nil {
					t.Skipf("no %s: install qemu-user (make setup says how)", c.emulator)
				}
				args = append(args, path)
			}
			binary := filepath.Join(t.TempDir(), "sim.test")
			build := exec.Command("go", "test", "-c", "-o", binary, "mars/internal/sim")
			build.Env = append(os.Environ(), "CGO_ENABLED=0", c.env)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			args = append(args, binary, "-test.run", "^TestGolden$", "-test.v")
			run := exec.Command(args[0], args[1:]...)
			run.Dir = filepath.Join("..", "internal", "sim")
			out, err := run.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "PASS: TestGolden") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
