package machine

// Lent is memory that Machines which run on one thread hand to each other in place of copies. Nobody writes to it; who holds
// it last gives it back to where it comes from.
type Lent struct {
	Bytes   []byte
	Home    func(*Lent)
	holders int
}

// Hold adds a holder.
func (l *Lent) Hold() *Lent {
	l.holders++
	return l
}

// Release takes a holder away.
func (l *Lent) Release() {
	if l.holders--; l.holders == 0 {
		l.Home(l)
	}
}

// Part is some bytes of what is lent. The zero Part is none.
type Part struct {
	Of       *Lent
	From, To int
}

// Bytes is the part itself.
func (p Part) Bytes() []byte {
	if p.Of == nil {
		return nil
	}
	return p.Of.Bytes[p.From:p.To:p.To]
}

// Len is the number of its bytes.
func (p Part) Len() int { return p.To - p.From }

// Lender is a Machine that can send and take datagrams in two pieces: a head, which is written, and a tail, which is lent. A
// simulated link carries such a tail from Machine to Machine by reference.
type Lender interface {
	Machine
	// TransmitLent is Transmit, but n counts the head in buf alone, and tail, which may be none, follows it. The caller becomes a
	// holder of tail.
	TransmitLent(now Time, face FaceID, buf []byte) (n int, tail Part, ecn ECN)
	// ReceiveLent is Receive of a datagram whose head is followed by tail; the Machine holds tail for itself if it keeps it.
	ReceiveLent(now Time, face FaceID, ecn ECN, head []byte, tail Part)
}
