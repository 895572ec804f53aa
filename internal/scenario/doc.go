// Package scenario is what is run and what comes of it: scenario files (topology, workload, faults, systems, sweeps) and the
// Result that the simulator and the lab both write. It runs nothing itself.
package scenario
