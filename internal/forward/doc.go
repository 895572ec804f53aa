// Package forward is a MARS forwarder as pure protocol code (MARS paper §III, protocol.md §4).
//
// It is two values. The link side (link.go, reassembly.go, queue.go) turns datagrams into network packets and back:
// fragments, the Data queue of each face and its drain rate. The flow side (flows.go, pit.go, fib.go, flow.go,
// schedule.go, upstream.go, strategy_*.go) decides which Interest goes where: pending Interest table, Interest
// queues, rate control per upstream face. Packets pass between them as values; Forwarder (forwarder.go) joins the
// two and is what a node drives.
package forward
