package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// What calibration insists on (evaluation.md); delays are the scenario's.
const (
	maxRateError = 0.01
	maxLossError = 0.05
	maxDelayP50  = 100 * time.Microsecond
	maxDelayP99  = 500 * time.Microsecond
	spread       = 3 // standard errors that a count may be off by chance
)

// probe is the load of one direction, and what came of it.
type probe struct {
	fd   int // bound to the link's end that sends; the socket of direction^1 receives
	to   unix.SockaddrInet4
	dir  scenario.Direction
	size int     // of an IP packet
	rate float64 // packets per second of the scenario's time

	sent     int64
	skipped  int64 // for lack of time
	received int64
	bytes    int64
	first    time.Time // of the packets received
	last     time.Time
	busy     machine.Time // of a queue like the link's
	error    *histogram
}

const (
	headers  = 28 // of IPv4 and UDP
	smallest = 80 // bytes of a packet on a direction that carries requests and acknowledgements
	burst    = 8  // packets that one direction sends at once
	settling = 200 * time.Millisecond
)

// calibrate loads every direction at once for two spans: below its rate, for delays and losses, and above it, for the rate. heavy
// tells which directions carry objects; the others get half as many small packets.
func (n *network) calibrate(heavy []bool, span time.Duration) (*Calibration, error) {
	if err := n.setLosses(true); err != nil {
		return nil, err
	}
	probes, err := n.newProbes(heavy)
	defer func() {
		for _, p := range probes {
			unix.Close(p.fd)
		}
	}()
	if err != nil {
		return nil, err
	}
	c := &Calibration{Dilation: n.emulator.scale}
	before := processorTimes()
	if err := n.load(probes, 0.9, span); err != nil {
		return nil, err
	}
	c.delays(probes)
	if err := n.setLosses(false); err != nil {
		return nil, err
	}
	if err := n.load(probes, 1.2, span); err != nil {
		return nil, err
	}
	c.Busy = processorTimes().busySince(before)
	c.rates(probes, n.emulator.scale)
	if err := n.setLosses(true); err != nil {
		return nil, err
	}
	return c, nil
}

// setLosses switches random losses on or off.
func (n *network) setLosses(on bool) error {
	return n.emulator.do(func(machine.Time) {
		for i, p := range n.pipes {
			loss := scenario.Loss{}
			if on {
				loss = direction(n.w, i).Loss
			}
			p.setLoss(loss)
		}
	})
}

// direction is the i-th of a world's: 2·link from A to B, 2·link+1 back.
func direction(w *scenario.World, i int) *scenario.Direction {
	if i%2 == 0 {
		return &w.Links[i/2].AB
	}
	return &w.Links[i/2].BA
}

// newProbes opens a socket at every end of a link.
func (n *network) newProbes(heavy []bool) (probes []*probe, err error) {
	const port = 9 // discard
	for i := range n.pipes {
		l := &n.w.Links[i/2]
		host := l.A
		if i%2 == 1 {
			host = l.B
		}
		d := direction(n.w, i)
		p := &probe{dir: *d, size: d.MTU, rate: d.Rate / 8 / float64(d.MTU), error: &histogram{}}
		if !heavy[i] {
			p.size, p.rate = smallest, p.rate/2
		}
		p.to = unix.SockaddrInet4{Port: port, Addr: address(i/2, 1-i%2).As4()}
		err := inside(n.namespace(host), func() (err error) {
			p.fd, err = probeSocket(netip.AddrPortFrom(address(i/2, i%2), port))
			return err
		})
		if err != nil {
			return probes, err
		}
		probes = append(probes, p)
	}
	return probes, nil
}

func probeSocket(at netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, 4 << 20}, {unix.SO_SNDBUFFORCE, 4 << 20}, {unix.SO_TIMESTAMPNS, 1}} {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], o[1]))
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("calibration socket at %v: %w", at, err)
	}
	return fd, nil
}

// load sends at a share of every rate for a span, and takes in what comes.
func (n *network) load(probes []*probe, share float64, span time.Duration) error {
	for _, p := range probes {
		p.sent, p.skipped, p.received, p.bytes, p.busy, p.error = 0, 0, 0, 0, 0, &histogram{}
	}
	quit, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- receiveAll(probes, quit) }()
	sent := make(chan error)
	go func() { sent <- n.sendAll(probes, share, span) }()
	err := <-sent
	longest := time.Duration(0)
	for _, p := range probes {
		queue := time.Duration(p.dir.Packets*p.dir.MTU+p.dir.Bytes) * 8 * time.Second / time.Duration(p.dir.Rate)
		if share < 1 {
			queue = 0
		}
		longest = max(longest, queue+p.dir.Delay+p.dir.Jitter)
	}
	time.Sleep(settling + min(time.Duration(float64(longest)*n.emulator.scale), 5*time.Second))
	close(quit)
	return errors.Join(err, <-done)
}

// sendAll paces all directions from one thread. Each packet holds when it is due at the other end, as a queue of the link's rate
// and its delay have it.
func (n *network) sendAll(probes []*probe, share float64, span time.Duration) error {
	runtime.LockOSThread() // and never unlocked: the thread's priority ends with the goroutine
	hasten()
	e := n.emulator
	hurry(true)
	begun := time.Now()
	offset := begun.UnixNano() - int64(begun.Sub(e.start)) // of the wall clock, which receivers stamp with
	var buf [65536]byte
	for time.Since(begun) < span {
		for _, p := range probes {
			due := int64(time.Since(begun).Seconds()/e.scale*p.rate*share) - p.skipped
			if behind := due - p.sent - burst; behind > 0 && share < 1 { // this thread came late: to catch up would fill the queue
				p.skipped += behind
				due -= behind
			}
			for range min(due-p.sent, 4*burst) {
				now := e.now()
				p.busy = max(p.busy, now) + machine.Time(float64(p.size)*8e9/p.dir.Rate)
				at := float64(p.busy+machine.Time(p.dir.Delay)) * e.scale
				binary.BigEndian.PutUint64(buf[:], uint64(offset+int64(at)))
				err := unix.Sendto(p.fd, buf[:p.size-headers], 0, &p.to)
				if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ENOBUFS) {
					return fmt.Errorf("calibrate: send: %w", err)
				}
				p.sent++
			}
		}
		sleep(100 * time.Microsecond)
	}
	return nil
}

// receiveAll takes in what comes at every socket until quit is closed.
func receiveAll(probes []*probe, quit chan struct{}) error {
	runtime.LockOSThread() // as sendAll
	hasten()
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(epoll)
	for i, p := range probes {
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, p.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, len(probes))
	for {
		select {
		case <-quit:
			return nil
		default:
		}
		k, err := unix.EpollWait(epoll, events, 20)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, ev := range events[:max(k, 0)] {
			probes[ev.Fd].receive(probes[ev.Fd^1])
		}
		sleep(200 * time.Microsecond) // the kernel stamps packets: there is no hurry
	}
}

// receive takes in what came at p's socket: packets of the opposite direction.
func (p *probe) receive(from *probe) {
	var buf [8]byte
	var control [64]byte
	for {
		size, oobn, _, _, err := unix.Recvmsg(p.fd, buf[:], control[:], unix.MSG_TRUNC)
		if err != nil || size < 8 || oobn < unix.CmsgLen(16) {
			return
		}
		stamp := *(*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
		at := time.Unix(stamp.Sec, stamp.Nsec)
		if from.received == 0 {
			from.first = at
		} else {
			from.bytes += int64(size) + headers
		}
		from.last = at
		from.received++
		from.error.add(time.Duration(at.UnixNano() - int64(binary.BigEndian.Uint64(buf[:]))).Abs())
	}
}

// delays judges what was sent below the links' rates.
func (c *Calibration) delays(probes []*probe) {
	all, sent, wanted, variance := &histogram{}, 0.0, 0.0, 0.0
	for _, p := range probes {
		for i, n := range p.error.steps {
			all.steps[i] += n
		}
		all.total += p.error.total
		loss := meanLoss(p.dir.Loss)
		sent += float64(p.sent)
		wanted += float64(p.sent) * loss
		variance += float64(p.sent) * loss * (1 - loss)
	}
	c.Packets = all.total
	c.DelayP50 = time.Duration(float64(all.quantile(0.5)) / c.Dilation)
	c.DelayP99 = time.Duration(float64(all.quantile(0.99)) / c.Dilation)
	c.Wanted, c.Lost = wanted/max(sent, 1), 1-float64(all.total)/max(sent, 1)
	if slices.ContainsFunc(probes, func(p *probe) bool { return p.dir.Jitter > 0 }) {
		c.DelayP50, c.DelayP99 = 0, 0 // jitter is wanted, and not told apart
	}
	if c.DelayP50 > maxDelayP50 || c.DelayP99 > maxDelayP99 {
		c.problem("delays are off by %v (median) and %v (99%%), more than %v and %v", c.DelayP50, c.DelayP99, maxDelayP50, maxDelayP99)
	}
	if off := math.Abs(sent - float64(all.total) - wanted); off > maxLossError*wanted+spread*math.Sqrt(variance) {
		c.problem("%.3f%% of the packets were lost, and %.3f%% should have been", c.Lost*100, c.Wanted*100)
	}
}

// rates judges what was sent above the links' rates.
func (c *Calibration) rates(probes []*probe, scale float64) {
	for _, p := range probes {
		if p.size == smallest {
			continue // its packets don't fill the link
		}
		if p.received < 2 {
			c.problem("a link carried nothing")
			continue
		}
		c.Packets += p.received
		rate := float64(p.bytes) * 8 / p.last.Sub(p.first).Seconds() * scale
		c.RateError = max(c.RateError, math.Abs(rate/p.dir.Rate-1))
	}
	if c.RateError > maxRateError {
		c.problem("a link is off its rate by %.1f%%, more than %.0f%%", c.RateError*100, maxRateError*100)
	}
}

func (c *Calibration) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// meanLoss is the part of the packets that l takes in the long run.
func meanLoss(l scenario.Loss) float64 {
	bursts := 0.0
	if l.BurstEnter > 0 {
		bursts = l.BurstEnter / (l.BurstEnter + l.BurstLeave) * l.BurstLoss
	}
	return 1 - (1-l.Random)*(1-bursts)
}
