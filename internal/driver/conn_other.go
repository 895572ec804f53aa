//go:build !linux

package driver

import "net/netip"

func open(local, remote netip.AddrPort) (batchConn, error) { return openPortable(local, remote) }

// openOn binds to an address of the interface, as there is no other way that works everywhere.
func openOn(device string, local, remote netip.AddrPort) (batchConn, error) {
	if device != "" {
		ip, err := deviceAddr(device, remote.Addr())
		if err != nil {
			return nil, err
		}
		local = netip.AddrPortFrom(ip, local.Port())
	}
	return open(local, remote)
}
