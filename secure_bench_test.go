package mars

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/crypto/blake2s"
)

// secureBench is a producer that takes encrypted and plain faces, with one object, and a consumer of each kind.
type secureBench struct {
	b             *testing.B
	producer      *Node
	secret, clear *Node
	size          int64
	target        netip.AddrPort
}

func newSecureBench(b *testing.B, size int64) *secureBench {
	b.Helper()
	dir := b.TempDir()
	f, err := os.Create(filepath.Join(dir, "object"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		b.Fatal(err)
	}
	s := &secureBench{b: b, size: size}
	s.producer = startBench(b, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	s.target = s.producer.Addrs()[0]
	consumer := func(to FaceURI) *Node {
		return startBench(b, &Config{
			Faces: []FaceConfig{{Name: "up", To: to}}, Routes: []RouteConfig{{Prefix: "/", Via: "up"}},
		})
	}
	s.secret, s.clear = consumer(s.producer.Listening()[0]), consumer(local(s.target.Port()))
	s.fetch(s.secret) // it is hashed from now on
	s.fetch(s.clear)
	return s
}

// fetch returns the goodput of one fetch, bytes per second.
func (s *secureBench) fetch(n *Node) float64 {
	start := time.Now()
	if _, err := n.Fetch(context.Background(), FetchOptions{Name: "/site/object", Writer: io.Discard}); err != nil {
		s.b.Fatal(err)
	}
	return float64(s.size) / time.Since(start).Seconds()
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// BenchmarkEncryption compares encrypted with plain faces, in turns, on one machine that does all the work.
func BenchmarkEncryption(b *testing.B) {
	s := newSecureBench(b, 64<<20)
	var secret, clear []float64
	for b.Loop() {
		clear = append(clear, s.fetch(s.clear))
		secret = append(secret, s.fetch(s.secret))
	}
	b.ReportMetric(median(secret)/1e6, "encrypted_MB/s")
	b.ReportMetric(median(clear)/1e6, "plain_MB/s")
	b.ReportMetric(median(secret)/median(clear), "ratio")
}

// BenchmarkHandshakeFlood compares the goodput of an encrypted transfer with and without 10,000 garbage handshakes a second, half of
// them with the first authenticator right, in turns. The flood is made on the same machine.
func BenchmarkHandshakeFlood(b *testing.B) {
	s := newSecureBench(b, 64<<20)
	// At half of what this machine can do, so that what the flood's own maker takes isn't counted.
	if err := s.secret.LimitRate(Rate(4 * s.fetch(s.secret))); err != nil {
		b.Fatal(err)
	}
	like := initiation(b, s.producer.Key())
	var calm, flooded []float64
	sent := 0.0
	for b.Loop() {
		calm = append(calm, s.fetch(s.secret))
		stop := make(chan struct{})
		rate := make(chan float64)
		go func() { rate <- flood(b, s.target, s.producer.Key(), like, 10_000, stop) }()
		flooded = append(flooded, s.fetch(s.secret))
		close(stop)
		sent = <-rate
	}
	b.ReportMetric(median(flooded)/median(calm), "ratio")
	b.ReportMetric(median(flooded)/1e6, "flooded_MB/s")
	b.ReportMetric(sent, "garbage/s")
}

// initiation is what a node sends to begin a handshake with the holder of key.
func initiation(b *testing.B, key PublicKey) []byte {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	startBench(b, &Config{Faces: []FaceConfig{{Name: "up", To: FaceURI{Host: "127.0.0.1", Port: c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), Key: key}}}})
	buf := make([]byte, 2000)
	n, err := c.Read(buf)
	if err != nil {
		b.Fatal(err)
	}
	return buf[:n]
}

// flood sends garbage handshakes until stop, and returns how many a second it were.
func flood(b *testing.B, to netip.AddrPort, key PublicKey, like []byte, rate int, stop <-chan struct{}) float64 {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer c.Close()
	macKey := blake2s.Sum256(append([]byte("mars handshake 1"), key[:]...))
	datagram := bytes.Clone(like)
	start, sent := time.Now(), 0
	for {
		for due := int(time.Since(start).Seconds() * float64(rate)); sent < due; sent++ {
			datagram[8]++
			datagram[9] = byte(sent >> 8)
			datagram[10] = byte(sent >> 16)
			if sent%2 == 0 {
				h, err := blake2s.New128(macKey[:])
				if err != nil {
					b.Error(err)
				}
				h.Write(datagram[:len(datagram)-32])
				h.Sum(datagram[:len(datagram)-32])
			} else {
				datagram[len(datagram)-32]++
			}
			_, _ = c.Write(datagram)
		}
		select {
		case <-stop:
			return float64(sent) / time.Since(start).Seconds()
		case <-time.After(time.Millisecond):
		}
	}
}
