//go:build acceptance

package acceptance

import (
	"testing"
	"time"
)

// TestLinkFlaps takes the only link of a transfer away for a second and for ten, at either end, and its address too. The
// times are what is tested: a second is less than everyone's patience, ten are more than most timers.
func TestLinkFlaps(t *testing.T) {
	w := newHosts(t, "consumer", "producer")
	w.link("direct", "producer", producerDirect, "consumer", consumerDirect)
	down := func(host string) func() { return func() { w.ip(host, "link", "set", "direct", "down") } }
	up := func(host string) func() { return func() { w.ip(host, "link", "set", "direct", "up") } }
	address := func(verb, host, addr string) func() {
		return func() { w.ip(host, "address", verb, addr+"/24", "dev", "direct") }
	}
	x := newSingle(w, 64<<20)
	get := x.getFrom("consumer", uri("producer", producerDirect))
	for i, flap := range []struct {
		what          string
		take, restore func()
		away          time.Duration
	}{
		{"the consumer's end, 1 s", down("consumer"), up("consumer"), time.Second},
		{"the producer's end, 1 s", down("producer"), up("producer"), time.Second},
		{"the consumer's address, 1 s", address("delete", "consumer", consumerDirect), address("add", "consumer", consumerDirect), time.Second},
		{"the producer's address, 1 s", address("delete", "producer", producerDirect), address("add", "producer", producerDirect), time.Second},
		{"the consumer's end, 10 s", down("consumer"), up("consumer"), 10 * time.Second},
		{"the producer's end, 10 s", down("producer"), up("producer"), 10 * time.Second},
	} {
		x.reach(get, 0.1+0.13*float64(i))
		flap.take()
		time.Sleep(flap.away)
		flap.restore()
		select {
		case <-get.done:
			t.Fatalf("the fetch ended while %s was away", flap.what)
		default:
			t.Logf("%s is back", flap.what)
		}
	}
	e := x.succeeds(get, x.dest)
	t.Logf("%d MB in %.1f s with 24 s without a link", e.Bytes>>20, e.Seconds)
}
