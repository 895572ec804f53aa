package mars

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// DefaultMTU is the largest datagram of a face whose configuration says nothing, in bytes of UDP payload: over IPv6 it is a
// packet of 1,420 bytes, which is what tunnels such as WireGuard's carry; a chunk takes as many fragments as with 1,400.
const DefaultMTU = 1372

// The roles of a node (MARS §5.2).
const (
	RoleLeaf  = "leaf"  // answers for its own prefixes only
	RoleRelay = "relay" // forwards what others ask of it
)

// The forwarding strategies of a node.
const (
	StrategyMARS      = "mars"
	StrategyBestRoute = "best-route"
)

// The profiles of a node: how it paces and schedules, and how it finds losses (docs/adr/0021).
const (
	ProfileMARS  = "mars"  // windows of delay, back-pressure, hop repair
	ProfilePaper = "paper" // Algorithm 1 of the MARS paper
)

// SocketNone in place of a socket's path: no socket.
const SocketNone = "none"

// Config is what a node is told about itself and its neighbours. The zero value is a leaf without faces; what the
// command line starts from is DefaultConfig.
//
// Flags override MARS_* variables of the environment, which override the file: take LoadConfig's result, apply the
// flags, then call Check.
type Config struct {
	Node   NodeConfig    `yaml:"node"`
	Listen []FaceURI     `yaml:"listen"` // addresses on which neighbours may reach the node
	Faces  []FaceConfig  `yaml:"faces,omitempty"`
	Routes []RouteConfig `yaml:"routes,omitempty"`
	Peers  []PeerConfig  `yaml:"peers,omitempty"` // who may dial the node; without Operators, empty: whoever knows its key
	Serve  []ServeConfig `yaml:"serve,omitempty"`
	Trust  []TrustConfig `yaml:"trust,omitempty"` // who may sign what is fetched

	// Operators are the keys of those whose certificates let nodes dial this one, and whose revocations end that.
	Operators []PublicKey `yaml:"operators,omitempty"`

	// Attach is the socket of a running node of this host; "": none. The node is then an application of that one: all that it
	// asks goes there, and what it serves is registered there. Listen, Faces and Routes stay empty.
	Attach string `yaml:"-"`

	// Program is the version of the program, for those who ask the node.
	Program string `yaml:"-"`

	Study StudyConfig `yaml:"-"`

	where map[string]position // of every value that came from a file or the environment, by key
}

// StudyConfig is for measurements (mars lab, mars bench); a file or the environment can't set it.
type StudyConfig struct {
	Dilation float64 // real time ÷ the node's time; 0: 1
	// GuestRates is what the links toward neighbours that dial this node carry, by their addresses; others have Node.GuestRate.
	GuestRates map[netip.Addr]Rate
	GuestMTU   int  // largest datagram of faces that neighbours make, bytes; 0: DefaultMTU
	Buffers    bool // sockets keep the buffers that the kernel gives without being asked
	Wait       bool // a new flow asks for Data only when its discovery has ended, as in the paper's evaluation
}

// NodeConfig is about the node itself.
type NodeConfig struct {
	Name     string `yaml:"name,omitempty"` // for people only
	Role     string `yaml:"role"`           // RoleLeaf or RoleRelay; "": RoleLeaf
	Strategy string `yaml:"strategy"`       // StrategyMARS or StrategyBestRoute; "": StrategyMARS
	Profile  string `yaml:"profile"`        // ProfileMARS or ProfilePaper; "": ProfilePaper
	// Routing: the node learns from its neighbours which prefixes exist and how far they are, and announces its own.
	Routing Toggle `yaml:"routing,omitempty"`
	// Detours: flows may use paths more than one hop longer than the shortest.
	Detours Toggle `yaml:"detours,omitempty"`
	// Socket is where applications on this host reach the node, an absolute path; SocketNone or "": nowhere.
	Socket string `yaml:"socket,omitempty"`
	// Key is the file with the node's key; "": that of LoadKey, or if there is none a key that is forgotten with the node.
	Key string `yaml:"key,omitempty"`
	// Certificate is the file with the node's certificate, and Revocations the one with its operators' revocation lists. Both are
	// read again when they change; "": none.
	Certificate string `yaml:"certificate,omitempty"`
	Revocations string `yaml:"revocations,omitempty"`
	// GuestRate is the drain rate toward each neighbour that dials this node; 0: not known, not limited.
	GuestRate Rate `yaml:"guest_rate,omitempty"`
}

// Toggle is a setting that is on unless it is switched off: "true", "false", or "" for the default, which is on.
type Toggle string

// On tells whether the setting is on.
func (t Toggle) On() bool { return t != "false" }

// PeerConfig is a node that may dial this one.
type PeerConfig struct {
	Name string    `yaml:"name,omitempty"` // for people
	Key  PublicKey `yaml:"key"`
	// Announce bounds the prefixes that it may announce in routing; empty: all.
	Announce []string `yaml:"announce,omitempty"`
}

// FaceConfig is one face to a neighbour that the node dials. Several faces to one neighbour are several paths.
type FaceConfig struct {
	Name  string    `yaml:"name"`
	To    FaceURI   `yaml:"to"`
	Local FaceLocal `yaml:"-"`               // our side; the zero value: the system chooses
	Rate  Rate      `yaml:"rate,omitempty"`  // drain rate; 0: not known, not limited
	MTU   int       `yaml:"mtu,omitempty"`   // largest datagram, bytes of UDP payload, 256…65507; 0: DefaultMTU
	Queue int       `yaml:"queue,omitempty"` // Data queue, packets; 0: the node's default
}

// MarshalYAML leaves out a local side that is not set; the library takes every AddrPort for empty, as its fields are
// private.
func (f FaceConfig) MarshalYAML() (any, error) {
	type fields FaceConfig // without this method
	return struct {
		fields `yaml:",inline"`
		Local  string `yaml:"local,omitempty"`
	}{fields(f), f.Local.String()}, nil
}

// RouteConfig says that the face named Via reaches Prefix in Hops overlay hops.
type RouteConfig struct {
	Prefix string `yaml:"prefix"` // NDN URI
	Via    string `yaml:"via"`
	Hops   int    `yaml:"hops,omitempty"` // 1…255; 0: 1, or 255 (not known) of the default route "/"
}

// distance is the number of overlay hops. A default route leads to everything, near and far: to call that one hop would make
// a relay in between look like a detour.
func (r RouteConfig) distance() int {
	switch {
	case r.Hops > 0:
		return r.Hops
	case strings.Trim(r.Prefix, "/") == "":
		return maxHops
	}
	return 1
}

// ServeConfig publishes the files below Dir under Prefix.
type ServeConfig struct {
	Dir    string `yaml:"dir"`
	Prefix string `yaml:"prefix"`          // NDN URI of one or more generic components
	Chunk  int    `yaml:"chunk,omitempty"` // content of one packet, bytes, up to 8000; 0: 8000
}

// DefaultConfig is a leaf that listens on the NDN port of every address, IPv4 and IPv6.
func DefaultConfig() *Config {
	return &Config{
		Node:   NodeConfig{Role: RoleLeaf, Strategy: StrategyMARS, Profile: ProfilePaper},
		Listen: []FaceURI{{Host: "::", Port: DefaultPort}},
	}
}

// DefaultConfigPath is the file that LoadConfig("") reads: $MARS_CONFIG if that is set, else
// $XDG_CONFIG_HOME/mars/config.yaml (by default ~/.config/mars/config.yaml) if that is there, else
// /etc/mars/config.yaml.
func DefaultConfigPath() string {
	path, _ := defaultConfigPath()
	return path
}

func defaultConfigPath() (path string, chosen bool) {
	if path := os.Getenv("MARS_CONFIG"); path != "" {
		return path, true
	}
	if dir, err := os.UserConfigDir(); err == nil {
		path := filepath.Join(dir, "mars", "config.yaml")
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, false // also if it can't be read: to pass over a file in silence helps nobody
		}
	}
	return "/etc/mars/config.yaml", false
}

// LoadConfig reads the file at path over the defaults, then the environment over the file: MARS_NODE_NAME,
// MARS_NODE_ROLE, MARS_NODE_STRATEGY, MARS_NODE_PROFILE, and MARS_LISTEN, MARS_FACES, MARS_ROUTES and MARS_SERVE, which hold YAML such as
// "[{dir: /srv/data, prefix: /site/data}]" and replace the file's list. path "" means DefaultConfigPath, which need not
// exist unless $MARS_CONFIG names it.
//
// What is wrong is told as one or more joined *ConfigError, with file, line and column. LoadConfig looks at each value by
// itself; Check looks at the whole.
func LoadConfig(path string) (*Config, error) {
	chosen := path != ""
	if !chosen {
		path, chosen = defaultConfigPath()
	}
	c := DefaultConfig()
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		err = c.decodeFile(path, data)
	case errors.Is(err, fs.ErrNotExist) && !chosen:
		err = nil
	default:
		err = &ConfigError{Problem: err.Error()}
	}
	return c, errors.Join(err, c.decodeEnv(os.Getenv))
}

// String is the configuration in effect, as YAML that LoadConfig reads back.
func (c *Config) String() string {
	out, err := yaml.Marshal(c)
	if err != nil {
		panic(err) // no value of these types can fail
	}
	return string(out)
}
