// Package secure makes faces private and objects authentic: keys and certificates, the handshake and packet protection
// of faces, and the signatures of producers.
//
// A node has one key, an Ed25519 key pair. It signs with it; in handshakes the same key serves as an X25519 key, by the
// birational map of RFC 7748 §4.1. So one text of 48 characters is all that two operators exchange.
//
// Everything here is sans-I/O: time, randomness and packets are passed in.
//
//	key.go      keys and their texts
//	peer.go     who is at the other end, and who judges that
//	refusal.go  why somebody is not welcome
package secure
