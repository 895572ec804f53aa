package driver

import (
	"net/netip"
	"strings"
	"testing"
)

func TestDialNeedsOneVersion(t *testing.T) {
	d := New(newEcho(), Options{})
	_, err := d.Dial(FaceSpec{Remote: netip.MustParseAddrPort("192.0.2.1:1"), Local: netip.MustParseAddrPort("[::1]:0")})
	if err == nil || !strings.Contains(err.Error(), "another IP version") {
		t.Errorf("%v", err)
	}
	start(t, d)
}
