package mars

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/secure"
	"mars/internal/wire"
)

const (
	// askNode is how long the node of this host may take to answer its first question.
	askNode = 2 * time.Second
	// An application whose node has ended looks for the next one after pauses from firstRedial to lastRedial, each twice as
	// long as the last.
	firstRedial = 100 * time.Millisecond
	lastRedial  = 5 * time.Second
)

// systemSocket is where the node of the system listens for applications.
const systemSocket = "/run/mars/node.sock"

// DefaultSocket is where a node listens for applications: /run/mars/node.sock as root, else mars/node.sock in
// $XDG_RUNTIME_DIR; "" without that.
func DefaultSocket() string {
	if os.Geteuid() == 0 {
		return systemSocket
	}
	return userSocket()
}

func userSocket() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mars", "node.sock")
	}
	return ""
}

// RunningNode returns the socket of the node that runs on this host for this user, else of the system's; "": there is none.
func RunningNode() string {
	for _, path := range []string{userSocket(), systemSocket} {
		if path != "" && NodeRuns(path) {
			return path
		}
	}
	return ""
}

// NodeRuns tells whether somebody answers at a socket.
func NodeRuns(path string) bool {
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// ListenSocket opens a socket for applications on this host: mars get and mars serve, and every program that speaks NDN. Its
// directory is made if need be. Call it before Run. A socket file that a node left there is replaced; where a node answers, the
// error is ErrBusy.
func (n *Node) ListenSocket(path string) error {
	dir := filepath.Dir(path)
	mode := os.FileMode(0o755) // who may use the socket is what the mode of the socket says
	if dir != filepath.Dir(systemSocket) {
		mode = 0o700
	}
	err := os.MkdirAll(dir, mode)
	if err == nil {
		err = n.driver.ListenLocal(path)
	}
	if err == nil {
		return nil
	}
	e := &Error{Op: "listen for applications", Err: err, Next: "choose another path with --socket or node.socket, or none"}
	if errors.Is(err, syscall.EADDRINUSE) {
		e.Kind = ErrBusy
	}
	return e
}

// attachment is what ties an application's node to the node of its host.
type attachment struct {
	path   string
	source []byte         // component of the names of the node's flows
	face   machine.FaceID // loop goroutine only; 0: the node has ended
	lost   chan struct{}  // holds one when it has
	ready  chan struct{}  // closed when what this node serves was registered for the first time
}

// attach makes the node that listens at path the way to everything.
func (n *Node) attach(path string, source []byte) error {
	n.home = &attachment{path: path, source: source, lost: make(chan struct{}, 1), ready: make(chan struct{})}
	id, err := n.driver.DialLocal(path)
	if err != nil {
		return noNode(path, err)
	}
	n.attached(0, id)
	return nil
}

// attached uses a new face to the node of this host. Loop goroutine, or before it runs.
func (n *Node) attached(now machine.Time, id machine.FaceID) {
	n.home.face = id
	n.node.AddRoute(now, nil, forward.NextHop{Face: id, Hops: 1})
}

// noNode is the error of a socket where no node answers.
func noNode(path string, err error) error {
	e := &Error{
		Op: "use the node at " + path, Kind: ErrTimeout, Err: err,
		Next: "start it with mars node, or leave it out with --socket none",
	}
	if errors.Is(err, fs.ErrPermission) {
		e.Kind, e.Next = nil, "join the group that owns the socket, or leave the node out with --socket none"
	}
	return e
}

// id is the identifier of the node of this host. The next one has another; this one's flows go on.
func (a *attachment) id() uint64 { return binary.BigEndian.Uint64(a.source) }

// watch notes the end of the node of this host. Loop goroutine.
func (a *attachment) watch(n *node.Node) {
	if a.face == 0 {
		return
	}
	if up, _ := n.Forwarder().Face(a.face); !up {
		a.face = 0
		a.lost <- struct{}{} // has room: keep took the last one before it made the face
	}
}

// keep registers the prefixes, and when the node of this host ends, waits for the next one.
func (n *Node) keep(ctx context.Context) {
	a := n.home
	for {
		if !n.register(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.lost:
		}
		n.log.Warn("the node of this host has ended; waiting for the next", "socket", a.path)
		if !n.redial(ctx) {
			return
		}
		n.log.Warn("the node of this host is back", "socket", a.path)
	}
}

// redial makes a face to the next node at the socket; false: ctx is done.
func (n *Node) redial(ctx context.Context) bool {
	for pause := firstRedial; ; pause = min(2*pause, lastRedial) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		id, err := n.driver.DialLocal(n.home.path)
		if err != nil {
			continue
		}
		return n.driver.Do(func(now machine.Time) { n.attached(now, id) }) == nil
	}
}

// register tells the node of this host what the application produces, until it is told or lost; false: ctx is done.
func (n *Node) register(ctx context.Context) bool {
	for i := 0; i < len(n.services); {
		err := n.command(ctx, "rib/register", wire.ControlParameters{Name: n.services[i].prefix, HasName: true})
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			i++
			continue
		case len(n.home.lost) > 0:
			return true
		}
		n.log.Warn("the node of this host doesn't take the prefix; trying again", "prefix", n.services[i].prefix.String(), "err", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(firstPause):
		}
	}
	select {
	case <-n.home.ready:
	default:
		close(n.home.ready)
	}
	return true
}

// command gives the node of this host a management command.
func (n *Node) command(ctx context.Context, what string, p wire.ControlParameters) error {
	a, err := n.question(ctx, func(now machine.Time) uint32 { return n.asker.Command(now, what, p) })
	var r wire.ControlResponse
	switch {
	case err != nil:
		return err
	case a.Content == nil:
		return ErrTimeout
	case r.Decode(a.Content) != nil:
		return errors.New("its answer is no control response")
	case r.Code != statusOK:
		return fmt.Errorf("it answers %d %s", r.Code, r.Text)
	}
	return nil
}

// statusOK is the code of a control response that grants a command.
const statusOK = 200

// Registered waits until the node of this host knows what this one serves. Without an attachment there is nothing to wait for.
func (n *Node) Registered(ctx context.Context) error {
	if n.home == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-n.home.ready:
		return nil
	}
}

// askSource asks the node at a socket for the source component of its flows.
func askSource(path string) ([]byte, error) {
	d, err := askHome(path, node.SourceName)
	if err == nil && len(d) != node.SourceLen {
		err = noNode(path, errNoMARS)
	}
	return d, err
}

// askSigners asks the node at a socket for the keys of the nodes that it dials, and its own. An older node tells none.
func askSigners(path string) (keys []PublicKey) {
	d, _ := askHome(path, node.SignersName)
	for ; len(d) >= secure.KeyLen; d = d[secure.KeyLen:] {
		keys = append(keys, PublicKey(d[:secure.KeyLen]))
	}
	return keys
}

var errNoMARS = errors.New("what listens there is no MARS node")

// askHome asks the node at a socket a question, and returns the content of the answer.
func askHome(path string, question wire.Name) ([]byte, error) {
	d, err := askSocket(path, wire.Interest{Name: question, CanBePrefix: true, MustBeFresh: true, HasNonce: true, Nonce: 1}, 0, askNode)
	return d.Content, err
}

// askSocket asks the node at a socket one question, which is to leave by one of its faces (0: by any), and waits for the answer.
func askSocket(path string, i wire.Interest, face uint64, wait time.Duration) (d wire.Data, err error) {
	c, err := net.DialTimeout("unix", path, wait)
	if err != nil {
		return d, noNode(path, err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return d, noNode(path, err)
	}
	question := i.Append(nil)
	if face != 0 {
		question = (&wire.Packet{NextHop: face, Fragment: question}).Append(nil)
	}
	if _, err := c.Write(question); err != nil {
		return d, noNode(path, err)
	}
	var buf []byte
	for chunk := make([]byte, 4096); ; {
		k, err := c.Read(chunk)
		buf = append(buf, chunk[:k]...)
		size, malformed := wire.FrameLen(buf, wire.MaxPacket)
		if size > 0 && size <= len(buf) {
			return answerOf(path, buf[:size])
		}
		if err := errors.Join(err, malformed); err != nil {
			return d, noNode(path, err)
		}
	}
}

// answerOf reads the answer.
func answerOf(path string, packet []byte) (d wire.Data, err error) {
	var p wire.Packet
	if p.Decode(packet) == nil && !p.Nack && d.Decode(p.Fragment) == nil {
		return d, nil
	}
	return wire.Data{}, noNode(path, errNoMARS)
}
