// Package gateway serves the objects of a MARS node to programs that speak HTTP or read S3 (ADR 0019).
//
// A path is a name: GET /site/data/file.iso is the object /site/data/file.iso, and /site/data/ the list of that directory. A
// bucket, where one is configured, stands for a prefix as the first part of a path. S3 finds the same tree at the same
// paths: the first part is its bucket, the rest its key.
//
// Nothing leaves that wasn't verified: an object is asked for as its bytes are wanted, 8 MB ahead at most, and if they can't be
// had in the middle of an answer, the connection is cut.
package gateway
