// Package disk is the file side of MARS: a Tree turns a directory into versioned objects for a producer, and a Partial
// is the destination of one fetch that survives a kill and a power cut.
//
// Both trust the hash list of an object (MARS §2) and nothing else. What a Tree serves was hashed from the open file
// and is served only while that file is unchanged; what a Partial claims to have is hashed again before it counts.
package disk
