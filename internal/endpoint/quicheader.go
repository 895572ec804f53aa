package endpoint

import (
	"encoding/binary"
	"errors"
)

const (
	// quicTag is what authenticated encryption adds to a packet, bytes (RFC 9001 §5.3). The bytes are there and mean nothing: nothing
	// here is encrypted.
	quicTag = 16
	// cidSize is the length of connection IDs, bytes.
	cidSize = 8
	// leastInitial is what datagrams that begin a connection or validate a path are padded to (RFC 9000 §8.1, §8.2.1).
	leastInitial = 1200

	quicVersion = 1
	// longSize is a long header without its packet number: first byte, version, two connection IDs, Length in two bytes. An Initial
	// has a byte more, for its token that isn't there.
	longSize  = 1 + 4 + 2*(1+cidSize) + 2
	shortSize = 1 + cidSize
)

// cid is a connection ID: it names a path of a connection at the end that gave it out.
type cid [cidSize]byte

// packetKind is what header a packet has.
type packetKind uint8

const (
	packetShort packetKind = iota
	packetInitial
	packetHandshake
)

// quicHeader is the header of a packet (RFC 9000 §17). The first bytes are not masked: header protection changes no length.
type quicHeader struct {
	kind     packetKind
	dest     cid
	source   cid // of long headers
	number   int64
	numBytes int
}

// size is the length of the header.
func (h *quicHeader) size() int {
	switch h.kind {
	case packetInitial:
		return longSize + 1 + h.numBytes
	case packetHandshake:
		return longSize + h.numBytes
	}
	return shortSize + h.numBytes
}

// append writes the header of a packet whose payload, its tag included, has rest bytes, at most 16,000.
func (h *quicHeader) append(b []byte, rest int) []byte {
	const fixed = 0x40
	if h.kind == packetShort {
		b = append(b, fixed|byte(h.numBytes-1))
		b = append(b, h.dest[:]...)
		return appendNumber(b, h.number, h.numBytes)
	}
	first := byte(0x80 | fixed | h.numBytes - 1)
	if h.kind == packetHandshake {
		first |= 2 << 4
	}
	b = append(b, first)
	b = binary.BigEndian.AppendUint32(b, quicVersion)
	b = append(append(b, cidSize), h.dest[:]...)
	b = append(append(b, cidSize), h.source[:]...)
	if h.kind == packetInitial {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint16(b, 0x4000|uint16(h.numBytes+rest))
	return appendNumber(b, h.number, h.numBytes)
}

var errQUIC = errors.New("endpoint: not a QUIC packet")

// decode reads a header, its packet number apart, and returns the rest: packet number, frames and tag.
func (h *quicHeader) decode(b []byte) ([]byte, error) {
	if len(b) < shortSize || b[0]&0x40 == 0 {
		return nil, errQUIC
	}
	*h = quicHeader{numBytes: int(b[0]&3) + 1}
	if b[0]&0x80 == 0 {
		copy(h.dest[:], b[1:])
		b = b[shortSize:]
	} else {
		switch b[0] >> 4 & 3 {
		case 0:
			h.kind = packetInitial
		case 2:
			h.kind = packetHandshake
		default:
			return nil, errQUIC
		}
		if len(b) < longSize+1 || binary.BigEndian.Uint32(b[1:]) != quicVersion || b[5] != cidSize || b[6+cidSize] != cidSize {
			return nil, errQUIC
		}
		copy(h.dest[:], b[6:])
		copy(h.source[:], b[7+cidSize:])
		b = b[7+2*cidSize:]
		if h.kind == packetInitial {
			if b[0] != 0 {
				return nil, errQUIC // a token: none is ever given out
			}
			b = b[1:]
		}
		length, n := varint(b)
		if n == 0 || length > uint64(len(b)-n) {
			return nil, errQUIC
		}
		b = b[n : n+int(length)]
	}
	if len(b) < h.numBytes+quicTag {
		return nil, errQUIC
	}
	return b, nil
}

// open takes the packet number and the tag off the rest of a packet and returns its frames; largest is the largest number that has
// come on the path.
func (h *quicHeader) open(rest []byte, largest int64) []byte {
	h.number = fullNumber(rest[:h.numBytes], largest)
	return rest[h.numBytes : len(rest)-quicTag]
}
