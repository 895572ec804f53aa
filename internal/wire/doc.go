// Package wire holds the forms that MARS speaks: NDN names, Interests and Data (NDN packet specification 0.3),
// NDNLPv2 link packets with MARS's hop header, and the manifest and metadata of an object.
//
// Decoding copies and allocates nothing: a decoded value aliases the bytes it came from, and Decode resets every
// field, so that one struct serves a whole run. After an error the struct's contents mean nothing. Slices handed
// out have no spare capacity: appending to one never writes into the packet. Encoding appends to the caller's
// buffer, like the builtin append.
//
// Nothing that a stranger sends makes this package panic. docs/protocol.md, "Wire format", has the tables of every form.
//
// # Hop header
//
// Hop-by-hop state of MARS travels in NDNLPv2 header fields (MARS §3) of types that NDNLPv2 lets strangers ignore.
// Integers are big-endian. A value of another length, or with a reserved bit set, makes the packet malformed; a
// changed layout takes a new type.
//
//	900 feedback     24 or 28 bytes
//	     0  Interest queue of this flow: items         u32
//	     4  its capacity, items                        u32
//	     8  its head's sojourn, µs                     u32
//	    12  Data queue toward the receiver: items      u32
//	    16  its capacity, items                        u32
//	    20  its head's sojourn, µs                     u32
//	    24  depart: sender's clock, µs mod 2^32        u32, optional
//	904 convergence  1 byte: bit 0 TierConv, bit 1 NodeConv, others 0
//	908 label        18 bytes
//	     0  boot nonce of the flow's source            u32
//	     4  epoch                                      u32
//	     8  routed hops to dest                        u16
//	    10  hash(node, dest, src)                      u64
//	912 path tag     4 bytes, opaque
//	916 size hint    NonNegativeInteger: expected bytes of the Data
package wire
