// Package driver holds the only sockets and the only clock of the data path: it drives one machine.Machine over UDP
// faces and local streams.
//
// One goroutine, the loop, owns the Machine. Every socket has a reader goroutine that moves datagrams in batches from
// the kernel into an inbox, deep enough that the kernel's default receive buffer of 212,992 bytes is no limit. The loop
// takes from the inboxes, fires timers, and then pulls datagrams out of the Machine, face by face, straight into
// batches that the kernel takes whole. Nothing is queued in between, since a queue here would hide the Data queue that
// the Machine reports (MARS §4): when a socket is full, the unsent rest of one batch waits and its faces aren't pulled.
//
//	kernel ──recvmmsg, GRO──▶ inbox ──▶ loop ──Transmit──▶ train ──sendmmsg, GSO──▶ kernel
//	        (reader goroutine)         (Machine)           (≤ 64 KiB of one face)
//
// Applications on this node come by Unix streams (ListenLocal, DialLocal): a stream of NDN packets is cut into packets where
// their lengths say, and from there on it is a socket like the others.
//
// What systems differ in stands behind batchConn: conn_linux.go has the batches, conn_portable.go serves the others.
package driver
