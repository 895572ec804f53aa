package mars

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mars/internal/route"
	"mars/internal/wire"
)

// Bounds of numbers in a configuration.
const (
	minMTU   = 256   // an LpPacket header, a name and some payload
	maxMTU   = 65507 // IPv4 datagram of 65535 bytes less IP and UDP headers
	maxQueue = 1_000_000
	maxHops  = 255 // HopLimit is one byte
	maxLabel = 64

	maxOperators = route.MaxNotices // each has a revocation list
)

// checker collects what is wrong with a Config.
type checker struct {
	c    *Config
	errs []error
}

// fail notes a problem at key, with the position of the innermost enclosing value that has one.
func (k *checker) fail(key, format string, args ...any) {
	e := &ConfigError{Key: key, Problem: fmt.Sprintf(format, args...)}
	for at := key; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if p, ok := k.c.where[at]; ok {
			e.File, e.Line, e.Column = p.file, p.line, p.column
			break
		}
	}
	k.errs = append(k.errs, e)
}

// must notes the error of a check of one value.
func (k *checker) must(key string, err error) {
	if err != nil {
		k.fail(key, "%v", err)
	}
}

// Check looks at the configuration as a whole: names that are missing, twice there or unknown, and values that a program
// may have put in. It touches neither files nor the network. The errors are joined *ConfigError.
func (c *Config) Check() error {
	k := &checker{c: c}
	k.node()
	faces := k.faces()
	k.routes(faces)
	k.serve()
	k.operators()
	k.trust()
	return errors.Join(k.errs...)
}

func (k *checker) node() {
	n := k.c.Node
	if n.Name != "" {
		_, err := parseLabel(n.Name)
		k.must("node.name", err)
	}
	if n.Role != "" {
		_, err := oneOf(RoleLeaf, RoleRelay)(n.Role)
		k.must("node.role", err)
	}
	if n.Strategy != "" {
		_, err := oneOf(StrategyMARS, StrategyBestRoute)(n.Strategy)
		k.must("node.strategy", err)
	}
	if n.Profile != "" {
		_, err := oneOf(ProfileMARS, ProfilePaper)(n.Profile)
		k.must("node.profile", err)
	}
	if n.Socket != "" {
		_, err := parseSocket(n.Socket)
		k.must("node.socket", err)
	}
	if n.GuestRate < 0 {
		k.fail("node.guest_rate", "a rate can't be negative")
	}
	for key, t := range map[string]Toggle{"node.routing": n.Routing, "node.detours": n.Detours} {
		if t != "" {
			_, err := parseToggle(string(t))
			k.must(key, err)
		}
	}
	for key, path := range map[string]string{"node.key": n.Key, "node.certificate": n.Certificate, "node.revocations": n.Revocations} {
		if path != "" {
			_, err := absolute(path)
			k.must(key, err)
		}
	}
	for i, p := range k.c.Peers {
		if p.Key == (PublicKey{}) {
			k.fail(fmt.Sprintf("peers[%d]", i), "the peer has no key (key: what mars key show prints there)")
		}
		for j, a := range p.Announce {
			_, err := parsePrefix(a)
			k.must(fmt.Sprintf("peers[%d].announce[%d]", i, j), err)
		}
	}
	seen := map[FaceURI]bool{}
	for i, u := range k.c.Listen {
		key := fmt.Sprintf("listen[%d]", i)
		if _, ok := u.Addr(); !ok {
			k.fail(key, "%s: listening takes an address, not a host name", u)
		}
		if seen[u] && u.Port != 0 {
			k.fail(key, "%s is there twice", u)
		}
		seen[u] = true
	}
}

func (k *checker) operators() {
	all := k.c.Operators
	if len(all) > maxOperators {
		k.fail("operators", "%d operators are more than %d", len(all), maxOperators)
	}
	for i, o := range all {
		switch key := fmt.Sprintf("operators[%d]", i); {
		case o == PublicKey{}:
			k.fail(key, "there is no key (write what mars ca init prints)")
		case slices.Contains(all[:i], o):
			k.fail(key, "%s is there twice", o)
		}
	}
	if k.c.Node.Revocations != "" && len(all) == 0 {
		k.fail("node.revocations", "they count for nothing: no operator is named (operators: [KEY])")
	}
}

// faces returns the names of all faces.
func (k *checker) faces() map[string]bool {
	type path struct {
		to    FaceURI
		local FaceLocal
	}
	names, paths := map[string]bool{}, map[path]string{}
	for i, f := range k.c.Faces {
		key := fmt.Sprintf("faces[%d]", i)
		switch _, err := parseLabel(f.Name); {
		case f.Name == "":
			k.fail(key, "the face has no name; routes need one (name: isp-a)")
		case err != nil:
			k.must(key+".name", err)
		case names[f.Name]:
			k.fail(key+".name", "there are two faces named %q", f.Name)
		}
		names[f.Name] = true
		switch {
		case f.To == FaceURI{}:
			k.fail(key, "the face has no peer (to: udp://KEY@host:port)")
		default:
			k.must(key+".to", f.To.checkPeer())
		}
		p := path{f.To, f.Local}
		// In a file that is a slip; a program that asks for it wants two flows through the network.
		_, written := k.c.where[key]
		if other, twice := paths[p]; twice && written && f.To != (FaceURI{}) {
			k.fail(key, "the face goes the same way as face %q; give one of them another local address", other)
		}
		paths[p] = f.Name
		k.local(key, f)
		if f.Rate < 0 {
			k.fail(key+".rate", "a rate can't be negative")
		}
		k.within(key+".mtu", f.MTU, minMTU, maxMTU)
		k.within(key+".queue", f.Queue, 1, maxQueue)
	}
	return names
}

// local checks that the two ends of a face fit.
func (k *checker) local(key string, f FaceConfig) {
	l := f.Local
	switch to, isAddr := f.To.Addr(); {
	case l.Interface != "" && l.Addr.IsValid():
		k.fail(key+".local", "an interface and an address: name one of them")
	case l.ip() == 0:
	case isAddr && to.Addr().Is4() != l.Addr.Addr().Is4(), !isAddr && f.To.IP != 0 && f.To.IP != l.ip():
		k.fail(key+".local", "from %s, an IPv%d address, nothing can be sent to %s", l.Addr.Addr(), l.ip(), f.To)
	}
}

// within checks a number of which 0 means the default.
func (k *checker) within(key string, n, low, high int) {
	if n != 0 && (n < low || n > high) {
		k.fail(key, "%d is not from %d to %d", n, low, high)
	}
}

func (k *checker) routes(faces map[string]bool) {
	type route struct{ prefix, via string }
	seen := map[route]bool{}
	for i, r := range k.c.Routes {
		key := fmt.Sprintf("routes[%d]", i)
		prefix, err := parsePrefix(r.Prefix)
		if r.Prefix == "" {
			k.fail(key, "the route has no prefix (prefix: /site)")
		} else {
			k.must(key+".prefix", err)
		}
		switch {
		case r.Via == "":
			k.fail(key, "the route has no face (via: isp-a)")
		case len(k.c.Faces) == 0:
			k.fail(key+".via", "there is no face %q: the configuration has no faces", r.Via)
		case !faces[r.Via]:
			k.fail(key+".via", "there is no face %q; faces: %s", r.Via, k.faceNames())
		}
		k.within(key+".hops", r.Hops, 1, maxHops)
		if seen[route{prefix, r.Via}] && err == nil {
			k.fail(key, "there are two routes to %s via %q", prefix, r.Via)
		}
		seen[route{prefix, r.Via}] = true
	}
}

func (k *checker) faceNames() string {
	var names []string
	for _, f := range k.c.Faces {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func (k *checker) serve() {
	seen := map[string]bool{}
	for i, s := range k.c.Serve {
		key := fmt.Sprintf("serve[%d]", i)
		if s.Dir == "" {
			k.fail(key, "there is no directory to serve (dir: /srv/data)")
		}
		prefix, err := parseServePrefix(s.Prefix)
		switch {
		case s.Prefix == "":
			k.fail(key, "there is no prefix to serve under (prefix: /site/data)")
		case err != nil:
			k.must(key+".prefix", err)
		case seen[prefix]:
			k.fail(key+".prefix", "two directories are served under %s", prefix)
		}
		seen[prefix] = true
		if s.Chunk != 0 {
			k.within(key+".chunk", s.Chunk, 1, wire.ChunkSize)
		}
	}
}

func (k *checker) trust() {
	seen := map[string]bool{}
	for i, t := range k.c.Trust {
		key := fmt.Sprintf("trust[%d]", i)
		prefix, err := parsePrefix(t.Prefix)
		switch {
		case t.Prefix == "":
			k.fail(key, "there is no prefix (prefix: /site; / is all names)")
		case err != nil:
			k.must(key+".prefix", err)
		case seen[prefix]:
			k.fail(key+".prefix", "%s is there twice; put all keys into one list", prefix)
		case t.Unsigned && len(t.Keys)+len(t.Operators) > 0:
			k.fail(key+".unsigned", "what nobody need sign needs no keys: leave out one or the other")
		}
		seen[prefix] = true
	}
}

// parseLabel accepts a name for people and metrics: short, and without a character that needs quoting anywhere.
func parseLabel(s string) (string, error) {
	bad := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
	if s == "" || bad >= 0 || len(s) > maxLabel {
		return "", fmt.Errorf("%q is not a name of up to %d letters, digits, dots, dashes and underscores", s, maxLabel)
	}
	return s, nil
}

// parsePrefix returns a name prefix in canonical form.
func parsePrefix(s string) (string, error) {
	if !strings.HasPrefix(strings.TrimPrefix(s, "ndn:"), "/") {
		return "", fmt.Errorf("%q is not a name prefix; begin it with /", s)
	}
	name, err := wire.ParseName(s)
	if err != nil {
		return "", fmt.Errorf("%q is not a name prefix: %w", s, err)
	}
	if c, ok := name.At(0); ok && c.Type == wire.TypeGeneric && string(c.Value) == "localhost" {
		return "", fmt.Errorf("%q: names under /localhost never leave a node", s)
	}
	return name.String(), nil
}

// parseServePrefix is parsePrefix for a producer: its prefix is the dest of flows (MARS §2), so it may hold neither
// markers nor versions.
func parseServePrefix(s string) (string, error) {
	prefix, err := parsePrefix(s)
	if err != nil {
		return "", err
	}
	name, err := wire.ParseName(prefix)
	if err != nil {
		return "", err
	}
	if name.Len() == 0 {
		return "", fmt.Errorf("%q would claim every name there is; add a component", s)
	}
	for rest := name; ; {
		c, next, ok := rest.Next()
		if !ok {
			return prefix, nil
		}
		if c.Type != wire.TypeGeneric {
			return "", fmt.Errorf("%q has a component that is not plain text", s)
		}
		rest = next
	}
}
