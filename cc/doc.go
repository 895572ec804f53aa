// Package cc is congestion control as pure values: one file per algorithm, no clock, no locks, no I/O.
//
// There are three layers, each usable alone:
//
//   - Controller is the congestion control of a connection with one or more subflows, by name from Algorithms: NewReno, CUBIC and BBR,
//     and the coupled controllers of Multipath TCP. Windows are in bytes. Some find out which subflows share a bottleneck; those are
//     Sharers. docs/controllers.md compares them.
//   - Cubic and Bic are single windows in packets, for whoever tells congestion events apart himself.
//   - Paper and Delivery are the rate controller of MARS and its measurement, per neighbour; rates are in units per second,
//     where the caller chooses the unit (MARS charges the bytes of the Data that an Interest asks for).
//
// Every product of floating-point numbers is rounded explicitly (float64(a*b)), so that no architecture may fuse it with an addition and
// results are the same everywhere.
package cc
