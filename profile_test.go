package mars

import (
	"fmt"
	"path/filepath"
	"testing"

	"mars/internal/forward"
	"mars/internal/impair"
	"mars/internal/machine"
)

// TestProfiles: nodes of every mixture of profiles understand each other, and a node runs the profile that it was told.
func TestProfiles(t *testing.T) {
	for _, c := range []struct{ producer, relay, consumer string }{
		{ProfilePaper, ProfilePaper, ProfilePaper},
		{ProfileMARS, ProfilePaper, ProfileMARS},
		{ProfilePaper, ProfileMARS, ProfilePaper},
		{"", ProfileMARS, ProfilePaper},
		{ProfilePaper, "", ProfileMARS},
	} {
		t.Run(fmt.Sprintf("%s-%s-%s", c.producer, c.relay, c.consumer), func(t *testing.T) {
			noLeaks(t)
			dir := t.TempDir()
			content := random(t, filepath.Join(dir, "object"), 1<<20)
			run := func(profile string, cfg *Config) *Node {
				cfg.Node.Profile = profile
				n, _ := start(t, cfg)
				var repairs, windowed bool
				if err := n.driver.Do(func(machine.Time) {
					repairs, windowed = n.node.Forwarder().Profile() == forward.ProfileMARS, n.fetch.Backpressure()
				}); err != nil {
					t.Fatal(err)
				}
				if want := profile == ProfileMARS; repairs != want || windowed != want {
					t.Errorf("profile %q: the forwarder has the default one: %v, the fetcher: %v", profile, repairs, windowed)
				}
				return n
			}
			up := run(c.producer, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
			lossy := proxyTo(t, up.Addrs()[0], impair.Config{Drop: 0.01, Seed: 1})
			relay := run(c.relay, &Config{
				Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)},
				Faces:  []FaceConfig{{Name: "up", To: local(lossy.Addr().Port())}},
				Routes: []RouteConfig{{Prefix: "/site", Via: "up"}},
			})
			n := run(c.consumer, &Config{
				Faces: []FaceConfig{
					{Name: "direct", To: local(lossy.Addr().Port())},
					{Name: "relayed", To: local(relay.Addrs()[0].Port())},
				},
				Routes: []RouteConfig{{Prefix: "/site", Via: "direct"}, {Prefix: "/site", Via: "relayed", Hops: 2}},
			})
			dest := filepath.Join(t.TempDir(), "copy")
			if _, err := startFetch(n, dest).wait(); err != nil {
				t.Fatal(err)
			}
			want(t, dest, content)
		})
	}
}

// TestUplinks: faces share a window where the same address or interface of ours was named for them, and only there.
func TestUplinks(t *testing.T) {
	var u uplinks
	var got []int
	for _, s := range []string{"", "192.0.2.1", "192.0.2.1:7000", "192.0.2.2", "eth0", "", "192.0.2.2", "eth0", "2001:db8::1"} {
		var l FaceLocal
		if s != "" {
			var err error
			if l, err = ParseFaceLocal(s); err != nil {
				t.Fatal(err)
			}
		}
		got = append(got, u.number(l))
	}
	if want := []int{0, 1, 1, 2, 3, 0, 2, 3, 4}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
