package endpoint

import "encoding/binary"

// Numbers of QUIC: integers of variable length, and packet numbers of which only the low bytes are sent.

// maxVarint is the largest number that a varint holds (RFC 9000 §16).
const maxVarint = 1<<62 - 1

// varintSize is the bytes that a number takes, 0 ≤ v ≤ maxVarint.
func varintSize(v uint64) int {
	switch {
	case v < 1<<6:
		return 1
	case v < 1<<14:
		return 2
	case v < 1<<30:
		return 4
	}
	return 8
}

func appendVarint(b []byte, v uint64) []byte {
	switch varintSize(v) {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.BigEndian.AppendUint16(b, 0x4000|uint16(v))
	case 4:
		return binary.BigEndian.AppendUint32(b, 0x8000_0000|uint32(v))
	}
	return binary.BigEndian.AppendUint64(b, 0xc000_0000_0000_0000|v)
}

// varint reads a number and returns how many bytes it took; 0: b is too short.
func varint(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	n = 1 << (b[0] >> 6)
	if len(b) < n {
		return 0, 0
	}
	v = uint64(b[0] & 0x3f)
	for _, x := range b[1:n] {
		v = v<<8 | uint64(x)
	}
	return v, n
}

// numberSize is how many bytes of a packet number tell it from all that are under way (RFC 9000 §A.2): acked is the largest that the
// peer has acknowledged, −1: none.
func numberSize(number, acked int64) int {
	switch span := 2 * (number - acked); {
	case span < 1<<8:
		return 1
	case span < 1<<16:
		return 2
	case span < 1<<24:
		return 3
	}
	return 4
}

func appendNumber(b []byte, number int64, size int) []byte {
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(number>>(8*i)))
	}
	return b
}

// fullNumber is the packet number that ends in these bytes and is nearest to the one expected (RFC 9000 §A.3).
func fullNumber(b []byte, largest int64) int64 {
	var low int64
	for _, x := range b {
		low = low<<8 | int64(x)
	}
	window := int64(1) << (8 * len(b))
	expected := largest + 1
	n := expected&^(window-1) | low
	switch {
	case n <= expected-window/2 && n < 1<<62-window:
		return n + window
	case n > expected+window/2 && n >= window:
		return n - window
	}
	return n
}
