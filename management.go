package mars

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"mars/internal/driver"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/wire"
)

// maxDialled bounds the faces of a node that applications may still have it dial another one.
const maxDialled = 1024

// dialer makes and ends faces for faces/create and faces/destroy.
func (n *Node) dialer() node.Dialer { return node.Dialer{Create: n.createFace, Destroy: n.driver.Drop} }

// createFace dials a neighbour (NFD wiki, FaceMgmt, "Create a face"). Host names would have to be looked up, so there are only
// addresses: clients look up names themselves. A face that the neighbour made doesn't count as there: it ends when the neighbour
// wants. It runs on the loop goroutine and doesn't block.
func (n *Node) createFace(remote, local string, mtu uint64) (machine.FaceID, wire.ControlResponse) {
	refuse := func(code uint64, format string, args ...any) (machine.FaceID, wire.ControlResponse) {
		return 0, wire.ControlResponse{Code: code, Text: fmt.Sprintf(format, args...)}
	}
	to, code, err := udpAddr(remote)
	if err != nil {
		return refuse(code, "%v", err)
	}
	var from netip.AddrPort
	if local != "" {
		if from, code, err = udpAddr(local); err != nil {
			return refuse(code, "local: %v", err)
		}
	}
	switch a := to.Addr(); {
	case a.IsUnspecified(), a.IsMulticast(), to.Port() == 0:
		return refuse(406, "%v can't be sent to: give the address and port of one neighbour", to)
	case mtu != 0 && (mtu < minMTU || mtu > maxMTU):
		return refuse(406, "an MTU is from %d to %d bytes", minMTU, maxMTU)
	}
	dialled := 0
	for _, f := range n.driver.Faces() {
		if f.Stream || f.OnDemand {
			continue
		}
		dialled++
		if f.Remote == to && (local == "" || isAt(f.Local, from)) {
			return f.ID, wire.ControlResponse{Code: 409, Text: "there is a face to that address"}
		}
	}
	if dialled >= maxDialled {
		return refuse(503, "there are too many faces")
	}
	if mtu == 0 {
		mtu = DefaultMTU
	}
	id, err := n.driver.Dial(driver.FaceSpec{
		Remote: to, Local: from, Name: udpURI(to), Face: machine.Face{MTU: int(mtu)},
		KeepAlive: driver.KeepAlive{Every: keepAlive, Datagram: idlePacket},
	})
	if err != nil {
		return refuse(504, "%v", err)
	}
	return id, wire.ControlResponse{Code: statusOK, Text: "OK"}
}

// isAt tells whether a face has the local address that is wanted; port 0: any.
func isAt(has, want netip.AddrPort) bool {
	return has.Addr().Unmap() == want.Addr().Unmap() && (want.Port() == 0 || has.Port() == want.Port())
}

// udpAddr reads the URI of one end of a face, and says with which code to refuse it.
func udpAddr(uri string) (a netip.AddrPort, code uint64, err error) {
	if scheme, _, ok := strings.Cut(uri, "://"); ok && scheme != "udp" && scheme != "udp4" && scheme != "udp6" {
		return a, 406, fmt.Errorf("faces are udp4://address:port or udp6://[address]:port; scheme %q is not available", scheme)
	}
	u, err := ParseFaceURI(uri)
	if err != nil {
		return a, 400, err
	}
	if u.Key != (PublicKey{}) {
		return a, 406, errors.New("faces that are made this way are plain; those with a key belong in the configuration")
	}
	a, ok := u.Addr()
	if !ok {
		return a, 400, fmt.Errorf("%s is a name: give its address", u.Host)
	}
	return a, 0, nil
}

// faceURIs names a face to NDN's management tools, which know udp4://address:port, udp6://[address]:port and unix://path.
func (n *Node) faceURIs(id machine.FaceID) (remote, local string) {
	for _, f := range n.driver.Faces() {
		switch {
		case f.ID != id:
		case f.Stream:
			return fmt.Sprintf("fd://%d", id), "unix://" + f.Name
		default:
			return udpURI(f.Remote), udpURI(f.Local)
		}
	}
	return "", ""
}

func udpURI(a netip.AddrPort) string {
	switch {
	case !a.IsValid():
		return ""
	case a.Addr().Unmap().Is4():
		return fmt.Sprintf("udp4://%v:%d", a.Addr().Unmap(), a.Port())
	}
	return "udp6://" + a.String()
}
