package mars

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// noEnv hides the caller's own configuration from a test.
func noEnv(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "MARS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

// load writes text to a file and loads it.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(path)
}

func sameConfig(a, b *Config) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty(), cmpopts.EquateComparable(FaceConfig{}))
}

const fullConfig = `
# a site with two ISPs
node: {name: site-a, role: relay, strategy: best-route, profile: paper, guest_rate: 50Mbit, certificate: /etc/mars/a.cert, revocations: /etc/mars/rev}
operators: [nbdv-dZxfYllf2P9TZ_DRVhmuh26XEE-3F3n51Wo2g2UI9E5]
listen: [udp4://0.0.0.0:6363, "udp4://127.0.0.1:7000"]
faces:
  - name: isp-a
    to: plain+udp4://192.0.2.7:6363
    local: 192.0.2.1
    rate: 100Mbit
    mtu: 1200
    queue: 500
  - {name: isp-b, to: plain+udp4://relay.example.net, local: "192.0.2.2:7000"}
  - {name: isp-c, to: "plain+udp6://[2001:db8:0::7]:7000", local: eth1}
  - {name: isp-d, to: plain+udp://relay.example.net}
routes:
  - {prefix: /site, via: isp-a, hops: 2}
  - {prefix: "/", via: isp-b}
serve:
  - {dir: /srv/data/, prefix: /site/caf%C3%A9, chunk: 1000}
`

func TestConfigFull(t *testing.T) {
	noEnv(t)
	c, err := load(t, fullConfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	operator, err := ParsePublicKey("nbdv-dZxfYllf2P9TZ_DRVhmuh26XEE-3F3n51Wo2g2UI9E5")
	if err != nil {
		t.Fatal(err)
	}
	local1, _ := ParseFaceLocal("192.0.2.1")
	local2, _ := ParseFaceLocal("192.0.2.2:7000")
	want := &Config{
		Node:   NodeConfig{Name: "site-a", Role: RoleRelay, Strategy: StrategyBestRoute, Profile: ProfilePaper, GuestRate: 50e6, Certificate: "/etc/mars/a.cert", Revocations: "/etc/mars/rev"},
		Listen: []FaceURI{{"0.0.0.0", 6363, 0, PublicKey{}, false}, {"127.0.0.1", 7000, 0, PublicKey{}, false}},
		Faces: []FaceConfig{
			{"isp-a", FaceURI{"192.0.2.7", 6363, 0, PublicKey{}, true}, local1, 100e6, 1200, 500},
			{"isp-b", FaceURI{"relay.example.net", 6363, 4, PublicKey{}, true}, local2, 0, DefaultMTU, 0},
			{"isp-c", FaceURI{"2001:db8::7", 7000, 0, PublicKey{}, true}, FaceLocal{Interface: "eth1"}, 0, DefaultMTU, 0},
			{"isp-d", FaceURI{"relay.example.net", 6363, 0, PublicKey{}, true}, FaceLocal{}, 0, DefaultMTU, 0},
		},
		Operators: []PublicKey{operator},

		Routes: []RouteConfig{{"/site", "isp-a", 2}, {"/", "isp-b", 1}},
		Serve:  []ServeConfig{{"/srv/data", "/site/caf%C3%A9", 1000}},
	}
	if diff := sameConfig(want, c); diff != "" {
		t.Error(diff)
	}
	again, err := load(t, c.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, c)
	}
	if diff := sameConfig(want, again); diff != "" {
		t.Errorf("printed and read back:%s\n%s", diff, c)
	}
}

// TestConfigDefaults: no file, an empty file and a file of comments are all the default.
func TestConfigDefaults(t *testing.T) {
	noEnv(t)
	want := DefaultConfig()
	if err := want.Check(); err != nil {
		t.Fatal(err)
	}
	if err := new(Config).Check(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "null", "node:\nlisten:\nfaces:\n", "node: {role: null}\n", "{}", want.String()} {
		c, err := load(t, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := sameConfig(want, c); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for text, listen := range map[string]int{"listen: []": 0, "listen: udp4://127.0.0.1:1": 1} {
		if c, err := load(t, text); err != nil || len(c.Listen) != listen {
			t.Errorf("%q: %v, %v", text, c.Listen, err)
		}
	}
}

func TestDefaultConfigPath(t *testing.T) {
	noEnv(t)
	dir := os.Getenv("XDG_CONFIG_HOME")
	if got := DefaultConfigPath(); got != "/etc/mars/config.yaml" {
		t.Errorf("nothing there: %q", got)
	}
	own := filepath.Join(dir, "mars", "config.yaml")
	if err := os.Mkdir(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("node: {name: own}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := DefaultConfigPath(); got != own {
		t.Errorf("XDG: %q", got)
	}
	if c, err := LoadConfig(""); err != nil || c.Node.Name != "own" {
		t.Errorf("%v, %v", c, err)
	}
	t.Setenv("MARS_CONFIG", dir+"/missing")
	if got := DefaultConfigPath(); got != dir+"/missing" {
		t.Errorf("MARS_CONFIG: %q", got)
	}
	for _, path := range []string{"", dir + "/other"} { // a file that somebody asked for must be there
		if _, err := LoadConfig(path); !errors.Is(err, ErrConfig) || ExitCode(err) != 2 {
			t.Errorf("LoadConfig(%q): %v", path, err)
		}
	}
}

// TestConfigEnv: the environment overrides the file, value by value for the node and list by list else.
func TestConfigEnv(t *testing.T) {
	noEnv(t)
	t.Setenv("MARS_NODE_ROLE", "leaf")
	t.Setenv("MARS_LISTEN", "udp4://127.0.0.1:9000")
	t.Setenv("MARS_SERVE", "[{dir: /srv/other, prefix: /other}]")
	t.Setenv("MARS_ROUTES", "- prefix: /x\n  via: isp-b\n")
	c, err := load(t, fullConfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if c.Node.Name != "site-a" || c.Node.Role != RoleLeaf || len(c.Faces) != 4 {
		t.Errorf("%v", c)
	}
	want := &Config{
		Node: c.Node, Faces: c.Faces, Operators: c.Operators,
		Listen: []FaceURI{{"127.0.0.1", 9000, 0, PublicKey{}, false}}, Routes: []RouteConfig{{"/x", "isp-b", 1}}, Serve: []ServeConfig{{"/srv/other", "/other", 0}},
	}
	if diff := sameConfig(want, c); diff != "" {
		t.Error(diff)
	}

	t.Setenv("MARS_NODE_ROLE", "boss")
	t.Setenv("MARS_ROUTES", "[{prefix: /x, via: isp-z}]")
	c, err = load(t, fullConfig)
	if text := errorText(err); text != `MARS_NODE_ROLE:1:1: node.role: "boss" is unknown; write leaf or relay` {
		t.Errorf("%s", text)
	}
	if text := errorText(c.Check()); text != `MARS_ROUTES:1:20: routes[0].via: there is no face "isp-z"; faces: isp-a, isp-b, isp-c, isp-d` {
		t.Errorf("%s", text)
	}
	// The environment's problems are those of its own text, however the file looked before.
	t.Setenv("MARS_ROUTES", "")
	t.Setenv("MARS_NODE_ROLE", "")
	t.Setenv("MARS_FACES", "[{to: plain+udp4://h}]")
	c, _ = load(t, fullConfig)
	if text := errorText(c.Check()); !strings.Contains(text, "MARS_FACES:1:2: faces[0]: the face has no name") {
		t.Errorf("%s", text)
	}
}

// errorText is the text of an error without the directory of the file.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if at := strings.Index(line, "config.yaml"); at > 0 {
			lines[i] = line[at:]
		}
	}
	return strings.Join(lines, "\n")
}

// TestConfigErrors: file, line, column, and what to write instead.
func TestConfigErrors(t *testing.T) {
	noEnv(t)
	for name, c := range map[string]struct{ text, want string }{
		"syntax":          {"node: {name: a\n", "config.yaml:1:7: "},
		"tab":             {"node:\n\tname: a\n", "config.yaml:2:1: "},
		"not a mapping":   {"- a\n", "config.yaml:1:1: expected a mapping with faces, listen, node, operators, peers, routes, serve"},
		"scalar":          {"hello\n", "config.yaml:1:1: expected a mapping with"},
		"unknown section": {"node: {}\nnodes: {}\n", `config.yaml:2:1: unknown key "nodes"; known here: faces, listen, node, operators, peers, routes, serve`},
		"unknown key":     {"faces:\n- nmae: a\n", `config.yaml:2:3: faces[0]: unknown key "nmae"; known here: local, mtu, name, queue, rate, to`},
		"duplicate key":   {"node: {}\nlisten: []\nnode: {}\n", "config.yaml:3:1: "},
		"two documents":   {"node: {}\n---\nnode: {}\n", "config.yaml:3:1: a second YAML document"},
		"list wanted":     {"faces: {name: a}\n", `config.yaml:1:8: faces: expected a list: begin each item with "- "`},
		"list of scalars": {"faces: [a]\n", "config.yaml:1:9: faces[0]: expected a mapping with local, mtu,"},
		"scalar wanted":   {"node: {role: [leaf]}\n", "config.yaml:1:14: node.role: expected one plain value"},
		"anchor":          {"node: {name: &x a}\n", "config.yaml:1:14: node.name: expected one plain value"},
		"alias":           {"node: {name: &x a, role: *x}\n", "node.role: expected one plain value"},
		"merge key":       {"node: &n {name: a}\nfaces: [{<<: *n}]\n", "expected a mapping"},
		"tag":             {"node: {name: !!binary aGk=}\n", "node.name: expected one plain value"},
		"role":            {"node: {role: boss}\n", `config.yaml:1:14: node.role: "boss" is unknown; write leaf or relay`},
		"yes is no role":  {"node: {role: yes}\n", `"yes" is unknown`},
		"profile":         {"node: {profile: x}\n", "write mars or paper"},
		"strategy":        {"node: {strategy: x}\n", "write mars or best-route"},
		"node name":       {"node: {name: \"a b\"}\n", `"a b" is not a name of up to 64 letters`},
		"rate":            {"faces:\n- {name: a, rate: fast}\n", `config.yaml:2:19: faces[0].rate: "fast" is not a rate; write a rate of a link such as 100Mbit`},
		"mtu":             {"faces: [{mtu: 100}]\n", `faces[0].mtu: "100" is not a whole number from 256 to 65507`},
		"mtu fraction":    {"faces: [{mtu: 1400.5}]\n", `"1400.5" is not a whole number`},
		"queue":           {"faces: [{queue: 0}]\n", `faces[0].queue: "0" is not a whole number from 1`},
		"secure face":     {"faces: [{to: \"udp4://KEY@h:1\"}]\n", "config.yaml:1:14: faces[0].to: what stands before the @ must be the peer's key: it is no key"},
		"peer's key":      {"peers: [{key: x}]\n", "config.yaml:1:15: peers[0].key: it is no key: a key has 48 characters"},
		"key file":        {"node: {key: x}\n", "node.key: "},
		"certificate":     {"node: {certificate: x}\n", "node.certificate: "},
		"operator":        {"operators: [x]\n", "config.yaml:1:13: operators[0]: it is no key"},
		"local":           {"faces: [{local: eth0/1}]\n", `"eth0/1" is neither an address nor an interface`},
		"prefix":          {"routes: [{prefix: site}]\n", `routes[0].prefix: "site" is not a name prefix; begin it with /`},
		"bad escape":      {"routes: [{prefix: /a%zz}]\n", `routes[0].prefix: "/a%zz" is not a name prefix:`},
		"localhost":       {"routes: [{prefix: /localhost/x}]\n", "never leave a node"},
		"hops":            {"routes: [{hops: 256}]\n", "from 1 to 255"},
		"relative dir":    {"serve: [{dir: data}]\n", `serve[0].dir: "data" is not an absolute path`},
		"serve all":       {"serve: [{prefix: /}]\n", "would claim every name"},
		"serve a marker":  {"serve: [{prefix: /a/32=dt}]\n", "not plain text"},
		"two at once":     {"node: {role: x}\nlisten: [y]\n", "config.yaml:2:10: listen[0]: "},
	} {
		_, err := load(t, c.text)
		if !errors.Is(err, ErrConfig) || !strings.Contains(errorText(err), c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, errorText(err), c.want)
		}
	}
}

// TestConfigCheck: problems that only the whole shows, with the line of the value at fault.
func TestConfigCheck(t *testing.T) {
	noEnv(t)
	const face = "faces:\n- {name: a, to: \"plain+udp4://h:1\"}\n"
	for name, c := range map[string]struct{ text, want string }{
		"operator twice":      {"operators:\n- nbdv-dZxfYllf2P9TZ_DRVhmuh26XEE-3F3n51Wo2g2UI9E5\n- nbdv-dZxfYllf2P9TZ_DRVhmuh26XEE-3F3n51Wo2g2UI9E5\n", "config.yaml:3:3: operators[1]: nbdv-dZxfYllf2P9TZ_DRVhmuh26XEE-3F3n51Wo2g2UI9E5 is there twice"},
		"nobody to revoke":    {"node: {revocations: /r}\n", "config.yaml:1:21: node.revocations: they count for nothing: no operator"},
		"listen on a name":    {"listen: [\"udp4://h:1\"]\n", "config.yaml:1:10: listen[0]: udp4://h:1: listening takes an address"},
		"listen twice":        {"listen:\n- udp4://0.0.0.0:1\n- udp4://0.0.0.0:1\n", "config.yaml:3:3: listen[1]: udp4://0.0.0.0:1 is there twice"},
		"face without name":   {"faces:\n- to: plain+udp4://h:1\n", "config.yaml:2:3: faces[0]: the face has no name"},
		"face without peer":   {"faces:\n- name: a\n", "config.yaml:2:3: faces[0]: the face has no peer (to: udp://KEY@host:port)"},
		"two faces of a name": {face + "- {name: a, to: \"plain+udp4://h:2\"}\n", `config.yaml:3:10: faces[1].name: there are two faces named "a"`},
		"two faces, one way":  {face + "- {name: b, to: \"plain+udp4://h:1\"}\n", `faces[1]: the face goes the same way as face "a"`},
		"port 0":              {"faces:\n- {name: a, to: \"plain+udp4://h:0\"}\n", "config.yaml:2:17: faces[0].to: plain+udp4://h:0: port 0 can't be dialled"},
		"no key":              {"faces:\n- {name: a, to: \"udp4://h:1\"}\n", "config.yaml:2:17: faces[0].to: there is no key in udp4://h:1: write udp4://KEY@h:1 with"},
		"other version":       {"faces:\n- {name: a, to: \"plain+udp4://h:1\", local: \"2001:db8::1\"}\n", "config.yaml:2:44: faces[0].local: from 2001:db8::1, an IPv6 address, nothing can be sent to plain+udp4://h:1"},
		"version of address":  {"faces:\n- {name: a, to: \"plain+udp://[2001:db8::1]:1\", local: 192.0.2.1}\n", "faces[0].local: from 192.0.2.1, an IPv4 address, nothing can be sent to plain+udp6://[2001:db8::1]:1"},
		"no such face":        {face + "routes:\n- {prefix: /x, via: b}\n", `config.yaml:4:21: routes[0].via: there is no face "b"; faces: a`},
		"no faces":            {"routes:\n- {prefix: /x, via: b}\n", `routes[0].via: there is no face "b": the configuration has no faces`},
		"route without via":   {face + "routes:\n- {prefix: /x}\n", "routes[0]: the route has no face (via: isp-a)"},
		"route to nowhere":    {face + "routes:\n- {via: a}\n", "routes[0]: the route has no prefix"},
		"route twice":         {face + "routes:\n- {prefix: /x, via: a}\n- {prefix: \"ndn:/x/\", via: a}\n", `routes[1]: there are two routes to /x via "a"`},
		"serve nothing":       {"serve:\n- {prefix: /x}\n", "serve[0]: there is no directory to serve"},
		"serve nowhere":       {"serve:\n- {dir: /x}\n", "serve[0]: there is no prefix to serve under"},
		"serve twice":         {"serve:\n- {dir: /x, prefix: /p}\n- {dir: /y, prefix: /p}\n", "config.yaml:3:21: serve[1].prefix: two directories are served under /p"},
	} {
		cfg, err := load(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = cfg.Check()
		if !errors.Is(err, ErrConfig) || !strings.Contains(errorText(err), c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, errorText(err), c.want)
		}
	}
}

// TestConfigCheckInCode: what a program puts in is checked like what a file says.
func TestConfigCheckInCode(t *testing.T) {
	c := &Config{
		Node:   NodeConfig{Name: "a b", Role: "boss", Strategy: "x", Profile: "y", GuestRate: -1},
		Listen: []FaceURI{{"0.0.0.0", 0, 0, PublicKey{}, false}, {"0.0.0.0", 0, 0, PublicKey{}, false}, {"h", 1, 0, PublicKey{}, false}},
		Faces:  []FaceConfig{{Name: "a/b", To: FaceURI{"-h", 1, 0, PublicKey{}, true}, Rate: -1, MTU: 1, Queue: -1}},
		Routes: []RouteConfig{{"x", "y", 256}},
		Serve:  []ServeConfig{{"/d", "x", 8001}},
	}
	var keys []string
	for _, err := range c.Check().(interface{ Unwrap() []error }).Unwrap() {
		keys = append(keys, err.(*ConfigError).Key)
	}
	want := []string{
		"node.name", "node.role", "node.strategy", "node.profile", "node.guest_rate", "listen[2]", "faces[0].name", "faces[0].to", "faces[0].rate", "faces[0].mtu", "faces[0].queue",
		"routes[0].prefix", "routes[0].via", "routes[0].hops", "serve[0].prefix", "serve[0].chunk",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// TestConfigPrints: any valid configuration reads back as itself.
func TestConfigPrints(t *testing.T) {
	label := rapid.StringMatching(`[A-Za-z0-9._-]{1,12}`)
	uri := rapid.Custom(func(r *rapid.T) FaceURI {
		u := FaceURI{Port: rapid.Uint16().Draw(r, "port")}
		u.Host = rapid.SampledFrom([]string{"192.0.2.1", "2001:db8::1", "fe80::1%eth0", "relay.example.net", "0x1f", "1e3", "on", "::"}).Draw(r, "host")
		if a, isAddr := u.Addr(); !isAddr {
			u.IP = rapid.SampledFrom([]int{0, 4, 6}).Draw(r, "version")
		} else if a.Addr().IsUnspecified() {
			u.IP = rapid.SampledFrom([]int{0, 6}).Draw(r, "version")
		}
		return u
	})
	side := rapid.SampledFrom([]string{"", "192.0.2.1", "192.0.2.1:7000", "2001:db8::1", "[fe80::1%3]:1", "eth1", "wlan0.5", "on", "1e3"})
	rapid.Check(t, func(r *rapid.T) {
		c := DefaultConfig()
		c.Node.Name = label.Draw(r, "node")
		c.Listen = rapid.SliceOfN(uri, 0, 3).Draw(r, "listen")
		for range rapid.IntRange(0, 3).Draw(r, "faces") {
			f := FaceConfig{Name: label.Draw(r, "face"), To: uri.Draw(r, "to"), MTU: rapid.IntRange(minMTU, maxMTU).Draw(r, "mtu")}
			if text := side.Draw(r, "local"); text != "" {
				var err error
				if f.Local, err = ParseFaceLocal(text); err != nil {
					r.Fatal(err)
				}
			}
			f.Rate = Rate(rapid.Int64Range(0, 1e12).Draw(r, "rate"))
			f.Queue = rapid.IntRange(0, maxQueue).Draw(r, "queue")
			c.Faces = append(c.Faces, f)
			c.Routes = append(c.Routes, RouteConfig{"/" + label.Draw(r, "prefix") + "x", f.Name, rapid.IntRange(1, maxHops).Draw(r, "hops")})
		}
		dir := "/" + rapid.StringMatching(`[a-z #:'"{}\[\],&*!|>%@\x60\\-]{1,8}x`).Draw(r, "dir")
		c.Serve = []ServeConfig{{dir, "/x", 0}}
		again := DefaultConfig()
		if err := again.decodeFile("printed", []byte(c.String())); err != nil {
			r.Fatalf("%v in\n%s", err, c)
		}
		if diff := sameConfig(c, again); diff != "" {
			r.Fatalf("%s\n%s", diff, c)
		}
	})
}

// FuzzConfig feeds arbitrary text to the parser. Whatever it says has a place, and what passes Check reads back.
func FuzzConfig(f *testing.F) {
	f.Add(fullConfig)
	f.Add("node: {name: &x a, role: *x}\n---\n- ? !!set\n")
	f.Add("faces: [{to: plain+udp4://h, rate: 1.5G}]\nlisten: |\n  x\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := DefaultConfig()
		if err := c.decodeFile("f", []byte(text)); err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatal(err)
			}
			return
		}
		if c.Check() != nil {
			return
		}
		again := DefaultConfig()
		if err := again.decodeFile("printed", []byte(c.String())); err != nil {
			t.Fatalf("%v in\n%s", err, c)
		}
		if diff := sameConfig(c, again); diff != "" {
			t.Fatalf("%s\n%s", diff, c)
		}
	})
}

// TestDistance: a default route is of unknown length unless it says otherwise.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		prefix     string
		hops, want int
	}{{"/", 0, 255}, {"/", 1, 1}, {"/", 3, 3}, {"/site", 0, 1}, {"/site", 2, 2}} {
		if got := (RouteConfig{Prefix: c.prefix, Hops: c.hops}).distance(); got != c.want {
			t.Errorf("%s, hops %d: %d, want %d", c.prefix, c.hops, got, c.want)
		}
	}
}
