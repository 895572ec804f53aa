package endpoint

import (
	"encoding/binary"

	"mars/internal/machine"
)

// Types of frames (RFC 9000 §19, RFC 10069 §4).
const (
	framePadding         = 0x00
	framePing            = 0x01
	frameAck             = 0x02 // and 3, with ECN counts
	frameCrypto          = 0x06
	frameStream          = 0x08 // to 0x0f
	frameMaxData         = 0x10
	frameMaxStreamData   = 0x11
	frameChallenge       = 0x1a
	frameResponse        = 0x1b
	frameClose           = 0x1c
	frameDone            = 0x1e
	framePathAck         = 0x3e // and 0x3f, with ECN counts: ACK_MP of older drafts
	framePathConnID      = 0x3e78
	streamFin, streamLen = 1, 2
	streamOff            = 4
)

const (
	// mostAckRanges is how many ranges an acknowledgement tells, and a receiver remembers.
	mostAckRanges = 32
	// ackDelayExponent scales the delay in acknowledgements: units of 8 µs (RFC 9000 §18.2).
	ackDelayExponent = 3
	// pathIDFrameSize is a PATH_NEW_CONNECTION_ID frame: type, path, two sequence numbers, length, connection ID, reset token.
	pathIDFrameSize = 2 + 1 + 1 + 1 + 1 + cidSize + resetSize
	resetSize       = 16
	closeFrameSize  = 1 + 8 + 1 + 1
)

// ecnCounts are packets that came with each mark.
type ecnCounts struct{ ect0, ect1, ce uint64 }

// frame is what was read of one frame; which fields count depends on the type. data is part of the packet.
type frame struct {
	kind   uint64
	path   uint64 // of PATH_ACK and PATH_NEW_CONNECTION_ID
	stream uint64
	offset uint64
	data   []byte
	fin    bool
	value  uint64 // a limit, a challenge, an error code
	id     cid

	delay  machine.Time // of acknowledgements
	ranges [mostAckRanges]gap
	count  int // of ranges, the highest first; what doesn't fit is left out
	ecn    bool
	marks  ecnCounts
}

// reader takes numbers and bytes off a packet; short tells that it ended too early.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) number() uint64 {
	v, n := varint(r.b)
	if n == 0 {
		r.short, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.short, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) word() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// next reads the next frame of a packet and returns what follows it. A run of padding counts as one frame.
func (f *frame) next(b []byte) ([]byte, error) {
	r := reader{b: b}
	f.kind = r.number()
	switch f.kind {
	case framePadding:
		for len(r.b) > 0 && r.b[0] == framePadding {
			r.b = r.b[1:]
		}
	case framePing, frameDone:
	case framePathAck, framePathAck + 1, frameAck, frameAck + 1:
		f.path = 0
		if f.kind >= framePathAck {
			f.path = r.number()
		}
		if f.ecn = f.kind&1 != 0; !f.readAck(&r) {
			return nil, errQUIC
		}
		f.kind = frameAck
	case frameCrypto:
		f.offset = r.number()
		f.data = r.bytes(r.number())
	case frameMaxData, frameClose:
		f.value = r.number()
		if f.kind == frameClose {
			r.number()
			r.bytes(r.number())
		}
	case frameMaxStreamData:
		f.stream, f.value = r.number(), r.number()
	case frameChallenge, frameResponse:
		f.value = r.word()
	case framePathConnID:
		f.path = r.number()
		r.number()
		r.number()
		if n := r.bytes(1); n == nil || n[0] != cidSize {
			return nil, errQUIC
		}
		copy(f.id[:], r.bytes(cidSize))
		r.bytes(resetSize)
	default:
		if f.kind&^7 != frameStream {
			return nil, errQUIC // RFC 9000 §12.4: FRAME_ENCODING_ERROR
		}
		f.readStream(&r)
	}
	if r.short {
		return nil, errQUIC
	}
	return r.b, nil
}

func (f *frame) readStream(r *reader) {
	flags := f.kind & 7
	f.kind = frameStream
	f.stream, f.offset, f.fin = r.number(), 0, flags&streamFin != 0
	if flags&streamOff != 0 {
		f.offset = r.number()
	}
	if flags&streamLen != 0 {
		f.data = r.bytes(r.number())
	} else {
		f.data, r.b = r.b, nil
	}
	r.short = r.short || f.offset+uint64(len(f.data)) > maxVarint
}

// readAck reads the body of an acknowledgement (RFC 9000 §19.3). It tells whether its ranges are possible.
func (f *frame) readAck(r *reader) bool {
	high := r.number()
	f.delay = machine.Time(min(r.number(), 1<<40)<<ackDelayExponent) * machine.Microsecond
	more := r.number()
	f.count = 0
	for {
		length := r.number()
		if r.short || length > high {
			return false
		}
		if f.count < mostAckRanges {
			f.ranges[f.count] = gap{int64(high - length), int64(high) + 1}
			f.count++
		}
		if more == 0 {
			break
		}
		more--
		skip := r.number() + 2
		if high-length < skip {
			return false
		}
		high -= length + skip
	}
	if f.ecn {
		f.marks = ecnCounts{r.number(), r.number(), r.number()}
	}
	return true
}

// appendAck writes an acknowledgement of ranges, the lowest first, as far as it fits in room bytes. Of path 0 it is an ACK frame.
func appendAck(b []byte, room int, path uint64, ranges []gap, delay machine.Time, marks *ecnCounts) []byte {
	const widest = 2 + 8 + 8 + 8 + 4 + 8 + 24 // all but the further ranges
	kind := uint64(frameAck)
	if path > 0 {
		kind = framePathAck
	}
	if marks != nil {
		kind++
	}
	last := len(ranges) - 1
	first := last
	for left := room - widest; first > 0 && left >= 16 && last-first < mostAckRanges-1; first-- {
		left -= varintSize(uint64(ranges[first].from-ranges[first-1].to)) + varintSize(uint64(ranges[first-1].to-ranges[first-1].from))
	}
	b = appendVarint(b, kind)
	if path > 0 {
		b = appendVarint(b, path)
	}
	b = appendVarint(b, uint64(ranges[last].to-1))
	b = appendVarint(b, uint64(max(delay, 0)/machine.Microsecond)>>ackDelayExponent)
	b = appendVarint(b, uint64(last-first))
	b = appendVarint(b, uint64(ranges[last].to-ranges[last].from-1))
	for i := last - 1; i >= first; i-- {
		b = appendVarint(b, uint64(ranges[i+1].from-ranges[i].to-1))
		b = appendVarint(b, uint64(ranges[i].to-ranges[i].from-1))
	}
	if marks != nil {
		b = appendVarint(appendVarint(appendVarint(b, marks.ect0), marks.ect1), marks.ce)
	}
	return b
}

func appendCrypto(b []byte, offset int64, n int) []byte {
	b = appendVarint(appendVarint(append(b, frameCrypto), uint64(offset)), uint64(n))
	return b[:len(b)+n]
}

// streamHead is what a STREAM frame adds to data that fill the rest of a packet.
func streamHead(stream uint64, offset int64) int {
	n := 1 + varintSize(stream)
	if offset > 0 {
		n += varintSize(uint64(offset))
	}
	return n
}

// appendStream writes the head of a STREAM frame that is the last of its packet, and so tells no length.
func appendStream(b []byte, stream uint64, offset int64, fin bool) []byte {
	kind := byte(frameStream)
	if offset > 0 {
		kind |= streamOff
	}
	if fin {
		kind |= streamFin
	}
	b = appendVarint(append(b, kind), stream)
	if offset > 0 {
		b = appendVarint(b, uint64(offset))
	}
	return b
}

func appendLimit(b []byte, kind byte, limit int64) []byte {
	b = append(b, kind)
	if kind == frameMaxStreamData {
		b = append(b, 0) // the stream
	}
	return appendVarint(b, uint64(limit))
}

func appendWord(b []byte, kind byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, kind), v)
}

func appendPathID(b []byte, path int, id cid) []byte {
	b = appendVarint(appendVarint(b, framePathConnID), uint64(path))
	b = append(b, 0, 0, cidSize)
	b = append(b, id[:]...)
	return append(b, make([]byte, resetSize)...)
}

func appendClose(b []byte, code uint64) []byte {
	return append(appendVarint(append(b, frameClose), code), 0, 0)
}
