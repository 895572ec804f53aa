package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Conclude says in sentences what limits this machine, from what was measured.
func (r *Report) Conclude() {
	say := func(format string, args ...any) { r.End.Limits = append(r.End.Limits, fmt.Sprintf(format, args...)) }
	for i := range r.End.Paths {
		p := &r.End.Paths[i]
		busy := p.PerGB * p.BitRate / 8e9
		switch {
		case busy > 0.8*float64(r.Start.CPUs):
			say("%s: the processors, of which %.1f of %d were busy; %.2f CPU-s per GB", p.Test, busy, r.Start.CPUs, p.PerGB)
		default:
			say("%s: waiting, since only %.1f of %d processors were busy; %s", p.Test, busy, r.Start.CPUs, p.waiting())
		}
	}
	if sha := r.rate("sha-256"); sha > 0 {
		say("hashing alone allows %.1f Gbit/s on one core at each end", 8*sha/1e9)
	}
	if r.Start.Load > 0.5 {
		say("other programs ran: the load was %.1f when it began, so take the figures for less than the machine can do", r.Start.Load)
	}
}

// waiting is what a path that leaves processors idle may wait for.
func (p *PathResult) waiting() string {
	drops, resent := uint64(0), uint64(0)
	for _, run := range p.Runs {
		drops, resent = drops+run.Drops, resent+run.Resent
	}
	if drops+resent > 0 {
		return fmt.Sprintf("the kernel dropped %d datagrams, and %d Interests were sent again", drops, resent)
	}
	return "the busiest process has one core's worth of work, or other programs took the rest"
}

func (r *Report) rate(operation string) float64 {
	for _, c := range r.End.Crypto {
		if c.Operation == operation {
			return c.Bandwidth
		}
	}
	return 0
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d cores, %s/%s, %s, load %.1f\n", r.Start.CPUs, r.Start.OS, r.Start.Arch, r.Start.Go, r.Start.Load)
	if len(r.End.Forwarder) > 0 {
		fmt.Fprintln(t, "\nforwarder\tdatagrams\tcores\tns per Data\tpackets/s\tcontent")
		for _, f := range r.End.Forwarder {
			fmt.Fprintf(t, "%d bytes\t%d bytes\t%d\t%.0f\t%.2f M\t%.2f Gbit/s\n", f.Content, f.MTU, f.Cores, f.PerData, f.PacketRate/1e6, f.ContentRate/1e9)
		}
	}
	if len(r.End.Crypto) > 0 {
		fmt.Fprintln(t, "\ncrypto\tbytes\toperations/s\t")
		for _, c := range r.End.Crypto {
			fmt.Fprintf(t, "%s\t%s\t%.0f\t%s\n", c.Operation, zeroless(c.Bytes), c.Rate, gigabytes(c.Bandwidth))
		}
	}
	if len(r.End.Paths) > 0 {
		fmt.Fprintln(t, "\npath\truns\tmedian\tCPU-s/GB\tof which producer\tconsumer\tnodes\thashing before")
		for _, p := range r.End.Paths {
			var parts [3][]float64
			for _, run := range p.Runs {
				for i, v := range []float64{run.Producer, run.Consumer, run.Nodes} {
					parts[i] = append(parts[i], v*1e9/float64(p.Bytes))
				}
			}
			fmt.Fprintf(t, "%s\t%d\t%.2f Gbit/s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", p.Test, len(p.Runs), p.BitRate/1e9, p.PerGB, median(parts[0]), median(parts[1]), median(parts[2]), p.Prepare)
		}
	}
	if len(r.End.Latency) > 0 {
		fmt.Fprintln(t, "\nlatency\tbytes\tfetches\tmedian\t90%\t99%")
		for _, l := range r.End.Latency {
			fmt.Fprintf(t, "%s\t%d\t%d\t%.2f ms\t%.2f ms\t%.2f ms\n", l.Test, l.Bytes, l.Fetches, l.Median, l.P90, l.P99)
		}
	}
	if len(r.End.Beside) > 0 {
		fmt.Fprintln(t, "\nbeside\twhat\tmedian\tCPU-s/GB")
		for _, b := range r.End.Beside {
			cost := "not known"
			if b.PerGB >= 0 {
				cost = fmt.Sprintf("%.2f", b.PerGB)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f Gbit/s\t%s\n", b.Test, b.What, b.BitRate/1e9, cost)
		}
	}
	if len(r.End.Limits) > 0 {
		fmt.Fprintf(t, "\nlimits\n  %s\n", strings.Join(r.End.Limits, "\n  "))
	}
	return t.Flush()
}

func zeroless(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func gigabytes(perSecond float64) string {
	if perSecond == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f GB/s", perSecond/1e9)
}
