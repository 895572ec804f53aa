package mars

import (
	"strings"
	"testing"
)

func TestParseFaceLocal(t *testing.T) {
	for _, text := range []string{"192.0.2.1", "192.0.2.1:6363", "2001:db8::1", "[2001:db8::1]:6363", "fe80::1%eth0", "eth1", "wlan0.5", "wg-a", "enp3s0f1"} {
		got, err := ParseFaceLocal(text)
		if err != nil || got.String() != text {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if (got.Interface != "") != (text[0] == 'w' || text[:2] == "et" || text[:2] == "en") {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		"":                 "neither",
		"192.0.2.1:":       "neither",
		"192.0.2.1:65536":  "neither",
		"192.0.2.300":      "neither",
		"a/b":              "neither",
		"..":               "neither",
		"sixteen-letters-": "neither",
		"eth 1":            "neither",
		"eth1:6363":        "neither",
		"0.0.0.0":          "leave local away",
		"::":               "leave local away",
		"fe80::1":          "name the interface",
		"::ffff:192.0.2.1": "use 192.0.2.1",
	} {
		if got, err := ParseFaceLocal(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
	if got := (FaceLocal{}).String(); got != "" {
		t.Errorf("the zero value prints as %q", got)
	}
}

func TestParseFace(t *testing.T) {
	local, err := ParseFaceLocal("192.0.2.9:1")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]FaceConfig{
		"plain+udp://192.0.2.1":                           {To: FaceURI{"192.0.2.1", DefaultPort, 0, PublicKey{}, true}, MTU: DefaultMTU},
		"plain+udp4://192.0.2.1:7,local=eth1":             {To: FaceURI{"192.0.2.1", 7, 0, PublicKey{}, true}, Local: FaceLocal{Interface: "eth1"}, MTU: DefaultMTU},
		"plain+udp://h,mtu=900,local=192.0.2.9:1,rate=1M": {To: FaceURI{"h", DefaultPort, 0, PublicKey{}, true}, Local: local, Rate: 1e6, MTU: 900},
		"plain+udp6://[2001:db8::1]:7,queue=5":            {To: FaceURI{"2001:db8::1", 7, 0, PublicKey{}, true}, MTU: DefaultMTU, Queue: 5},
	} {
		if got, err := ParseFace(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                     "no scheme",
		"udp4://h:0":                           "port 0",
		"plain+udp4://h,":                      `"" is unknown`,
		"plain+udp4://h,lokal=eth1":            `"lokal" is unknown or there twice; write local=`,
		"plain+udp4://h,local=eth1,local=eth2": "there twice",
		"plain+udp4://h,local":                 "local: \"\" is neither",
		"plain+udp4://h,mtu=1":                 "mtu: \"1\" is not a whole number from 256",
		"plain+udp4://h,rate=fast":             "rate: ",
		"udp4://h?local=eth1":                  "neither",
	} {
		if got, err := ParseFace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, got, err, want)
		}
	}
}
