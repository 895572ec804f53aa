package driver

import (
	"bytes"
	"crypto/rand"
	"net"
	"net/netip"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/secure"
)

// newGuarded is a driver with a key; peers that dial it must be welcome.
func newGuarded(t testing.TB, m machine.Machine, o Options, welcome ...secure.PublicKey) (*Driver, secure.PublicKey) {
	t.Helper()
	key, err := secure.NewPrivateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var d *Driver
	o.Guard, err = secure.NewGuard(secure.Config{
		Key: key, Random: rand.Reader, Wall: func() int64 { return time.Now().Unix() }, AES: true,
		NewFace: func() (machine.FaceID, bool) { return d.NewFace() },
		Admit: func(_ int64, k secure.PublicKey, _ []byte) (secure.Peer, error) {
			for _, w := range welcome {
				if w == k {
					return secure.Peer{Key: k}, nil
				}
			}
			return secure.Peer{}, secure.ErrUnknown
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d = New(m, o)
	return d, key.Public()
}

func spec(to netip.AddrPort, key secure.PublicKey) FaceSpec {
	k := [32]byte(key)
	return FaceSpec{Remote: to, Key: &k}
}

// TestGuardedFaces sends numbered datagrams over several protected faces and checks off the echoes.
func TestGuardedFaces(t *testing.T) {
	const faces, count = 3, 2000
	m := newCounter(faces, count, 1300, 64)
	here, ours := newGuarded(t, m, Options{})
	far := newEcho()
	there, theirs := newGuarded(t, far, Options{}, ours)
	at := listen(t, there, loopback)
	for range faces {
		dial(t, here, spec(at, theirs))
	}
	start(t, there)
	start(t, here)
	await(t, "the last echo", m.done)
	do(t, here, func() {
		if m.bad > 0 {
			t.Errorf("%d wrong echoes", m.bad)
		}
	})
	for _, f := range here.Faces() {
		if !f.Protected || !f.Up || f.MTU != DefaultMTU-24 {
			t.Errorf("%+v", f)
		}
	}
	for _, f := range there.Faces() {
		if !f.Protected || !f.OnDemand || f.DatagramsIn == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestNobodyElse: whoever isn't welcome, or sends in the clear from a protected face's address, gets nowhere.
func TestNobodyElse(t *testing.T) {
	near := newEcho()
	here, ours := newGuarded(t, near, Options{})
	far := newEcho()
	there, theirs := newGuarded(t, far, Options{}, ours)
	at := listen(t, there, loopback)
	port, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	from := port.LocalAddr().(*net.UDPAddr).AddrPort()
	port.Close()
	s := spec(at, theirs)
	s.Local = from
	id := dial(t, here, s)
	start(t, there)
	start(t, here)
	until(t, here, "the face", func() bool { return len(near.faces) == 1 })
	until(t, there, "the guest", func() bool { return len(far.faces) == 1 })

	stranger := newEcho()
	third, _ := newGuarded(t, stranger, Options{})
	dial(t, third, spec(at, theirs))
	start(t, third)
	until(t, there, "the stranger's handshakes", func() bool {
		return there.opt.Guard.(*secure.Guard).Counts()[secure.DropUnknownKey] > 0
	})
	do(t, third, func() {
		if len(stranger.faces) > 0 {
			t.Error("a stranger got a face")
		}
	})

	// In the clear, from the address of the protected face.
	here.Drop(id)
	until(t, here, "the end of the face", func() bool { return len(near.faces) == 0 })
	var c *net.UDPConn
	until(t, here, "the address", func() bool { // the socket's end may take a moment
		c, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(from), net.UDPAddrFromAddrPort(at))
		return err == nil
	})
	defer c.Close()
	before := there.Faces()[0]
	for range 10 {
		if _, err := c.Write([]byte("in the clear")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, there, "the rejection", func() bool { return there.Faces()[0].Rejected >= before.Rejected+10 })
	if f := there.Faces()[0]; f.DatagramsIn != before.DatagramsIn {
		t.Errorf("%d datagrams in the clear came in by a protected face", f.DatagramsIn-before.DatagramsIn)
	}
}

// TestPlainBesideGuarded: where it is allowed, plain peers reach the same socket.
func TestPlainBesideGuarded(t *testing.T) {
	there, _ := newGuarded(t, newEcho(), Options{})
	at, err := there.ListenPlain(loopback)
	if err != nil {
		t.Fatal(err)
	}
	start(t, there)
	ask(t, client(t, "127.0.0.1:0", at.String()), "a plain datagram")

	strict, _ := newGuarded(t, newEcho(), Options{})
	at = listen(t, strict, loopback)
	start(t, strict)
	c := client(t, "127.0.0.1:0", at.String())
	if _, err := c.Write(bytes.Repeat([]byte{100}, 50)); err != nil {
		t.Fatal(err)
	}
	until(t, strict, "the rejection", func() bool {
		return strict.opt.Guard.(*secure.Guard).Counts()[secure.DropMalformed] == 1
	})
}
