package lab

// The ECN field is the last two bits of the second byte of an IPv4 header; in IPv6 they are bits 4 and 5 of it
// (RFC 3168 §5, RFC 8200 §7).
const ce = 3

// capable tells whether an IP packet may be marked.
func capable(packet []byte) bool { return len(packet) >= 20 && ecn(packet) != 0 }

func ecn(packet []byte) byte {
	if packet[0]>>4 == 6 {
		return packet[1] >> 4 & ce
	}
	return packet[1] & ce
}

// markCE sets the mark of congestion; the checksum of an IPv4 header follows (RFC 1624, eqn. 3).
func markCE(packet []byte) {
	if packet[0]>>4 == 6 {
		packet[1] |= ce << 4
		return
	}
	before := uint32(packet[0])<<8 | uint32(packet[1])
	packet[1] |= ce
	after := uint32(packet[0])<<8 | uint32(packet[1])
	sum := uint32(^(uint16(packet[10])<<8 | uint16(packet[11]))) + uint32(^uint16(before)) + after
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	packet[10], packet[11] = byte(^sum>>8), byte(^sum)
}
