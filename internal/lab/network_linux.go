package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"mars/internal/scenario"
)

// network is a scenario's hosts and links on this kernel: a namespace per host, a TUN device per end of a link.
type network struct {
	w        *scenario.World
	state    *state
	emulator *emulator
	pipes    []*pipe // 2·link from A to B, 2·link+1 from B to A
	dir      string  // for files of the processes
	resume   func()  // ends quiet

	unpromoted error // why processes have no priority; nil: they have
}

// quiet keeps Go's runtime from stopping the emulator's thread: it comes back from every wait to ask the scheduler for a place, of
// which there must be one more than threads, and a collection would have it wait for threads that have no priority. Memory is
// collected between runs. It returns what undoes that.
func quiet() (resume func()) {
	places := runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8))
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(2<<30)
	return func() {
		hurry(false)
		runtime.GOMAXPROCS(places)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// Check says why this system can't have a lab; nil: it can.
func Check() error {
	if os.Getuid() != 0 {
		return errors.New("network namespaces and TUN devices take root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("there is no ip command; install iproute2")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return fmt.Errorf("there are no TUN devices: %w", err)
	}
	return nil
}

// newNetwork builds the hosts and links of w. dilation ≥ 1 slows everything down by that factor.
func newNetwork(w *scenario.World, seed uint64, dilation float64) (n *network, err error) {
	s, err := newState()
	if err != nil {
		return nil, err
	}
	n = &network{w: w, state: s, resume: quiet()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if n.dir, err = os.MkdirTemp(scratch(), "mars-lab-"); err != nil {
		return n, err
	}
	s.Dirs = append(s.Dirs, n.dir)
	for i := range w.Nodes {
		s.Namespaces = append(s.Namespaces, n.namespace(i))
	}
	if err = s.save(); err != nil {
		return n, err
	}
	for i := range w.Nodes {
		if err = n.addHost(i); err != nil {
			return n, err
		}
	}
	devices, err := n.addLinks(seed)
	if err != nil {
		for _, fd := range devices {
			unix.Close(fd)
		}
		return n, err
	}
	n.emulator, err = newEmulator(n.pipes, devices, dilation)
	return n, err
}

// scratch is where the processes' files go: into memory where there is room, since a write that waits for a disk holds a process up;
// "": where temporary files usually go.
func scratch() string {
	const memory, room = "/dev/shm", 4 << 30
	var s unix.Statfs_t
	if unix.Statfs(memory, &s) == nil && s.Bavail*uint64(s.Bsize) >= room {
		return memory
	}
	return ""
}

// namespace is the name of a host's.
func (n *network) namespace(host int) string {
	return fmt.Sprintf("%s%d-%s", namespacePrefix, n.state.Owner.PID, n.w.Nodes[host].Name)
}

func (n *network) addHost(i int) error {
	name := n.namespace(i)
	if err := ip("", "netns add "+name); err != nil {
		return err
	}
	role := n.w.Nodes[i].Role
	forwards := "0"
	if role == scenario.Relay || role == scenario.Router {
		forwards = "1"
	}
	return errors.Join(
		ip(name, "link set lo up"),
		sysctl(name, map[string]string{
			"net.mptcp.add_addr_timeout":         "1", // s: an address whose announcement is lost is announced again; usually after 120
			"net.ipv4.ip_forward":                forwards,
			"net.ipv4.conf.all.rp_filter":        "0",
			"net.ipv4.conf.default.rp_filter":    "0",
			"net.ipv4.tcp_no_metrics_save":       "1", // a run learns nothing from the one before
			"net.ipv6.conf.all.disable_ipv6":     "1",
			"net.ipv6.conf.default.disable_ipv6": "1",
		}),
	)
}

// Addresses: link i has four from 10.64.0.0 + 4i on, of which its ends have the middle two. Routes that endpoints are given have
// two each from 10.96.0.0 on.
var (
	firstLink  = netip.MustParseAddr("10.64.0.0")
	firstRoute = netip.MustParseAddr("10.96.0.0")
)

func offset(a netip.Addr, by int) netip.Addr {
	b := a.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	v += uint32(by)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// address is that of an end of a link: end 0 is A's.
func address(link, end int) netip.Addr { return offset(firstLink, 4*link+1+end) }

// deviceName is that of a link at both of its ends.
func deviceName(link int) string { return fmt.Sprintf("link%d", link) }

func (n *network) addLinks(seed uint64) (devices []int, err error) {
	lines := make([][]string, len(n.w.Nodes))
	for i := range n.w.Links {
		l := &n.w.Links[i]
		for end, host := range [2]int{l.A, l.B} {
			d, way := l.AB, "ab"
			if end == 1 {
				d, way = l.BA, "ba"
			}
			fd, err := openTUN(n.namespace(host), deviceName(i))
			if err != nil {
				return devices, err
			}
			devices = append(devices, fd)
			n.pipes = append(n.pipes, newPipe(l.Name+":"+way, d, seed))
			dev := deviceName(i)
			lines[host] = append(lines[host],
				fmt.Sprintf("address add %v peer %v dev %s", address(i, end), address(i, 1-end), dev),
				// The queue that counts is the emulator's; the usual 500 packets overflow before it has a look.
				fmt.Sprintf("link set %s mtu %d txqueuelen 10000 up", dev, d.MTU))
		}
	}
	for host, batch := range lines {
		if len(batch) > 0 {
			if err := ip(n.namespace(host), batch...); err != nil {
				return devices, err
			}
		}
	}
	return devices, nil
}

// close removes everything.
func (n *network) close() error {
	if n.emulator != nil {
		n.emulator.close()
	}
	n.resume()
	return n.state.remove()
}
