package main

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCA: an operator certifies a producer and a consumer, and revokes the consumer.
func TestCA(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env = append(s.env, "MARS_NODE_KEY=") // the configurations name keys
	var shown strings.Builder
	do := func(args ...string) string {
		t.Helper()
		r := s.mars(args...)
		r.want(t, 0)
		shown.WriteString(r.stdout + r.stderr)
		return strings.TrimSpace(r.stdout)
	}
	operator := do("ca", "init", "-k", "operator.key")
	for name, role := range map[string]string{"producer": "relay", "consumer": "leaf"} {
		key := do("key", "new", "-o", name+".key")
		do("ca", "sign", key, "--name", name, "--role", role, "--prefix", "/site", "--days", "2", "-o", name+".cert", "-k", "operator.key")
	}
	do("ca", "revoke", "-o", "revocations", "-k", "operator.key")
	content := random(50_000)
	s.write("data/object", content)
	config := func(name, rest string) string {
		s.write(name+".yaml", []byte("node: {key: "+s.path(name+".key")+", certificate: "+s.path(name+".cert")+rest+"}\noperators: ["+operator+"]\n"+
			"listen: [\"udp4://127.0.0.1:0\"]\nserve: [{dir: "+s.path("data")+", prefix: /site}]\n"))
		return name + ".yaml"
	}
	p := s.start(true, "node", "--config", config("producer", ", revocations: "+s.path("revocations")))
	via := p.until(`msg=listening address=(udp4://\S+@\S+)`)[1]
	s.mars("get", "/site/object", "--config", config("consumer", ""), "--via", via).want(t, 0, "verified")
	s.same("object", content)

	do("ca", "revoke", "consumer", "-o", "revocations", "-k", "operator.key")
	p.until(`msg="a revocation list".* keys=1`)
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var all []struct {
		Name, Role string
		Revoked    bool
	}
	if err := json.Unmarshal([]byte(do("ca", "list", "--json", "-k", "operator.key")), &all); err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, i := range all {
		if i.Revoked != (i.Name == "consumer") || (i.Role == "relay") != (i.Name == "producer") {
			t.Errorf("%+v", i)
		}
	}
	list := do("ca", "list", "-k", "operator.key")
	for _, word := range []string{"SERIAL", "producer", "revoked", "valid"} {
		if !strings.Contains(list, word) {
			t.Errorf("no %q in\n%s", word, list)
		}
	}
	secret, err := os.ReadFile(s.path("operator.key"))
	if err != nil || strings.Contains(shown.String(), strings.TrimSpace(string(secret))) {
		t.Errorf("the operator's key shows: %v", err)
	}
}

func TestCAErrors(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	key := strings.TrimSpace(s.mars("key", "new", "-o", "n.key").stdout)
	s.mars("ca", "sign", key, "--name", "n", "-k", "o.key").want(t, 2, "mars ca init -k o.key")
	s.mars("ca", "init", "-k", "o.key").want(t, 0)
	s.mars("ca", "init", "-k", "o.key").want(t, 1, "none is replaced")
	s.mars("ca", "sign", key, "-k", "o.key").want(t, 2, "--name")
	s.mars("ca", "sign", "--name", "n", "-k", "o.key").want(t, 2, "mars key show")
	s.mars("ca", "sign", "xyz", "--name", "n", "-k", "o.key").want(t, 2, "no key")
	s.mars("ca", "sign", key, "--name", "n", "--role", "king", "-k", "o.key").want(t, 2, "leaf or relay")
	s.mars("ca", "sign", key, "--name", "n", "-k", "o.key", "-o", "no/such/dir").want(t, 1, "no/such/dir")
	s.mars("ca", "revoke", "nobody", "-k", "o.key").want(t, 2, "mars ca list")
	s.mars("ca", "revoke", key, "-k", "o.key").want(t, 0)
	s.mars("ca", "sign", key, "--name", "n", "-k", "o.key").want(t, 7, "revoked")
	s.mars("ca", "bless").want(t, 2, "no command")
	if err := os.Chmod(s.path("o.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	s.mars("ca", "list", "-k", "o.key").want(t, 2, "chmod 600")
}
