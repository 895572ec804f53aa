package mars

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// DefaultPort is the UDP port of NDN, used when a face URI names none.
const DefaultPort = 6363

// plainScheme begins the scheme of faces that aren't encrypted.
const plainScheme = "plain+"

// FaceURI is the address of one end of a face: "udp://host:port", "udp4://host:port" or "udp6://[address]:port", with KEY@
// before the host of a face that is encrypted to the holder of that key, or "plain+" before it all where no encryption is wanted.
// A host name is resolved when the face is dialled.
type FaceURI struct {
	Host string // an IPv4 address, an IPv6 address (with %zone if it is link-local) or a host name
	Port uint16 // 0 (listening only): any free port
	// IP is the version that a host name must resolve to, 4 or 6; 0: either. Of addresses only "::" needs one, for
	// listening: 0 is every address of both versions, 6 every IPv6 address. ParseFaceURI sets it where it tells something.
	IP int
	// Key is the peer's. A face is dialled with one, or is Plain.
	Key PublicKey
	// Plain: the face is neither encrypted nor authenticated; listening: such ones are welcome too.
	Plain bool
}

// String writes u as ParseFaceURI reads it.
func (u FaceURI) String() string {
	scheme := "udp"
	if u.Plain {
		scheme = plainScheme + scheme
	}
	if a, err := netip.ParseAddr(u.Host); err == nil && a != netip.IPv6Unspecified() {
		scheme += version(a)
	} else if u.IP != 0 {
		scheme += strconv.Itoa(u.IP)
	}
	scheme += "://"
	if u.Key != (PublicKey{}) {
		scheme += u.Key.String() + "@"
	}
	return scheme + net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port)))
}

func version(a netip.Addr) string {
	if a.Is4() {
		return "4"
	}
	return "6"
}

// MarshalText is String, for YAML and JSON.
func (u FaceURI) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Addr returns the address if the host is one and not a name.
func (u FaceURI) Addr() (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(u.Host)
	return netip.AddrPortFrom(a, u.Port), err == nil
}

// bindAddr is what a driver listens on; the invalid address stands for every one of both versions.
func (u FaceURI) bindAddr() netip.AddrPort {
	a, _ := u.Addr()
	if a.Addr() == netip.IPv6Unspecified() && u.IP != 6 {
		return netip.AddrPortFrom(netip.Addr{}, u.Port)
	}
	return a
}

// ParseFaceURI parses "udp://host[:port]"; udp4 and udp6 insist on a version of IP. The default port is 6363, and an IPv6
// address stands in brackets: udp6://[fe80::1%eth0]:6363. Before the host may stand the peer's key: udp4://KEY@host:port.
// Without encryption it is plain+udp://host:port.
func ParseFaceURI(s string) (FaceURI, error) {
	const want = "write udp://host:port"
	scheme, rest, found := strings.Cut(s, "://")
	u := FaceURI{Port: DefaultPort}
	if found {
		scheme, u.Plain = strings.CutPrefix(scheme, plainScheme)
	}
	switch {
	case !found:
		if u, err := ParseFaceURI("udp://" + s); err == nil {
			return FaceURI{}, fmt.Errorf("%q has no scheme; write %s", s, u)
		}
		return FaceURI{}, fmt.Errorf("%q has no scheme; %s", s, want)
	case scheme == "udp":
	case scheme == "udp4":
		u.IP = 4
	case scheme == "udp6":
		u.IP = 6
	default:
		return FaceURI{}, fmt.Errorf("scheme %q is not available; %s", scheme, want)
	}
	if key, host, ok := strings.Cut(rest, "@"); ok {
		var err error
		if u.Key, err = ParsePublicKey(key); err != nil {
			return FaceURI{}, fmt.Errorf("what stands before the @ must be the peer's key: %w", err)
		}
		if u.Plain {
			return FaceURI{}, errors.New("a plain face proves no key: leave out the key, or plain+")
		}
		rest = host
	}
	host, port, hasPort, err := splitHost(rest)
	if err != nil {
		return FaceURI{}, err
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return FaceURI{}, fmt.Errorf("port %q is not a number from 0 to 65535; %s", port, want)
		}
		u.Port = uint16(n)
	}
	u.Host = host
	if err := u.checkHost(); err != nil {
		return FaceURI{}, fmt.Errorf("%w; %s", err, want)
	}
	if a, ok := u.Addr(); ok {
		u.Host = a.Addr().String()
		if a.Addr() != netip.IPv6Unspecified() {
			u.IP = 0 // the address tells
		}
	}
	return u, nil
}

// splitHost splits "host[:port]" and "[address][:port]".
func splitHost(s string) (host, port string, hasPort bool, err error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		host, after, closed := strings.Cut(inner, "]")
		port, hasPort = strings.CutPrefix(after, ":")
		if _, err := netip.ParseAddr(host); !closed || after != "" && !hasPort || err != nil || !strings.Contains(host, ":") {
			return "", "", false, fmt.Errorf("%q is not an IPv6 address in brackets; write udp6://[2001:db8::1]:port", s)
		}
		return host, port, hasPort, nil
	}
	if strings.Count(s, ":") > 1 {
		return "", "", false, fmt.Errorf("%q looks like an IPv6 address; write it in brackets, udp6://[%s]", s, s)
	}
	host, port, hasPort = strings.Cut(s, ":")
	return host, port, hasPort, nil
}

// checkHost accepts addresses of u's version and what can be a host name (RFC 1123 §2.1; underscores occur in the wild).
func (u FaceURI) checkHost() error {
	host := u.Host
	if host == "" {
		return errors.New("the host is missing")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return u.checkAddr(a)
	}
	bad := strings.IndexFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
	switch {
	case bad >= 0 || len(host) > 253 || host[0] == '-' || host[0] == '.' || strings.Contains(host, ".."):
		return fmt.Errorf("%q is neither an address nor a host name", host)
	case strings.Trim(host, "0123456789.") == "":
		return fmt.Errorf("%q is not an IPv4 address", host)
	}
	return nil
}

func (u FaceURI) checkAddr(a netip.Addr) error {
	switch {
	case u.IP == 4 && !a.Is4():
		return fmt.Errorf("%s is no IPv4 address, which udp4 stands for", a)
	case u.IP == 6 && !a.Is6():
		return fmt.Errorf("%s is no IPv6 address, which udp6 stands for", a)
	case a.Is4In6():
		return fmt.Errorf("%s is an IPv4 address in disguise: use %s", a, a.Unmap())
	case a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "":
		return fmt.Errorf("%s is on every link: name the interface, %s%%eth0", a, a)
	case !a.IsLinkLocalUnicast() && a.Zone() != "":
		return fmt.Errorf("%s: only link-local addresses have a zone", a)
	}
	return nil
}

// resolvePatience bounds the look-up of one host name.
const resolvePatience = 10 * time.Second

// resolve returns the address to dial: of a host name with several, the first of the wanted version that the system has
// a route to, in the order of RFC 6724. version 0: any; a URI that insists on one has its way.
func (u FaceURI) resolve(version int) (netip.AddrPort, error) {
	if a, ok := u.Addr(); ok {
		return a, nil
	}
	if u.IP != 0 {
		version = u.IP
	}
	network := "ip"
	if version != 0 {
		network += strconv.Itoa(version)
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolvePatience)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, network, u.Host)
	if err != nil {
		return netip.AddrPort{}, &Error{Op: "resolve " + u.Host, Kind: ErrTimeout, Err: err, Next: "check the host name, or give its address"}
	}
	return netip.AddrPortFrom(routed(all), u.Port), nil
}

// routed returns the first of some addresses that the system has a route to; the first one if there is none, for routes
// come and go.
func routed(all []netip.Addr) netip.Addr {
	for _, a := range all {
		// Connecting a UDP socket sends nothing (RFC 1122 §4.1.4).
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.Unmap(), DefaultPort)))
		if err == nil {
			_ = c.Close()
			return a.Unmap()
		}
	}
	return all[0].Unmap()
}

// checkPeer tells whether a face to u can be dialled.
func (u FaceURI) checkPeer() error {
	switch {
	case u.Port == 0:
		return fmt.Errorf("%s: port 0 can't be dialled", u)
	case u.Key != (PublicKey{}) && u.Plain:
		return errors.New("a plain face proves no key: leave out the key, or plain+")
	case u.Key == (PublicKey{}) && !u.Plain:
		scheme, host, _ := strings.Cut(u.String(), "://")
		return fmt.Errorf("there is no key in %s: write %s://KEY@%s with the key that `mars key show` prints there, or %s where no encryption is wanted",
			u, scheme, host, plainScheme+u.String())
	}
	return u.checkHost()
}
