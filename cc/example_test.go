package cc_test

import (
	"fmt"

	"mars/cc"
)

// Two subflows of one connection under LIA. The transport reports what it sees, and sends while less than Cwnd is in flight.
func Example() {
	lia, err := cc.Lookup("lia")
	if err != nil {
		panic(err)
	}
	c, err := lia.New(1460)
	if err != nil {
		panic(err)
	}
	const ms = 1_000_000
	wifi, lte := c.AddSubflow(0), c.AddSubflow(0)
	c.OnAck(20*ms, wifi, cc.Ack{Bytes: 14600, Sent: 0, RTT: 20 * ms})
	c.OnAck(60*ms, lte, cc.Ack{Bytes: 14600, Sent: 0, RTT: 60 * ms})
	fmt.Println("slow start:", c.Cwnd(wifi), c.Cwnd(lte))
	c.OnLoss(80*ms, wifi, cc.Loss{Bytes: 1460, Sent: 60 * ms})
	fmt.Println("after a loss on the first:", c.Cwnd(wifi), c.Cwnd(lte))
	// Output:
	// slow start: 29200 29200
	// after a loss on the first: 14600 29200
}
