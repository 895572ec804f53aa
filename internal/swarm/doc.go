// Package swarm tests the whole system by plans that it makes from seeds: a small world, a workload and timed faults. A plan is
// run in the simulator with the invariants checked after every event, then healed, and must come to an end. A plan that fails is
// made smaller while it still fails likewise, and kept as a scenario file that is replayed for ever (protocol.md §5.5, §8).
package swarm
