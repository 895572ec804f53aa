//go:build acceptance

package acceptance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The gateway on the consumer's host, and what it serves there.
const (
	gatewayAddr = "127.0.0.1:8080"
	gatewayURL  = "http://" + gatewayAddr + "/site/data/"

	// A part of the file of 1 GB.
	partFirst, partSize = 500_000_000, 100_000_000
)

// sdkVariable has the test binary read an object by the AWS SDK instead of testing: "whole" or a Range.
const sdkVariable = "MARS_ACCEPTANCE_SDK"

func TestMain(m *testing.M) {
	if part := os.Getenv(sdkVariable); part != "" {
		if err := readBySDK(part); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// readBySDK writes the file, or a part of it, to standard output.
func readBySDK(part string) error {
	in := &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("file")}
	if part != "whole" {
		in.Range = &part
	}
	c := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + gatewayAddr), Region: "us-east-1", UsePathStyle: true, Credentials: aws.AnonymousCredentials{},
	})
	got, err := c.GetObject(context.Background(), in)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	_, err = io.Copy(os.Stdout, got.Body)
	return err
}

// client is a program that reads from the gateway, unmodified.
type client struct {
	name, command, pkg string
	env                []string
	whole, part        []string // arguments by which it writes the file, or the part of it, to standard output
	partEnv            []string
	file               bool // it writes x.dest instead, in parts of its own
}

func clients(t *testing.T, dest string) []client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint(partFirst + partSize - 1)
	span := fmt.Sprint(partFirst) + "-" + last
	http := []string{"--http-url", gatewayURL}
	bucket := []string{"--s3-provider", "Other", "--s3-endpoint", "http://" + gatewayAddr}
	cat := []string{"cat", "--offset", fmt.Sprint(partFirst), "--count", fmt.Sprint(partSize)}
	return []client{
		{name: "curl", command: "curl", pkg: "curl", whole: []string{"-sSf", gatewayURL + "file"}, part: []string{"-sSf", "-r", span, gatewayURL + "file"}},
		{
			name: "aria2", command: "aria2c", pkg: "aria2", file: true,
			whole: []string{"--no-conf", "-q", "--file-allocation=none", "-x", "4", "-s", "4", "-k", "16M", "-d", filepath.Dir(dest), "-o", filepath.Base(dest), gatewayURL + "file"},
		},
		{name: "rclone http", command: "rclone", pkg: "rclone", whole: append([]string{"cat", ":http:file"}, http...), part: append(append(cat[:5:5], ":http:file"), http...)},
		{name: "rclone s3", command: "rclone", pkg: "rclone", whole: append([]string{"cat", ":s3:data/file"}, bucket...), part: append(append(cat[:5:5], ":s3:data/file"), bucket...)},
		{name: "AWS SDK", command: self, env: []string{sdkVariable + "=whole"}, part: []string{}, partEnv: []string{sdkVariable + "=bytes=" + span}},
	}
}

// newGateway is a transfer with a gateway at the consumer in place of a fetch.
func newGateway(t *testing.T, size int64) *transfer {
	t.Helper()
	x := newTransfer(t, size)
	x.start("consumer", "gateway", "--listen", gatewayAddr, "--bucket", "data=/site/data",
		"--via", uri("producer", producerDirect), "--via", uri("relay", relaySide)).says("listening")
	return x
}

// read has a client read on the consumer's host and returns the digest of what it read. meanwhile, if set, is called while it does,
// and is to end when its context does.
func (x *transfer) read(c client, args, env []string, meanwhile func(context.Context)) string {
	x.t.Helper()
	path, err := exec.LookPath(c.command)
	if err != nil {
		x.t.Skipf("there is no %s on this machine (package %s; `make setup` installs it)", c.command, c.pkg)
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	inside := x.command("consumer", append([]string{path}, args...)...)
	cmd := exec.CommandContext(ctx, inside.Path, inside.Args[1:]...)
	var stderr strings.Builder
	sum := sha256.New()
	cmd.Stdout, cmd.Stderr = sum, &stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + x.t.TempDir()}, env...)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	busy, ended := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if meanwhile != nil {
			meanwhile(busy)
		}
	}()
	err = cmd.Wait()
	ended()
	<-done
	if err != nil {
		x.t.Fatalf("%s: %v\n%s", c.name, err, stderr.String())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// digest is that of a part of a file.
func digest(t *testing.T, path string, first, size int64) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, first, size)); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// killRelay kills the relay when about 40% of the file have come, some of it by the relay. killed tells that it did.
func (x *transfer) killRelay(killed *bool) func(context.Context) {
	consumer, relay := x.received("consumer"), x.received("relay")
	return func(ctx context.Context) {
		poll := time.NewTicker(50 * time.Millisecond)
		defer poll.Stop()
		for x.received("consumer")-consumer < x.size*2/5 || x.received("relay")-relay < x.size/100 {
			select {
			case <-ctx.Done():
				return
			case <-poll.C:
			}
		}
		*killed = ctx.Err() == nil
		x.relay.kill()
	}
}

// TestGateway: every client reads a file of 1 GB from a remote producer over two paths, and a part of it, and doesn't notice that
// the relay on one path is killed in the middle.
func TestGateway(t *testing.T) {
	x := newGateway(t, 1<<30)
	whole, part := digest(t, x.file, 0, x.size), digest(t, x.file, partFirst, partSize)
	for _, c := range clients(t, x.dest) {
		t.Run(c.name, func(t *testing.T) {
			outer := x.t
			x.world.t = t
			defer func() { x.world.t = outer }()
			defer os.Remove(x.dest)
			if _, err := exec.LookPath(c.command); err == nil {
				x.relay.kill()
				x.world.t = outer // it outlives this test
				x.startRelay()
				x.world.t = t
			}
			killed := false
			began := time.Now()
			got := x.read(c, c.whole, c.env, x.killRelay(&killed))
			if c.file {
				got = digest(t, x.dest, 0, x.size)
			}
			if got != whole || !killed {
				t.Errorf("other bytes (%s, want %s), or the relay wasn't needed (killed: %v)", got, whole, killed)
			}
			t.Logf("1 GB in %.1f s, with the relay killed", time.Since(began).Seconds())
			if c.part == nil {
				return // its connections ask for parts anyhow
			}
			if got := x.read(c, c.part, c.partEnv, nil); got != part {
				t.Errorf("other bytes in the part: %s, want %s", got, part)
			}
		})
	}
}

// TestGatewayGoodput measures what curl gets through the gateway against what `mars get` gets by itself, in turns. Only digests are
// asserted.
func TestGatewayGoodput(t *testing.T) {
	x := newGateway(t, 1<<30)
	whole := digest(t, x.file, 0, x.size)
	curl := clients(t, x.dest)[0]
	var get, through []float64
	for range 3 {
		began := time.Now()
		fetch := x.get()
		if code := fetch.exit(patience); code != 0 {
			t.Fatalf("mars get: exit code %d", code)
		}
		get = append(get, time.Since(began).Seconds())
		os.Remove(x.dest)
		began = time.Now()
		if got := x.read(curl, curl.whole, nil, nil); got != whole {
			t.Fatal("other bytes")
		}
		through = append(through, time.Since(began).Seconds())
	}
	slices.Sort(get)
	slices.Sort(through)
	t.Logf("1 GB by mars get in %.1f s, by curl through the gateway in %.1f s; the gateway's goodput is %.2f of that of mars get",
		get[1], through[1], get[1]/through[1])
}
