package mars

import (
	"fmt"
	"net/netip"

	"mars/internal/machine"
)

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
