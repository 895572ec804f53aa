package mars

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the UDP port of NDN, used when a face URI names none.
const DefaultPort = 6363

// FaceURI is the address of one end of a face: "udp4://host:port". A host name is resolved when the face is dialled.
type FaceURI struct {
	Host string // an IPv4 address or a host name
	Port uint16 // 0 (listening only): any free port
}

// String writes u as ParseFaceURI reads it.
func (u FaceURI) String() string {
	return "udp4://" + net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port)))
}

// MarshalText is String, for YAML and JSON.
func (u FaceURI) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Addr returns the address if the host is one and not a name.
func (u FaceURI) Addr() (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(u.Host)
	return netip.AddrPortFrom(a, u.Port), err == nil
}

// ParseFaceURI parses "udp4://host[:port]"; the default port is 6363. "udp4://KEY@host:port" is reserved for faces that
// are encrypted to that key, which don't exist yet.
func ParseFaceURI(s string) (FaceURI, error) {
	const want = "write udp4://host:port"
	scheme, rest, found := strings.Cut(s, "://")
	switch {
	case !found:
		return FaceURI{}, fmt.Errorf("%q has no scheme; write udp4://%s", s, s)
	case scheme != "udp4":
		return FaceURI{}, fmt.Errorf("scheme %q is not available; %s", scheme, want)
	case strings.Contains(rest, "@"):
		return FaceURI{}, errors.New("secure faces (udp4://KEY@host:port) are not available yet; without KEY@ the face is neither encrypted nor authenticated")
	}
	host, port, hasPort := strings.Cut(rest, ":")
	u := FaceURI{Host: host, Port: DefaultPort}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			if strings.ContainsAny(rest, "[]") || strings.Count(rest, ":") > 1 {
				return FaceURI{}, fmt.Errorf("%q is an IPv6 address, which is not available yet; %s with an IPv4 address", rest, want)
			}
			return FaceURI{}, fmt.Errorf("port %q is not a number from 0 to 65535; %s", port, want)
		}
		u.Port = uint16(n)
	}
	if err := checkHost(host); err != nil {
		return FaceURI{}, fmt.Errorf("%w; %s", err, want)
	}
	return u, nil
}

// checkHost accepts IPv4 addresses and what can be a host name (RFC 1123 §2.1; underscores occur in the wild).
func checkHost(host string) error {
	if host == "" {
		return errors.New("the host is missing")
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return nil
	}
	bad := strings.IndexFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
	switch {
	case bad >= 0 || len(host) > 253 || host[0] == '-' || host[0] == '.' || strings.Contains(host, ".."):
		return fmt.Errorf("%q is neither an IPv4 address nor a host name", host)
	case strings.Trim(host, "0123456789.") == "":
		return fmt.Errorf("%q is not an IPv4 address", host)
	}
	return nil
}

// parseLocal parses the local address of a face: "192.0.2.1" or "192.0.2.1:6363".
func parseLocal(s string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return netip.AddrPortFrom(a, 0), nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Addr().Is4() {
		return ap, nil
	}
	return netip.AddrPort{}, fmt.Errorf("%q is not a local address; write an IPv4 address such as 192.0.2.1 or 192.0.2.1:6363", s)
}
