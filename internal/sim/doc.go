// Package sim is the deterministic world in which the protocol code of production runs: virtual time, links, losses and faults
// from named random streams, and hosts that are machine.Machines. The same seed gives the same bits on every machine.
//
// One run is one thread: a winner tree over links and hosts says what happens next, packets are values in a ring per link,
// and a fixed-rate link costs one event per packet. Seeds and systems run in parallel, each in a world of its own.
package sim
