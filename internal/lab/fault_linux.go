package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"mars/internal/channel"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// checkFaults says which fault of a world the lab can't do; nil: none.
func checkFaults(w *scenario.World) error {
	for i := range w.Faults {
		switch f := &w.Faults[i]; f.Kind {
		case scenario.Blackhole, scenario.LinkDown, scenario.Exclude, scenario.SetRate, scenario.SetDelay, scenario.SetLoss, scenario.SetBurst,
			scenario.SetMTU, scenario.Deaf:
		default:
			return fmt.Errorf("fault %d: %s is nothing that the lab can do to a link yet; simulate it", i+1, f.Kind)
		}
	}
	return nil
}

// strike begins a fault, or ends it.
func (r *round) strike(f *scenario.Fault, begins bool) error {
	l := &r.n.w.Links[f.Link]
	if f.Kind != scenario.Exclude {
		return r.n.strike(f, begins)
	}
	if !r.p.s.mars && r.p.s.stream.Protocol != "mpquic" {
		return r.n.unplug(f.Link, begins)
	}
	var errs []error
	for _, end := range [2]int{l.A, l.B} {
		for _, w := range r.workers {
			if node := &r.n.w.Nodes[end]; node.Role == scenario.Consumer && w.job.Host == node.Name {
				errs = append(errs, w.tell(Command{f.Link, begins}))
			}
		}
	}
	return errors.Join(errs...)
}

// unplug takes the consumer's end of a link away from its kernel, which drops what comes by it, or gives it back.
func (n *network) unplug(link int, out bool) error {
	return n.emulator.do(func(now machine.Time) {
		l := &n.w.Links[link]
		for i, host := range [2]int{l.A, l.B} {
			p := n.pipes[2*link+i]
			if p.down = out; out {
				p.swallow(now)
			}
			if n.w.Nodes[host].Role == scenario.Consumer {
				_ = unix.IoctlSetPointerInt(n.emulator.devices[2*link+i], unix.TUNSETCARRIER, carrier(!out))
			}
		}
	})
}

// strike begins a fault of a link, or ends it.
func (n *network) strike(f *scenario.Fault, begins bool) error {
	return n.emulator.do(func(now machine.Time) {
		for _, i := range [2]int{2 * f.Link, 2*f.Link + 1} {
			n.pipes[i].fault(now, f, direction(n.w, i), begins)
			if f.Kind == scenario.Deaf {
				l := &n.w.Links[f.Link]
				n.pipes[i].hole = begins && (i%2 == 0) == (l.B == f.Node)
			}
			if f.Kind == scenario.LinkDown {
				_ = unix.IoctlSetPointerInt(n.emulator.devices[i], unix.TUNSETCARRIER, carrier(!begins)) // else packets just vanish
			}
		}
	})
}

func carrier(up bool) int {
	if up {
		return 1
	}
	return 0
}

// fault changes a pipe; usual is what the scenario says of it.
func (p *pipe) fault(now machine.Time, f *scenario.Fault, usual *scenario.Direction, begins bool) {
	switch f.Kind {
	case scenario.Blackhole:
		if p.hole = begins; begins {
			p.swallow(now)
		}
	case scenario.LinkDown:
		if p.down = begins; begins {
			p.swallow(now)
		}
	case scenario.SetRate:
		p.setRate(now, pick(begins, f.Value, usual.Rate))
	case scenario.SetDelay:
		p.dir.Delay = usual.Delay
		if begins {
			p.dir.Delay = seconds(f.Value)
		}
	case scenario.SetLoss:
		p.loss = channel.NewChance(pick(begins, f.Value, usual.Loss.Random))
	case scenario.SetBurst:
		p.burst = channel.NewBurst(usual.Loss)
		if begins {
			p.burst = channel.FaultBurst(f.Value)
		}
	case scenario.SetMTU:
		p.dir.MTU = int(pick(begins, f.Value, float64(usual.MTU)))
	}
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}
