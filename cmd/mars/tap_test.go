package main

import (
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// tap is a UDP proxy for one client that lets a number of bytes through to it and then swallows everything: it makes a
// fetch stand still halfway, on a machine of any speed.
type tap struct {
	front, back *net.UDPConn
	client      atomic.Pointer[net.UDPAddr]
}

// newTap returns the address, as a value of --via, of a tap in front of server, which is one too.
func newTap(t *testing.T, server string, limit int) string {
	t.Helper()
	to, err := net.ResolveUDPAddr("udp4", strings.TrimPrefix(server, "udp4://"))
	if err != nil {
		t.Fatal(err)
	}
	var p tap
	if p.front, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if p.back, err = net.DialUDP("udp4", nil, to); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 2)
	go func() { p.up(); done <- struct{}{} }()
	go func() { p.down(limit); done <- struct{}{} }()
	t.Cleanup(func() {
		p.front.Close()
		p.back.Close()
		<-done
		<-done
	})
	return "udp4://127.0.0.1:" + strconv.Itoa(p.front.LocalAddr().(*net.UDPAddr).Port)
}

func (p *tap) up() {
	buf := make([]byte, 65536)
	for {
		n, from, err := p.front.ReadFromUDP(buf)
		if err != nil {
			return
		}
		p.client.Store(from)
		_, _ = p.back.Write(buf[:n])
	}
}

func (p *tap) down(limit int) {
	buf := make([]byte, 65536)
	for passed := 0; ; {
		n, err := p.back.Read(buf)
		if err != nil {
			return
		}
		if passed += n; passed <= limit {
			_, _ = p.front.WriteToUDP(buf[:n], p.client.Load())
		}
	}
}
