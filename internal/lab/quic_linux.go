package lab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"github.com/quic-go/quic-go"
)

// quicConfig leaves the receiver's windows at what TCP has, 6 MiB, so that neither is held up sooner.
func quicConfig() *quic.Config {
	return &quic.Config{
		MaxStreamReceiveWindow: 6 << 20, MaxConnectionReceiveWindow: 6 << 20, MaxIdleTimeout: time.Minute,
		InitialPacketSize: 1400,
	}
}

const quicProtocol = "mars-lab"

// serveQUIC answers one stream per connection, and tells what each connection sent.
func (s *Stream) serveQUIC(ctx context.Context, c *Console) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return err
	}
	at, err := quic.ListenAddr(fmt.Sprintf("0.0.0.0:%d", s.Port), &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: private}}, NextProtos: []string{quicProtocol},
	}, quicConfig())
	if err != nil {
		return err
	}
	go func() {
		defer at.Close()
		for {
			conn, err := at.Accept(ctx)
			if err != nil {
				return // closed
			}
			go func() {
				stream, err := conn.AcceptStream(ctx)
				if err != nil {
					return // the peer has seen it too
				}
				answer(stream)
				st := conn.ConnectionStats()
				c.Tell(Event{Event: "sent", Requests: int64(st.PacketsSent - st.PacketsLost), Resent: int64(st.PacketsLost)})
			}()
		}
	}()
	return nil
}

// quicConn is a connection of its own for one stream, as a net.Conn.
type quicConn struct {
	*quic.Stream
	conn *quic.Conn
}

// Close ends our side of the stream; the other side's end follows, and then the connection goes.
func (q quicConn) Close() error {
	err := q.Stream.Close()
	_ = q.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, q.Stream)
	_ = q.conn.CloseWithError(0, "")
	return err
}

func (q quicConn) LocalAddr() net.Addr  { return q.conn.LocalAddr() }
func (q quicConn) RemoteAddr() net.Addr { return q.conn.RemoteAddr() }

// dialQUIC dials without asking who answers: the lab's namespaces hold nobody else.
func dialQUIC(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := quic.DialAddr(ctx, addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{quicProtocol}}, quicConfig())
	if err != nil {
		return nil, err
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	return quicConn{stream, conn}, nil
}
