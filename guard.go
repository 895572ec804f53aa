package mars

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sys/cpu"

	"mars/internal/fetch"
	"mars/internal/foreign"
	"mars/internal/machine"
	"mars/internal/secure"
)

const (
	// settleTime is how long a node's first fetch waits for the handshakes of its faces.
	settleTime = 5 * time.Second
	// straggle is how long it waits for the rest once one face is up.
	straggle  = 200 * time.Millisecond
	pollFaces = 2 * time.Millisecond
)

// identify gives n a key, and what hangs on it.
func (n *Node) identify(key secure.PrivateKey, members *membership) (err error) {
	n.key, n.membership = key.Public(), members
	n.signer = newSigner(key, func() []byte { return members.shown })
	if n.trust, err = newTrust(n.cfg, n.key, members.policy); err == nil {
		n.guard, err = n.newGuard(key)
	}
	return err
}

// newGuard protects the faces of n.
func (n *Node) newGuard(key secure.PrivateKey) (*secure.Guard, error) {
	return secure.NewGuard(secure.Config{
		Key: key, Admit: n.membership.policy.Admit, Keep: n.membership.policy.Keep, Random: rand.Reader, Wall: func() int64 { return time.Now().Unix() },
		NewFace: func() (machine.FaceID, bool) { return n.driver.NewFace() },
		AES:     cpu.X86.HasAES || cpu.ARM64.HasAES,
	})
}

// Key is the public key of the node: neighbours dial it by this.
func (n *Node) Key() PublicKey { return n.key }

// errStrangers says that nobody whom the node dials has proved its key.
var errStrangers = errors.New("no neighbour has answered the handshake")

// strangers says so where it is why a fetch got no answer.
func (n *Node) strangers(err error) error {
	silence := []error{fetch.ErrTimeout, fetch.ErrNoRoute, foreign.ErrTimeout, foreign.ErrNoRoute}
	if !slices.ContainsFunc(silence, func(s error) bool { return errors.Is(err, s) }) {
		return err
	}
	if waiting, up := n.handshakes(); waiting == 0 || up {
		return err
	}
	if refusal := n.refusal.Load(); refusal != nil {
		return &stranger{*refusal}
	}
	return errStrangers
}

// stranger is errStrangers with what a neighbour said.
type stranger struct{ reason string }

func (s *stranger) Error() string        { return "the neighbour refuses this node: " + s.reason }
func (s *stranger) Is(target error) bool { return target == errStrangers }

// tellPeers logs who came, and who may not. It runs on the loop goroutine.
func (n *Node) tellPeers() {
	for _, e := range n.guard.Events(nil) {
		level, what := slog.LevelInfo, "a peer has proved its key"
		switch e.Kind {
		case secure.PeerRefused:
			level, what = slog.LevelWarn, "a peer is refused"
		case secure.RefusedUs:
			level, what = slog.LevelWarn, "a peer refuses this node"
			reason := e.Err.Error()
			n.refusal.Store(&reason)
		case secure.PeerClosed:
			level, what = slog.LevelWarn, "a peer isn't welcome any more"
		}
		args := []any{"face", e.Face, "key", e.Peer.Key.String()}
		if e.Peer.Name != "" {
			args = append(args, "peer", e.Peer.Name)
		}
		if e.Err != nil {
			args = append(args, "reason", e.Err.Error())
		}
		n.log.Log(context.Background(), level, what, args...)
	}
}

// settle waits once, before the first fetch, until the faces that are dialled have shaken hands: a flow that began with
// half of its paths would find the others only later. Who doesn't answer in time is left out.
func (n *Node) settle() {
	n.settled.Do(func() {
		end := time.Now().Add(settleTime)
		for up := false; time.Now().Before(end); time.Sleep(pollFaces) {
			waiting, some := n.handshakes()
			if waiting == 0 {
				return
			}
			if some && !up {
				up, end = true, time.Now().Add(straggle)
			}
		}
	})
}

// handshakes counts the dialled faces that wait for one, and tells whether another face is up.
func (n *Node) handshakes() (waiting int, up bool) {
	for _, f := range n.driver.Faces() {
		switch {
		case f.OnDemand || f.Stream:
		case f.Up:
			up = true
		case f.Protected:
			waiting++
		}
	}
	return waiting, up
}
