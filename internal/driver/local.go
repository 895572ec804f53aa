package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mars/internal/machine"
)

const (
	// socketMode lets the group in: who may use a node is who belongs to its group.
	socketMode = 0o660
	// maxLocals bounds the applications that are connected at once.
	maxLocals = 256
	// localQueue is the capacity of the Data queue toward an application, packets: 2 MB of chunks.
	localQueue = 256
)

// LocalStats counts what happened at the sockets for local applications.
type LocalStats struct {
	Accepted  uint64 // connections that became faces
	Refused   uint64 // closed at once: there were too many
	Malformed uint64 // closed since what came was no sequence of NDN packets
}

// ListenLocal opens a Unix stream socket at path. Each connection is a face of a local application (machine.Face.Local),
// which ends with the connection; what goes over it is NDN packets back to back, as over NFD's socket. The socket's file
// has mode 0660 and goes away with the driver. A file that was left there by a node which ended otherwise is replaced;
// where somebody answers, or something else than a socket lies, ListenLocal fails and says what to do.
func (d *Driver) ListenLocal(path string) error {
	if err := checkSocketPath(path); err != nil {
		return err
	}
	release := bindLock(filepath.Dir(path))
	l, err := bindLocal(path)
	release()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return errors.Join(ErrClosed, l.Close())
	}
	d.locals = append(d.locals, l)
	d.readers.Add(1)
	go d.accept(l)
	return nil
}

func bindLocal(path string) (*net.UnixListener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	cfg := net.ListenConfig{Control: restrict}
	l, err := cfg.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, explainLocal(err, path)
	}
	if err := os.Chmod(path, socketMode); err != nil { // the umask may have taken the group's bits
		return nil, errors.Join(fmt.Errorf("permissions of socket %s: %w", path, err), l.Close())
	}
	return l.(*net.UnixListener), nil
}

// removeStale removes the socket file of a node that didn't come to its end.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return explainLocal(err, path)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket: move it away or choose another path", path)
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = c.Close()
		return fmt.Errorf("a node answers at %s already: stop it or choose another path: %w", path, syscall.EADDRINUSE)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return explainLocal(err, path)
}

// DialLocal makes a face to the node that listens at path (ListenLocal, NFD, ndnd). It is for the driver of an
// application, as its only face: the Machine is told Local and Node. When the node ends, so does the face (FaceDown).
func (d *Driver) DialLocal(path string) (machine.FaceID, error) {
	if err := checkSocketPath(path); err != nil {
		return 0, err
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		return 0, explainLocal(err, path)
	}
	return d.addLocal(c.(*net.UnixConn), path, machine.Face{Local: true, Node: true, DataQueue: localQueue})
}

// addLocal makes a connection a face.
func (d *Driver) addLocal(c *net.UnixConn, path string, what machine.Face) (machine.FaceID, error) {
	conn, err := newStream(c)
	if err != nil {
		return 0, err
	}
	id, ok := d.newID()
	if !ok {
		return 0, errors.Join(errors.New("no face identifier is left"), conn.close())
	}
	f := newFace(id, path, what, 0)
	f.sock = newSocket(d, conn, f)
	return id, d.add(f.sock)
}

// accept makes connections faces until l is closed.
func (d *Driver) accept(l *net.UnixListener) {
	defer d.readers.Done()
	for {
		c, err := l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			d.log.Warn("accepting applications fails; the socket stays and keeps trying", "socket", l.Addr(), "error", err)
			time.Sleep(longestPause) // what it is short of, descriptors perhaps, others may give back
		case d.localCount() >= maxLocals:
			d.local.refused.Add(1)
			_ = c.Close()
		default:
			if _, err := d.addLocal(c, l.Addr().String(), machine.Face{Local: true, OnDemand: true, DataQueue: localQueue}); err != nil {
				d.log.Warn("an application can't be served", "socket", l.Addr(), "error", err)
				continue
			}
			d.local.accepted.Add(1)
		}
	}
}

func (d *Driver) localCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.all {
		if f.face.Local {
			n++
		}
	}
	return n
}

// LocalStats returns the counters of ListenLocal's sockets.
func (d *Driver) LocalStats() LocalStats {
	return LocalStats{d.local.accepted.Load(), d.local.refused.Load(), d.local.malformed.Load()}
}

func checkSocketPath(path string) error {
	if path == "" {
		return errors.New("the path of the socket is missing")
	}
	if len(path) > maxSocketPath {
		return fmt.Errorf("socket path %s has %d bytes, the system allows %d: choose a shorter one", path, len(path), maxSocketPath)
	}
	return nil
}

// explainLocal adds the next step to the errors that a person can do something about.
func explainLocal(err error, path string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("socket %s is in use: stop the other program or choose another path: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission for socket %s: join the group that owns it, or choose another path: %w", path, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody answers at %s: the node has ended; start it again: %w", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no socket %s: start the node, or make the directory: %w", path, err)
	}
	return fmt.Errorf("socket %s: %w", path, err)
}
