package mars

import (
	"strings"
	"testing"
)

func TestParseFaceURI(t *testing.T) {
	for text, want := range map[string]FaceURI{
		"udp4://192.0.2.7:6363":        {"192.0.2.7", 6363},
		"udp4://192.0.2.7":             {"192.0.2.7", DefaultPort},
		"udp4://0.0.0.0:0":             {"0.0.0.0", 0},
		"udp4://relay.example.net:700": {"relay.example.net", 700},
		"udp4://my_host-1":             {"my_host-1", DefaultPort},
		"udp4://1host:1":               {"1host", 1},
		"udp4://host.:1":               {"host.", 1},
	} {
		got, err := ParseFaceURI(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseFaceURI(got.String()); err != nil || again != got {
			t.Errorf("%q prints as %q", text, got)
		}
		if a, ok := got.Addr(); ok != (text[7] < 'a' && !strings.Contains(text, "1host")) || ok && a.Port() != got.Port {
			t.Errorf("%q: address %v, %v", text, a, ok)
		}
	}
	for text, want := range map[string]string{
		"":                          "no scheme",
		"192.0.2.7:6363":            "write udp4://192.0.2.7:6363",
		"udp6://[::1]:6363":         `scheme "udp6" is not available`,
		"tcp4://h:1":                `scheme "tcp4" is not available`,
		"udp4://KEY@h:1":            "not available yet",
		"udp4://@h:1":               "not available yet",
		"udp4://":                   "host is missing",
		"udp4://:6363":              "host is missing",
		"udp4://h:":                 "port",
		"udp4://h:x":                "port",
		"udp4://h:65536":            "port",
		"udp4://h:-1":               "port",
		"udp4://h:1/path":           "port",
		"udp4://h/path":             "neither",
		"udp4://[::1]:6363":         "IPv6",
		"udp4://::1":                "IPv6",
		"udp4://192.0.2.300:1":      "not an IPv4 address",
		"udp4://192.0.2:1":          "not an IPv4 address",
		"udp4://a b:1":              "neither",
		"udp4://a..b:1":             "neither",
		"udp4://-h:1":               "neither",
		"udp4://" + longHost + ":1": "neither",
	} {
		if got, err := ParseFaceURI(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}

var longHost = strings.Repeat("a", 254)

func TestParseLocal(t *testing.T) {
	for text, want := range map[string]string{"192.0.2.1": "192.0.2.1:0", "192.0.2.1:6363": "192.0.2.1:6363"} {
		if got, err := parseLocal(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "eth0", "::1", "[::1]:1", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.300"} {
		if got, err := parseLocal(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
