//go:build acceptance

package acceptance

import (
	"path/filepath"
	"testing"
)

// TestDualStack: a producer with one socket, as `mars serve` opens by default, serves a consumer that has IPv4 only and one
// that has IPv6 only, the latter by a global and by a link-local address. They fetch at the same time.
//
//	four ─ v4 ─ producer ─ v6 ─ six
func TestDualStack(t *testing.T) {
	const producer4, consumer4 = "10.74.1.1", "10.74.1.2"
	const producer6, consumer6, linkLocal, consumerLocal = "fd74::1", "fd74::2", "fe80::74", "fe80::75"
	w := newHosts(t, "four", "producer", "six")
	w.link("v4", "producer", producer4, "four", consumer4)
	w.ip("producer", "link", "add", "v6", "type", "veth", "peer", "name", "v6", "netns", namespace("six"))
	for host, addrs := range map[string][]string{"producer": {producer6, linkLocal}, "six": {consumer6, consumerLocal}} {
		w.ip(host, "link", "set", "v6", "up")
		for _, a := range addrs {
			w.ip(host, "address", "add", a+"/64", "dev", "v6", "nodad")
		}
	}
	x := newSingle(w, 16<<20)
	dir := t.TempDir()
	fetches := map[string]*process{}
	for name, from := range map[string][2]string{
		"IPv4":                {"four", uri("producer", producer4)},
		"IPv4 by interface":   {"four", uri("producer", producer4) + ",local=v4"},
		"IPv6":                {"six", uri("producer", producer6)},
		"IPv6 from address":   {"six", uri("producer", producer6) + ",local=" + consumer6},
		"IPv6, link-local":    {"six", uri("producer", linkLocal+"%v6")},
		"link-local, by name": {"six", uri("producer", linkLocal+"%v6") + ",local=v6"},
	} {
		fetches[name] = x.start(from[0], "get", "/site/data/file", "-o", filepath.Join(dir, name), "--json", "--via", from[1])
	}
	for name, get := range fetches {
		x.succeeds(get, filepath.Join(dir, name))
	}
	for _, remote := range []string{consumer4 + ":", "[" + consumer6 + "]:", "[fe80::"} {
		x.producer.says("remote=" + remote)
	}
}
