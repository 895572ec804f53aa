// Package cc is congestion control as pure values: one file per algorithm, no clock, no locks, no I/O.
//
// Rates are in units per second and windows in units, where the caller chooses the unit (MARS charges the bytes of
// the Data that an Interest asks for). Every product of floating-point numbers is rounded explicitly
// (float64(a*b)), so that no architecture may fuse it with an addition and results are the same everywhere.
package cc
