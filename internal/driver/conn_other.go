//go:build !linux

package driver

import "net/netip"

func open(local, remote netip.AddrPort) (batchConn, error) { return openPortable(local, remote) }
