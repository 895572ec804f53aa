// Package secure makes faces private and objects authentic: keys and certificates, the handshake and packet protection
// of faces, and the signatures of producers.
//
// A node has one key, an Ed25519 key pair. It signs with it; in handshakes the same key serves as an X25519 key, by the
// birational map of RFC 7748 §4.1. So one text of 48 characters is all that two operators exchange.
//
// Everything here is sans-I/O: time, randomness and packets are passed in.
//
//	key.go          keys and their texts
//	peer.go         who is at the other end
//	policy.go       who judges that: peers, operators, revocations
//	refusal.go      why somebody is not welcome
//	certificate.go  an operator's word for a node
//	revocation.go   what operators take back
//	fields.go       the form of both
//	armour.go       both as text files
//	guard.go        the Guard: its faces, sealing
//	receive.go      what arrives: handshakes, sessions, cookies
//	transmit.go     timers, and what leaves by itself
//	recheck.go      peers that aren't welcome any more, new certificates
//	channel.go      what protects one face
//	session.go      one agreement on keys
//	handshake.go    the messages that make one
//	cookie.go       what keeps strangers cheap
//	limiter.go      and how many there may be
//	window.go       datagrams that have come before
package secure
