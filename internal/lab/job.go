package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Job is what one process on a host of the lab does. The lab hands it over on the process's standard input, as a line of JSON;
// the process answers with events on its standard output. A second line says when to begin, further ones are Commands, and the end of the
// input says when to end.
type Job struct {
	Host     string    `json:"host"`
	Dilation float64   `json:"dilation"`
	Dir      string    `json:"dir"` // for its files
	Fetches  []Fetch   `json:"fetches,omitempty"`
	Node     *NodeJob  `json:"node,omitempty"`   // a MARS node
	Stream   *Stream   `json:"stream,omitempty"` // a host of another transport
	Objects  []Payload `json:"objects,omitempty"`
}

// Payload is an object that the process serves.
type Payload struct {
	Flow  int    `json:"flow"` // that it is for
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Chunk int    `json:"chunk,omitempty"` // content of one packet, bytes; 0: as usual
}

// Fetch is one flow that the process fetches.
type Fetch struct {
	Flow  int           `json:"flow"` // index into World.Flows
	Name  string        `json:"name"`
	Start time.Duration `json:"start"` // from the beginning, in the scenario's time
	Bytes int64         `json:"bytes"`
	Chunk int           `json:"chunk,omitempty"` // content of one packet, bytes; 0: as usual
	From  string        `json:"from,omitempty"`  // host:port, of Stream
	Ways  []Way         `json:"ways,omitempty"`  // of mpquic, instead of From
	Paths int           `json:"paths"`           // that there are
	// Signer is the key of the node that must have signed the object.
	Signer string `json:"signer,omitempty"`
}

// Way is one route of a flow, by the addresses at its ends.
type Way struct {
	Link  int    `json:"link"` // by which it leaves
	Local string `json:"local"`
	To    string `json:"to"`  // host:port
	MTU   int    `json:"mtu"` // of UDP datagrams
}

// NodeJob is how a MARS node is set up; as mars.Config.
type NodeJob struct {
	Role     string             `json:"role"`
	Strategy string             `json:"strategy"`
	Profile  string             `json:"profile"`
	Key      string             `json:"key"`
	Listen   string             `json:"listen,omitempty"`
	Guests   map[string]float64 `json:"guests,omitempty"` // address of a neighbour that dials: bit/s of datagrams toward it
	Prefix   string             `json:"prefix,omitempty"` // of what it serves
	Detours  bool               `json:"detours"`
	Wait     bool               `json:"wait"` // Data wait for discovery
	Faces    []Face             `json:"faces,omitempty"`
}

// Face is a neighbour that a node dials, and the producers that it leads to.
type Face struct {
	Name   string         `json:"name"`
	Link   int            `json:"link"` // by which it leaves
	To     string         `json:"to"`
	Local  string         `json:"local,omitempty"`
	Rate   float64        `json:"rate,omitempty"`   // bit/s of datagrams
	Routes map[string]int `json:"routes,omitempty"` // prefix: hops
}

// Stream says which byte stream a host speaks.
type Stream struct {
	Protocol string `json:"protocol"` // tcp, mptcp, quic, mpquic
	Control  string `json:"control,omitempty"`
	Count    int    `json:"count"` // connections per flow
	Port     int    `json:"port"`

	// Of mpquic alone; as in scenario.World.Endpoints.
	MTU       int    `json:"mtu,omitempty"` // of UDP datagrams that it sends to whoever fetches
	Scheduler string `json:"scheduler,omitempty"`
	ECN       bool   `json:"ecn,omitempty"`
	Pace      bool   `json:"pace,omitempty"`
	Buffer    int    `json:"buffer,omitempty"`
}

// Event is what a process tells. Times are real.
type Event struct {
	Event     string    `json:"event"` // ready, flow, sent, failed
	Flow      int       `json:"flow"`
	T95       float64   `json:"t95_s,omitempty"` // from when the flow was to begin
	T100      float64   `json:"t100_s,omitempty"`
	Paths     int       `json:"paths,omitempty"`
	Requests  int64     `json:"requests,omitempty"`
	Resent    int64     `json:"resent,omitempty"`
	Corrupt   int64     `json:"corrupt,omitempty"`
	StepS     float64   `json:"step_s,omitempty"`
	SeriesMbs []float64 `json:"series_mbps,omitempty"`
	CPU       float64   `json:"cpu_s,omitempty"` // of the process so far
	Why       string    `json:"why,omitempty"`
}

// Command takes all faces of a host that leave by a link out of service, or brings them back.
type Command struct {
	Link int  `json:"link"`
	Out  bool `json:"out"`
}

// Console is a process's side of the exchange.
type Console struct {
	in  *bufio.Reader
	mu  sync.Mutex
	out *json.Encoder
}

// NewConsole speaks over the process's standard input and output.
func NewConsole(in io.Reader, out io.Writer) *Console {
	return &Console{in: bufio.NewReaderSize(in, 1<<20), out: json.NewEncoder(out)}
}

// Job reads the job.
func (c *Console) Job() (j Job, err error) {
	line, err := c.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &j)
	}
	if err != nil {
		return j, fmt.Errorf("no job on standard input: %w", err)
	}
	return j, nil
}

// Tell writes an event. Who can't be told any more has ended, and so will this process.
func (c *Console) Tell(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(e)
}

// Begin tells that the process is ready and waits to hear when to begin.
func (c *Console) Begin() (time.Time, error) {
	c.Tell(Event{Event: "ready"})
	line, err := c.in.ReadBytes('\n')
	var at int64
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		return time.Time{}, errors.Join(errors.New("the lab ended before it began"), err)
	}
	return time.Unix(0, at), nil
}

// End waits until the lab wants no more, and does what it commands until then; nil: nothing.
func (c *Console) End(do func(Command) error) error {
	for {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			return nil // the end
		}
		var command Command
		if err := json.Unmarshal(line, &command); err != nil {
			return fmt.Errorf("a command: %w", err)
		}
		if do == nil {
			continue
		}
		if err := do(command); err != nil {
			return err
		}
	}
}

// Meter turns how far a flow is into an Event.
type Meter struct {
	start time.Time
	size  int64
	event Event

	lastAt    time.Time
	lastBytes int64
	step      time.Duration
	series    []float64 // bytes
}

// SeriesStep is the step of goodput series in real time: 250 ms of the scenario's.
func SeriesStep(dilation float64) time.Duration {
	return time.Duration(250 * float64(time.Millisecond) * dilation)
}

// NewMeter meters a flow that is to begin at start. step is that of the goodput series, in real time; 0: none.
func NewMeter(flow int, start time.Time, size int64, step time.Duration) *Meter {
	return &Meter{start: start, size: size, event: Event{Event: "flow", Flow: flow, T95: -1, T100: -1}, lastAt: start, step: step}
}

// At says that so many bytes have come by now. Between two calls bytes are taken to have come evenly.
func (m *Meter) At(now time.Time, bytes int64) {
	part := float64(m.size) * 0.95
	if m.event.T95 < 0 && float64(bytes) >= part && bytes > m.lastBytes {
		share := (part - float64(m.lastBytes)) / float64(bytes-m.lastBytes)
		m.event.T95 = m.lastAt.Sub(m.start).Seconds() + share*now.Sub(m.lastAt).Seconds()
	}
	if m.step > 0 && bytes > m.lastBytes {
		k := max(int(now.Sub(m.start)/m.step), 0)
		for len(m.series) <= k {
			m.series = append(m.series, 0)
		}
		m.series[k] += float64(bytes - m.lastBytes)
	}
	m.lastAt, m.lastBytes = now, bytes
}

// Done says that the flow is whole, and returns its event.
func (m *Meter) Done(now time.Time) Event {
	m.At(now, m.size)
	m.event.T100 = now.Sub(m.start).Seconds()
	m.event.T95 = min(m.event.T95, m.event.T100)
	m.event.StepS = m.step.Seconds()
	for _, b := range m.series {
		m.event.SeriesMbs = append(m.event.SeriesMbs, b*8/1e6/m.step.Seconds())
	}
	return m.event
}
