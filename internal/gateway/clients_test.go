package gateway

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Programs that know nothing of us, as their packages have them.

// tool skips the test where a program is missing.
func tool(t *testing.T, command, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(command)
	if err != nil {
		t.Skipf("there is no %s on this machine (package %s; `make setup` installs it)", command, pkg)
	}
	return path
}

// call runs a program, in an environment without the settings of this machine, and returns what it printed.
func call(t *testing.T, env []string, command string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"}, env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(command), strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// tree makes the files that the programs fetch.
func tree(t *testing.T) (dir string, content []byte) {
	dir, content = t.TempDir(), random(5_000_000)
	write(t, dir, "big.bin", content)
	write(t, dir, "sub/a b+c%d ü.txt", []byte("hello"))
	write(t, dir, "sub/x/y", []byte("y"))
	return dir, content
}

func TestCurl(t *testing.T) {
	curl := tool(t, "curl", "curl")
	dir, content := tree(t)
	s := newStage(t, dir, Options{})
	if got := call(t, nil, curl, "-sSf", s.url+"/site/data/big.bin"); !bytes.Equal(got, content) {
		t.Errorf("%d bytes, or others", len(got))
	}
	if got := call(t, nil, curl, "-sSf", "-r", "4000000-4999998", s.url+"/site/data/big.bin"); !bytes.Equal(got, content[4_000_000:4_999_999]) {
		t.Errorf("a range: %d bytes, or others", len(got))
	}
	part := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(part, content[:1_000_000], 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, nil, curl, "-sSf", "-C", "-", "-o", part, s.url+"/site/data/big.bin")
	if got, err := os.ReadFile(part); err != nil || !bytes.Equal(got, content) {
		t.Errorf("resumed: %d bytes, or others, %v", len(got), err)
	}
	if got := call(t, nil, curl, "-sSfL", "--path-as-is", s.url+"/site/data/sub?json"); !bytes.Contains(got, []byte(`"kind":"directory"`)) {
		t.Errorf("a directory: %s", got)
	}
}

func TestAria2(t *testing.T) {
	aria2 := tool(t, "aria2c", "aria2")
	dir, content := tree(t)
	s := newStage(t, dir, Options{})
	into := t.TempDir()
	call(t, nil, aria2, "--no-conf", "-q", "-x", "5", "-s", "5", "-k", "1M", "-d", into, "-o", "got", s.url+"/site/data/big.bin")
	if got, err := os.ReadFile(filepath.Join(into, "got")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("over five connections: %d bytes, or others, %v", len(got), err)
	}
}

// TestRcloneHTTP: rclone finds the tree by the pages of the directories.
func TestRcloneHTTP(t *testing.T) {
	rclone := tool(t, "rclone", "rclone")
	dir, _ := tree(t)
	s := newStage(t, dir, Options{})
	copies(t, dir, rclone, nil, ":http:", "--http-url", s.url+"/site/data/")
}

// TestRcloneS3 reads a bucket, signed and not.
func TestRcloneS3(t *testing.T) {
	rclone := tool(t, "rclone", "rclone")
	dir, content := tree(t)
	for what, keys := range map[string][]Key{"unsigned": nil, "signed": {{"tester", "0123456789abcdefghij"}}} {
		t.Run(what, func(t *testing.T) {
			s := newStage(t, dir, Options{Keys: keys, Buckets: []Bucket{{"data", "/site/data"}}})
			var env []string
			if keys != nil {
				env = []string{"RCLONE_S3_ACCESS_KEY_ID=" + keys[0].ID, "RCLONE_S3_SECRET_ACCESS_KEY=" + keys[0].Secret}
			}
			flags := []string{"--s3-provider", "Other", "--s3-endpoint", s.url}
			copies(t, dir, rclone, env, ":s3:data", flags...)
			if got := call(t, env, rclone, slices.Concat([]string{"cat", "--offset", "3000000", "--count", "1000", ":s3:data/big.bin"}, flags)...); !bytes.Equal(got, content[3_000_000:3_001_000]) {
				t.Errorf("a range: %d bytes, or others", len(got))
			}
			if keys != nil {
				if got := string(call(t, env, rclone, slices.Concat([]string{"lsd", ":s3:"}, flags)...)); !strings.HasSuffix(got, " data\n") {
					t.Errorf("the buckets: %q", got)
				}
			}
		})
	}
}

// copies has rclone copy a remote and compares the copy with dir, file by file.
func copies(t *testing.T, dir, rclone string, env []string, remote string, flags ...string) {
	t.Helper()
	flags = append(flags, "--retries", "1", "--low-level-retries", "1")
	into := t.TempDir()
	call(t, env, rclone, slices.Concat([]string{"copy", remote, into}, flags)...)
	want, got := fmt.Sprint(contents(t, dir)), fmt.Sprint(contents(t, into))
	if got != want {
		t.Errorf("copied other files, or otherwise: %.300q, want %.300q", got, want)
	}
	listed := strings.Split(strings.TrimSpace(string(call(t, env, rclone, slices.Concat([]string{"lsf", "-R", "--files-only", remote}, flags)...))), "\n")
	slices.Sort(listed)
	if !slices.Equal(listed, []string{"big.bin", "sub/a b+c%d ü.txt", "sub/x/y"}) {
		t.Errorf("listed %q", listed)
	}
}

// contents are the files below a directory with what is in them.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
