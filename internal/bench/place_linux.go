package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// namespacePrefix begins the names of our network namespaces; the process id and the side follow.
const namespacePrefix = "marsbench-"

// place is where the two sides of a transfer run.
type place struct {
	near, far string // namespaces; "": that of this process
	nearIP    string // of the producer's side
	farIP     string
	mtu       int
}

// loopback is this machine's own.
func loopback() *place { return &place{nearIP: "127.0.0.1", farIP: "127.0.0.1", mtu: 65536} }

// veth makes two namespaces with a veth pair between them. offload: the devices take UDP trains whole.
func veth(mtu int, offload bool) (p *place, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root: run it as root, or --over loopback")
	}
	removeStale()
	id := fmt.Sprint(namespacePrefix, os.Getpid())
	p = &place{near: id + "-a", far: id + "-b", nearIP: "10.231.0.1", farIP: "10.231.0.2", mtu: mtu}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	steps := []string{
		"netns add " + p.near, "netns add " + p.far,
		fmt.Sprintf("-n %s link add v type veth peer name v netns %s", p.near, p.far),
	}
	for side, ip := range map[string]string{p.near: p.nearIP, p.far: p.farIP} {
		steps = append(steps,
			fmt.Sprintf("-n %s addr add %s/24 dev v", side, ip), fmt.Sprintf("-n %s link set v mtu %d", side, mtu),
			fmt.Sprintf("-n %s link set lo up", side), fmt.Sprintf("-n %s link set v up", side))
	}
	for _, s := range steps {
		if out, err := exec.Command("ip", strings.Fields(s)...).CombinedOutput(); err != nil {
			return p, fmt.Errorf("ip %s: %w: %s", s, err, strings.TrimSpace(string(out)))
		}
	}
	if !offload {
		for _, side := range []string{p.near, p.far} {
			if err := segmentInSoftware(side, "v"); err != nil {
				return p, fmt.Errorf("switch off segmentation offload: %w", err)
			}
		}
	}
	return p, nil
}

// command is how a command runs in a namespace.
func (p *place) command(namespace string, args ...string) []string {
	if namespace == "" {
		return args
	}
	return append([]string{"ip", "netns", "exec", namespace}, args...)
}

// close removes the namespaces, with the devices in them.
func (p *place) close() error {
	var failed []error
	for _, name := range []string{p.near, p.far} {
		if name == "" {
			continue
		}
		if _, err := os.Stat("/run/netns/" + name); err != nil {
			continue
		}
		if out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
			failed = append(failed, fmt.Errorf("remove the namespace %s: %w: %s", name, err, out))
		}
	}
	return errors.Join(failed...)
}

// removeStale removes the namespaces of benchmarks that were killed.
func removeStale() {
	left, _ := filepath.Glob("/run/netns/" + namespacePrefix + "*")
	for _, path := range left {
		name := filepath.Base(path)
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, namespacePrefix), "-")
		pid, err := strconv.Atoi(digits)
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		_ = exec.Command("ip", "netns", "delete", name).Run() // somebody else may be at it
	}
}

// own lets a process end with this one, and keeps the terminal's Ctrl-C from it: this process ends it in order.
func own(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
