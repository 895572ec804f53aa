package endpoint

import (
	"encoding/binary"
	"errors"
)

// Flags of a TCP header (RFC 9293 §3.1).
const (
	flagFIN uint8 = 1 << iota
	flagSYN
	flagRST
	flagPSH
	flagACK
	flagURG
	flagECE
	flagCWR
)

// Kinds of TCP options, and the subtypes of MPTCP's (RFC 8684 §3).
const (
	optEnd, optNop, optMSS, optScale, optSackOK, optSack, optTime, optMPTCP = 0, 1, 2, 3, 4, 5, 8, 30

	subCapable, subJoin, subDSS = 0, 1, 2
)

const (
	headerSize = 20
	// timeSize, dssSize and ackSize are what options take, padded: timestamps, a mapping with a data acknowledgement, and that alone.
	timeSize = 12
	dssSize  = 20
	ackSize  = 8
	maxSacks = 3
)

// block is a range of sequence numbers, as SACK has it (RFC 2018 §3).
type block struct{ from, to uint32 }

// segment is a TCP header with its options. The checksum stays 0: links that corrupt what they carry are not for these.
type segment struct {
	source, dest uint16
	seq, ack     uint32
	flags        uint8
	window       uint16
	mss          uint16 // 0: none
	scale        uint8  // of the window, when scaled
	scaled       bool
	sackOK       bool
	timed        bool
	time, echo   uint32 // TSval, TSecr (RFC 7323), µs
	sacks        [maxSacks]block
	sackCount    int
	mp           mpOption
}

// mpOption is what MPTCP adds to a segment (RFC 8684).
type mpOption struct {
	capable bool
	keys    int // keys told
	key     [2]uint64
	join    bool
	token   uint32 // of a join's SYN
	nonce   uint32
	acked   bool // dataAck is there
	dataAck uint32
	mapped  bool // dsn, at and length are
	dsn     uint32
	at      uint32 // sequence number within the subflow, from 0
	length  uint16
	fin     bool // DATA_FIN: the mapping's last byte stands for it
}

// append writes the header to dst and returns its length; dst has room for 60 bytes.
func (s *segment) append(dst []byte) int {
	b := dst[:headerSize]
	binary.BigEndian.PutUint16(b, s.source)
	binary.BigEndian.PutUint16(b[2:], s.dest)
	binary.BigEndian.PutUint32(b[4:], s.seq)
	binary.BigEndian.PutUint32(b[8:], s.ack)
	b[13] = s.flags
	binary.BigEndian.PutUint16(b[14:], s.window)
	binary.BigEndian.PutUint32(b[16:], 0)
	if s.plain() { // nearly always
		b = dst[:headerSize+timeSize]
		binary.BigEndian.PutUint32(b[20:], optNop<<24|optNop<<16|optTime<<8|10)
		binary.BigEndian.PutUint32(b[24:], s.time)
		binary.BigEndian.PutUint32(b[28:], s.echo)
		b[12] = (headerSize + timeSize) / 4 << 4
		return len(b)
	}
	if s.mss != 0 {
		b = binary.BigEndian.AppendUint16(append(b, optMSS, 4), s.mss)
	}
	if s.scaled {
		b = append(b, optNop, optScale, 3, s.scale)
	}
	if s.sackOK {
		b = append(b, optNop, optNop, optSackOK, 2)
	}
	if s.timed {
		b = append(b, optNop, optNop, optTime, 10)
		b = binary.BigEndian.AppendUint32(b, s.time)
		b = binary.BigEndian.AppendUint32(b, s.echo)
	}
	b = s.mp.append(b)
	if s.sackCount > 0 {
		b = append(b, optNop, optNop, optSack, uint8(2+8*s.sackCount))
		for _, k := range s.sacks[:s.sackCount] {
			b = binary.BigEndian.AppendUint32(b, k.from)
			b = binary.BigEndian.AppendUint32(b, k.to)
		}
	}
	b[12] = uint8(len(b)/4) << 4
	return len(b)
}

// plain tells whether timestamps are the only option.
func (s *segment) plain() bool {
	return s.timed && s.sackCount == 0 && s.mss == 0 && !s.scaled && !s.sackOK && !s.mp.acked && !s.mp.mapped && !s.mp.capable && !s.mp.join
}

// append writes MPTCP's option, padded to whole words.
func (m *mpOption) append(b []byte) []byte {
	switch {
	case m.capable:
		b = append(b, optMPTCP, uint8(4+8*m.keys), subCapable<<4|1, 1)
		for _, k := range m.key[:m.keys] {
			b = binary.BigEndian.AppendUint64(b, k)
		}
	case m.join:
		b = append(b, optMPTCP, 12, subJoin<<4, 0)
		b = binary.BigEndian.AppendUint32(b, m.token)
		b = binary.BigEndian.AppendUint32(b, m.nonce)
	case m.mapped:
		flags := uint8(0b0101) // data acknowledgement and DSN of four bytes
		if m.fin {
			flags |= 0b10000
		}
		b = append(b, optMPTCP, 18, subDSS<<4, flags)
		b = binary.BigEndian.AppendUint32(b, m.dataAck)
		b = binary.BigEndian.AppendUint32(b, m.dsn)
		b = binary.BigEndian.AppendUint32(b, m.at)
		b = binary.BigEndian.AppendUint16(b, m.length)
		b = append(b, optNop, optNop)
	case m.acked:
		b = append(b, optMPTCP, 8, subDSS<<4, 0b0001)
		b = binary.BigEndian.AppendUint32(b, m.dataAck)
	}
	return b
}

var errSegment = errors.New("endpoint: not a TCP segment")

// decode reads a segment into s, which is zero, and returns its payload, which is part of b.
func (s *segment) decode(b []byte) ([]byte, error) {
	if len(b) < headerSize {
		return nil, errSegment
	}
	size := int(b[12]>>4) * 4
	if size < headerSize || size > len(b) {
		return nil, errSegment
	}
	s.source, s.dest = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	s.seq, s.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	s.flags, s.window = b[13], binary.BigEndian.Uint16(b[14:])
	o := b[headerSize:size]
	if len(o) >= timeSize && binary.BigEndian.Uint32(o) == optNop<<24|optNop<<16|optTime<<8|10 { // nearly always
		s.timed, s.time, s.echo = true, binary.BigEndian.Uint32(o[4:]), binary.BigEndian.Uint32(o[8:])
		o = o[timeSize:]
	}
	for len(o) > 0 {
		switch {
		case o[0] == optEnd:
			o = nil
			continue
		case o[0] == optNop:
			o = o[1:]
			continue
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return nil, errSegment
		}
		s.option(o[0], o[2:o[1]])
		o = o[o[1]:]
	}
	return b[size:], nil
}

// option reads one option; those of other kinds or lengths mean nothing (RFC 9293 §3.1).
func (s *segment) option(kind uint8, o []byte) {
	switch {
	case kind == optTime && len(o) == 8:
		s.timed, s.time, s.echo = true, binary.BigEndian.Uint32(o), binary.BigEndian.Uint32(o[4:])
	case kind == optSack && len(o)%8 == 0:
		for s.sackCount = 0; len(o) > 0 && s.sackCount < maxSacks; o = o[8:] {
			s.sacks[s.sackCount] = block{binary.BigEndian.Uint32(o), binary.BigEndian.Uint32(o[4:])}
			s.sackCount++
		}
	case kind == optMPTCP && len(o) >= 2:
		s.mp.decode(o)
	case kind == optMSS && len(o) == 2:
		s.mss = binary.BigEndian.Uint16(o)
	case kind == optScale && len(o) == 1:
		s.scaled, s.scale = true, min(o[0], 14) // RFC 7323 §2.3
	case kind == optSackOK && len(o) == 0:
		s.sackOK = true
	}
}

func (m *mpOption) decode(o []byte) {
	switch o[0] >> 4 {
	case subCapable:
		for m.capable, m.keys = true, 0; m.keys < 2 && len(o) >= 10+8*m.keys; m.keys++ {
			m.key[m.keys] = binary.BigEndian.Uint64(o[2+8*m.keys:])
		}
	case subJoin:
		if len(o) == 10 {
			m.join, m.token, m.nonce = true, binary.BigEndian.Uint32(o[2:]), binary.BigEndian.Uint32(o[6:])
		}
	case subDSS:
		switch flags := o[1]; {
		case flags&0b1111 == 0b0101 && len(o) == 16:
			m.acked, m.dataAck = true, binary.BigEndian.Uint32(o[2:])
			m.mapped, m.fin = true, flags&0b10000 != 0
			m.dsn, m.at, m.length = binary.BigEndian.Uint32(o[6:]), binary.BigEndian.Uint32(o[10:]), binary.BigEndian.Uint16(o[14:])
		case flags&0b1111 == 0b0001 && len(o) == 6:
			m.acked, m.dataAck = true, binary.BigEndian.Uint32(o[2:])
		}
	}
}

// near returns the number that has these low 32 bits and is nearest to about.
func near(low uint32, about int64) int64 { return about + int64(int32(low-uint32(about))) }
