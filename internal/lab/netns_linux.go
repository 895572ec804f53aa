package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// inside runs f on a thread that is in the network namespace of that name: sockets and devices that f opens stay there, and so do
// processes that it starts.
func inside(namespace string, f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	there, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network namespace %s: %w", namespace, err)
	}
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return fmt.Errorf("leave the network namespace %s: %w", namespace, back) // and the thread ends with the goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// ip runs iproute2 in a namespace, "" for ours, with one command per line on its input.
func ip(namespace string, lines ...string) error {
	args := []string{"-batch", "-"}
	if namespace != "" {
		args = append([]string{"-n", namespace}, args...)
	}
	c := exec.Command("ip", args...)
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ip in namespace %q: %w: %s", namespace, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// sysctl sets parameters of a namespace; they are gone with it.
func sysctl(namespace string, values map[string]string) error {
	return inside(namespace, func() error {
		for name, v := range values { // order: each is by itself
			if err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(v), 0); err != nil {
				return fmt.Errorf("sysctl %s=%s: %w", name, v, err)
			}
		}
		return nil
	})
}

// openTUN makes a TUN device in a namespace. It lives as long as its descriptor, which works from every namespace.
func openTUN(namespace, name string) (fd int, err error) {
	err = inside(namespace, func() error {
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open /dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			unix.Close(fd)
			return fmt.Errorf("make the TUN device %s: %w", name, err)
		}
		return nil
	})
	return fd, err
}
