// Package route finds out which neighbour reaches which prefix, and in how many hops: link-state routing for an
// overlay of MARS nodes.
//
// Every node advertises its links, its role and its prefixes; the advertisements are flooded, so that every node has
// the same map and computes on its own. MARS spreads a flow over all useful neighbours, so the result is a hop count
// through *each* neighbour: 1 + its distance to the nearest origin of the prefix in the map without ourselves. A path
// through a neighbour never leads back through us, and nothing ever counts to infinity.
//
// A Router is sans-I/O like a machine.Machine: time, faces and messages are passed in, messages come out. It never
// reads a clock and draws randomness from its seed alone. What travels, and why each rule is there, is in
// docs/routing.md; the files are
//
//	router.go     the value and its entry points
//	clock.go      time that stands still while the process does
//	face.go       hello: who is at the other end, and do both hear each other
//	neighbour.go  what one neighbour lacks, sent until it is acknowledged
//	database.go   the newest advertisement of every node, and its age
//	notice.go     what operators have every node know
//	origin.go     our own advertisement, and who else speaks in our name
//	graph.go      the map and its distances
//	table.go      prefixes, hop counts, and what changed
//	codec.go      the forms on the wire
//
// Nothing that a neighbour sends makes this package panic or grow without bound.
package route
