package mars

import (
	"crypto/rand"
	"fmt"
	"os"
	"testing"

	"mars/internal/secure"
)

// TestMain gives the nodes of these tests that don't name a key file one key, whatever this machine keeps for its nodes: they then trust
// each other's objects, also over plain faces.
func TestMain(m *testing.M) {
	key, err := secure.NewPrivateKey(rand.Reader)
	if err == nil {
		err = os.Setenv("MARS_KEY", key.Text())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
