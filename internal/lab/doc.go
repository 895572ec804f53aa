// Package lab runs scenarios on a real kernel: a network namespace per host, an emulated link per link, and processes of the
// binary in the namespaces. Links are emulated in user space: both ends are TUN devices, and one thread moves packets between
// them. It needs Linux, root and iproute2.
package lab
