package publish

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Signer signs for a producer.
type Signer struct {
	Author func(now machine.Time) wire.Author // who signs at that time
	Sign   func(message []byte) []byte        // Ed25519
}

const (
	// sealLife is how long a signature serves: what is asked for a thousand times a second is signed every ten seconds, and its
	// time says that the version was current then.
	sealLife = 10 * machine.Second
	// maxSignedRefusals bounds how many names that don't exist may cost a signature in one second.
	maxSignedRefusals = 1000
)

// seal is a signature that was made.
type seal struct {
	at          machine.Time
	info, value []byte // raw values of the elements; nil: none
}

// sealed returns the seal of d, which it makes now.
func (s *Signer) sealed(now machine.Time, d *wire.Data) seal {
	d.SignatureType, d.SignatureInfo = wire.SignatureEd25519, s.Author(now).AppendSignatureInfo(nil)
	return seal{now, d.SignatureInfo, s.Sign(d.AppendSigned(nil))}
}

// sealMetadata signs what answers q from o, unless a signature is there that is young enough.
func (e *Engine) sealMetadata(now machine.Time, q *inquiry, o *Object) {
	if o.seal.info == nil || now-o.seal.at >= sealLife {
		o.seal = e.cfg.Signer.sealed(now, e.dataOf(q))
	}
	q.seal = o.seal
}

// sealRefusal signs what refuses q; false: too many were signed this second.
func (e *Engine) sealRefusal(now machine.Time, q *inquiry) bool {
	if now-e.refusalsFrom >= machine.Second {
		e.refusalsFrom, e.refusals = now, 0
	}
	if e.refusals++; e.refusals > maxSignedRefusals {
		return false
	}
	q.seal = e.cfg.Signer.sealed(now, e.dataOf(q))
	return true
}
