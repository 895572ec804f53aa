//go:build acceptance

package acceptance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// TestSparseObject: an object of 5 GB (1 GB with -short) that is one hole comes to a file that is one too, and through a pipe, and
// `mars get` needs no more than 100 MB of memory for it.
func TestSparseObject(t *testing.T) {
	size := int64(5e9)
	if testing.Short() {
		size = 1e9
	}
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/site", 0o755), os.WriteFile(dir+"/site/hole", nil, 0o644), os.Truncate(dir+"/site/hole", size)); err != nil {
		t.Fatal(err)
	}
	producer := exec.Command(mars(t), "serve", dir+"/site", "--prefix", "/site", "--socket", "none", "--listen", "udp4://127.0.0.1:0")
	producer.Env = append(producer.Environ(), own("producer")...)
	producer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := producer.StdoutPipe()
	if err == nil {
		err = producer.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = producer.Process.Kill()
		_ = producer.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	at := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || at == "" {
		t.Fatalf("mars serve says %q, %v", line, err)
	}
	for _, to := range []string{filepath.Join(dir, "got"), "-"} {
		get := exec.Command(mars(t), "get", "/site/hole", "-q", "--socket", "none", "--via", "udp4://"+keyOf("producer").public.String()+"@"+at, "-o", to)
		get.Env, get.Stderr = producer.Env, os.Stderr
		get.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		stream, err := get.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := get.Start(); err != nil {
			t.Fatal(err)
		}
		came, copyErr := io.Copy(io.Discard, stream)
		if err := errors.Join(copyErr, get.Wait()); err != nil {
			t.Fatalf("to %s: %v", to, err)
		}
		took, rss := time.Since(start), get.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // kB (getrusage(2))
		t.Logf("to %s: %d bytes in %.1f s, %.1f s of processor, peak RSS %d kB", filepath.Base(to), size, took.Seconds(),
			(get.ProcessState.UserTime() + get.ProcessState.SystemTime()).Seconds(), rss)
		if rss > 100_000 {
			t.Errorf("to %s: peak RSS %d kB, want at most 100 MB", to, rss)
		}
		if to == "-" && came != size {
			t.Errorf("%d bytes came through the pipe, want %d", came, size)
		}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir+"/got", &st); err != nil || st.Size != size || st.Blocks*512 > 1<<20 {
		t.Errorf("the file has %d bytes and takes %d, %v", st.Size, st.Blocks*512, err)
	}
}
