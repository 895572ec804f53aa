package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"time"

	"mars/internal/driver"
	"mars/internal/endpoint"
	"mars/internal/machine"
)

// What hosts of MPQUIC run: the Machine that the simulator runs, over UDP sockets. Every route of a flow is a face, which the
// consumer dials; producers get theirs when the first packet comes.

// machineHost is a host's Machine and its flows.
type machineHost struct {
	*endpoint.Host
	transport *endpoint.Transport
	driver    *driver.Driver
	job       *Job
	console   *Console
	objects   map[uint64]int64   // that it serves: bytes
	faces     [][]machine.FaceID // by fetch and way
	flows     map[endpoint.ID]*machineFlow
	events    []endpoint.Event
}

// machineFlow is a transfer under way.
type machineFlow struct {
	meter *Meter
	flow  int
	size  int64
	got   int64
}

// FaceUp lets peers open connections on the faces that they make.
func (h *machineHost) FaceUp(now machine.Time, id machine.FaceID, f machine.Face) {
	if f.OnDemand {
		h.Listen(id, h.transport)
	}
	h.Host.FaceUp(now, id, f)
}

// newMachineHost makes a host without faces.
func newMachineHost(j *Job, c *Console) (*machineHost, error) {
	s := j.Stream
	t, err := endpoint.NewTransport(endpoint.MPQUIC, s.Control, s.Scheduler)
	if err != nil {
		return nil, err
	}
	t.ECN, t.Buffer, t.Pace = s.ECN, s.Buffer, t.Pace || s.Pace
	h := &machineHost{transport: t, job: j, console: c, objects: map[uint64]int64{}, flows: map[endpoint.ID]*machineFlow{}}
	for _, o := range j.Objects {
		h.objects[uint64(o.Flow)] = o.Bytes
	}
	h.Host = endpoint.New(endpoint.Config{Seed: rand.Uint64(), Size: func(object uint64) int64 { return h.objects[object] }})
	h.driver = driver.New(h, driver.Options{
		Scale: j.Dilation, MTU: j.Stream.MTU, Idle: -1,
		Accept: func(netip.AddrPort) (machine.Face, bool) {
			return machine.Face{MTU: j.Stream.MTU, OnDemand: true}, len(j.Objects) > 0
		},
	})
	h.driver.OnTurn(h.turn)
	return h, nil
}

// serveMachine does the job of a host of MPQUIC.
func serveMachine(ctx context.Context, j *Job, c *Console) error {
	h, err := newMachineHost(j, c)
	if err != nil {
		return err
	}
	if len(j.Objects) > 0 {
		if _, err := h.driver.Listen(netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(j.Stream.Port))); err != nil {
			return err
		}
	}
	for _, f := range j.Fetches {
		faces, err := h.dial(f)
		if err != nil {
			return err
		}
		h.faces = append(h.faces, faces)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	go func() { over <- h.driver.Run(ctx) }()
	begin, err := c.Begin()
	if err != nil {
		return err
	}
	for i, f := range j.Fetches {
		start := begin.Add(time.Duration(float64(f.Start) * j.Dilation))
		time.AfterFunc(time.Until(start), func() {
			h.driver.Post(func(now machine.Time) { h.begin(now, f, h.faces[i], start) })
		})
	}
	if err := c.End(h.obey); err != nil {
		return err
	}
	if len(j.Objects) > 0 {
		if err := h.driver.Do(func(machine.Time) { h.tellSent() }); err != nil {
			return err
		}
	}
	stop()
	return <-over
}

// obey takes paths out of service, or brings them back.
func (h *machineHost) obey(c Command) error {
	return h.driver.Do(func(now machine.Time) {
		for i, f := range h.job.Fetches {
			for k, w := range f.Ways {
				switch {
				case w.Link != c.Link:
				case c.Out:
					h.FaceDown(now, h.faces[i][k])
				default:
					h.FaceUp(now, h.faces[i][k], machine.Face{MTU: w.MTU})
				}
			}
		}
	})
}

// dial makes a flow's faces, one for each of its routes.
func (h *machineHost) dial(f Fetch) (all []machine.FaceID, err error) {
	for _, w := range f.Ways {
		spec := driver.FaceSpec{Face: machine.Face{MTU: w.MTU}}
		local, err := netip.ParseAddr(w.Local)
		if err == nil {
			spec.Local = netip.AddrPortFrom(local, 0)
			spec.Remote, err = netip.ParseAddrPort(w.To)
		}
		if err != nil {
			return nil, fmt.Errorf("a way of %s: %w", f.Name, err)
		}
		id, err := h.driver.Dial(spec)
		if err != nil {
			return nil, fmt.Errorf("a way of %s: %w", f.Name, err)
		}
		all = append(all, id)
	}
	return all, nil
}

// begin begins a flow.
func (h *machineHost) begin(now machine.Time, f Fetch, faces []machine.FaceID, start time.Time) {
	id := h.Fetch(now, endpoint.Request{Object: uint64(f.Flow), Faces: faces, Transport: h.transport})
	h.flows[id] = &machineFlow{meter: NewMeter(f.Flow, start, f.Bytes, SeriesStep(h.job.Dilation)), flow: f.Flow, size: f.Bytes}
}

// turn tells of what has come.
func (h *machineHost) turn(machine.Time) {
	h.events = h.Events(h.events[:0])
	for _, e := range h.events {
		f := h.flows[e.ID]
		if f.got += e.Bytes; f.got < f.size && e.Bytes > 0 {
			f.meter.At(time.Now(), f.got)
		}
		switch {
		case e.Err != nil:
			h.console.Tell(Event{Event: "failed", Flow: f.flow, Why: "flow " + strconv.Itoa(f.flow) + ": " + e.Err.Error()})
		case e.Done:
			told := f.meter.Done(time.Now())
			told.Paths = h.Stats(e.ID).Paths
			h.console.Tell(told)
		}
	}
}

// tellSent tells what the host has sent.
func (h *machineHost) tellSent() {
	sum := Event{Event: "sent"}
	for _, o := range h.job.Objects {
		s := h.Served(uint64(o.Flow))
		sum.Requests, sum.Resent = sum.Requests+s.Segments, sum.Resent+s.Resent
	}
	h.console.Tell(sum)
}
