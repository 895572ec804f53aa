//go:build acceptance

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	multipath "mars"
)

// hostKeys are the keys of the hosts, secret and public, by name.
var hostKeys sync.Map

type hostKey struct {
	secret string
	public multipath.PublicKey
}

// keyOf is the key of a host, the same in all tests.
func keyOf(host string) hostKey {
	k, _ := hostKeys.LoadOrStore(host, sync.OnceValue(func() hostKey {
		dir, err := os.MkdirTemp("", "mars-key-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "node.key")
		public, err := multipath.NewKeyFile(path)
		if err != nil {
			panic(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		return hostKey{strings.TrimSpace(string(text)), public}
	}))
	return k.(func() hostKey)()
}

// own is the environment of a program on a host: nothing of what this machine is set up for, and a key.
func own(host string) []string {
	return []string{"MARS_CONFIG=/dev/null", "MARS_NODE_SOCKET=none", "MARS_KEY=" + keyOf(host).secret}
}

// uri is where a node is dialled: the usual port of an address of its host.
func uri(host, addr string) string {
	return multipath.FaceURI{Host: addr, Port: multipath.DefaultPort, Key: keyOf(host).public}.String()
}
