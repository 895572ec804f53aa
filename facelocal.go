package mars

import (
	"fmt"
	"net/netip"
	"strings"
)

// FaceLocal is our side of a face: an address to send from or an interface to send by. The zero value lets the system
// choose.
type FaceLocal struct {
	Addr      netip.AddrPort // port 0: any; invalid: the system chooses
	Interface string         // whatever the routes say; "": the system chooses
}

// String writes l as the configuration has it; "" for the zero value.
func (l FaceLocal) String() string {
	switch {
	case l.Interface != "":
		return l.Interface
	case !l.Addr.IsValid():
		return ""
	case l.Addr.Port() == 0:
		return l.Addr.Addr().String()
	}
	return l.Addr.String()
}

// ip is the version of IP that the face must have, 4 or 6; 0: either.
func (l FaceLocal) ip() int {
	switch a := l.Addr.Addr(); {
	case a.Is4():
		return 4
	case a.Is6():
		return 6
	}
	return 0
}

// ParseFaceLocal parses "192.0.2.1", "192.0.2.1:6363", "2001:db8::1", "[2001:db8::1]:6363" or the name of an interface,
// "eth1".
func ParseFaceLocal(s string) (FaceLocal, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return FaceLocal{Addr: netip.AddrPortFrom(a, 0)}, checkLocal(a)
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return FaceLocal{Addr: ap}, checkLocal(ap.Addr())
	}
	const longest = 15 // IFNAMSIZ − 1
	if s == "" || len(s) > longest || s == "." || s == ".." || strings.ContainsAny(s, "/:[],= \t\r\n") || strings.Trim(s, "0123456789.") == "" {
		return FaceLocal{}, fmt.Errorf("%q is neither an address nor an interface; write 192.0.2.1, 192.0.2.1:6363, [2001:db8::1]:6363 or eth1", s)
	}
	return FaceLocal{Interface: s}, nil
}

func checkLocal(a netip.Addr) error {
	if a.IsUnspecified() {
		return fmt.Errorf("%s is every address: leave local away, and the system chooses", a)
	}
	return FaceURI{}.checkAddr(a)
}

// ParseFace parses the address of a neighbour with what else is to be said of the face: "udp://KEY@host:port" and, after
// commas, local=ADDRESS or local=INTERFACE, rate=RATE, mtu=BYTES and queue=PACKETS, which mean what they do in the
// configuration. The face has no name yet.
func ParseFace(s string) (FaceConfig, error) {
	to, rest, more := strings.Cut(s, ",")
	u, err := ParseFaceURI(to)
	if err == nil {
		err = u.checkPeer()
	}
	if err != nil {
		return FaceConfig{}, err
	}
	f := FaceConfig{To: u, MTU: DefaultMTU}
	options := map[string]func(string) error{
		"local": into(&f.Local, ParseFaceLocal),
		"rate":  into(&f.Rate, ParseRate),
		"mtu":   into(&f.MTU, integer(minMTU, maxMTU)),
		"queue": into(&f.Queue, integer(1, maxQueue)),
	}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ",")
		key, value, _ := strings.Cut(option, "=")
		set := options[key]
		if set == nil {
			return FaceConfig{}, fmt.Errorf("%s: %q is unknown or there twice; write local=, rate=, mtu= or queue= behind the address, as in udp://KEY@host:port,local=eth1", s, key)
		}
		if err := set(value); err != nil {
			return FaceConfig{}, fmt.Errorf("%s: %s: %w", to, key, err)
		}
		delete(options, key)
	}
	return f, nil
}
