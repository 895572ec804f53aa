package secure

import (
	"errors"
	"fmt"
	"slices"

	"mars/internal/wire"
)

// MaxRevocations bounds a revocation list, bytes: it must fit a routing message. It has room for 600 serial numbers or 200
// keys at least.
const MaxRevocations = 7800

// Revocations is an operator's list of what it takes back. Of two lists of an operator the one with the higher number
// counts, and each holds all that is still to be known: what has expired anyway needn't be in it.
type Revocations struct {
	Number   uint64      // not 0
	Issued   int64       // seconds since 1970
	Serials  []uint64    // of certificates, ascending
	Keys     []PublicKey // whose certificates are all taken back, ascending
	Operator PublicKey
}

// Sign has operator sign the list, whose Operator it sets, and returns it as it travels.
func (r *Revocations) Sign(operator PrivateKey) ([]byte, error) {
	r.Operator = operator.Public()
	slices.Sort(r.Serials)
	r.Serials = slices.Compact(r.Serials)
	slices.SortFunc(r.Keys, compareKeys)
	r.Keys = slices.Compact(r.Keys)
	if err := r.check(); err != nil {
		return nil, err
	}
	body := wire.AppendNaturalTLV(nil, typeNumber, r.Number)
	body = wire.AppendNaturalTLV(body, typeIssued, uint64(r.Issued))
	for _, s := range r.Serials {
		body = wire.AppendNaturalTLV(body, typeSerial, s)
	}
	for _, k := range r.Keys {
		body = wire.AppendTLV(body, typeKey, k[:])
	}
	b := sign(typeRevocations, domainRevocations, operator, body)
	if len(b) > MaxRevocations {
		return nil, fmt.Errorf("the list would have %d bytes, more than %d", len(b), MaxRevocations)
	}
	return b, nil
}

func compareKeys(a, b PublicKey) int { return slices.Compare(a[:], b[:]) }

func (r *Revocations) check() error {
	ascend := slices.IsSorted(r.Serials) && slices.IsSortedFunc(r.Keys, compareKeys)
	if r.Number == 0 || r.Issued < 0 || r.Issued > maxDate || !ascend ||
		len(slices.Compact(slices.Clone(r.Serials))) < len(r.Serials) || len(slices.Compact(slices.Clone(r.Keys))) < len(r.Keys) {
		return errForm
	}
	return nil
}

// DecodeRevocations reads what Sign makes and checks its signature. It keeps no part of b.
func DecodeRevocations(b []byte) (Revocations, error) {
	r, signature, err := parseRevocations(b)
	if err != nil {
		return Revocations{}, fmt.Errorf("it is no revocation list: %w", err)
	}
	if !r.Operator.Verify(append([]byte(domainRevocations), signedPart(b)...), signature) {
		return Revocations{}, errors.New("the signature of the revocation list is wrong")
	}
	return r, nil
}

// parseRevocations reads the form alone.
func parseRevocations(b []byte) (r Revocations, signature []byte, err error) {
	f, err := unwrap(b, typeRevocations, MaxRevocations)
	if err != nil {
		return r, nil, err
	}
	r.Number = f.number(typeNumber, 1<<64-1)
	r.Issued = int64(f.number(typeIssued, maxDate))
	for f.next() == typeSerial {
		r.Serials = append(r.Serials, f.number(typeSerial, 1<<64-1))
	}
	for f.next() == typeKey {
		r.Keys = append(r.Keys, f.key(typeKey))
	}
	r.Operator = f.key(typeOperator)
	s := f.signature()
	if f.bad {
		return r, nil, errForm
	}
	return r, s[:], r.check()
}

// Has tells whether the list takes c back: it, or its subject's key.
func (r *Revocations) Has(c *Certificate) bool {
	_, serial := slices.BinarySearch(r.Serials, c.Serial)
	return c.Operator == r.Operator && (serial || r.HasKey(c.Subject))
}

// HasKey tells whether the list takes k back.
func (r *Revocations) HasKey(k PublicKey) bool {
	_, found := slices.BinarySearchFunc(r.Keys, k, compareKeys)
	return found
}

// newest puts list among the newest lists of all operators, by operator; false when there is one as new.
func newest(lists []Revocations, list Revocations) ([]Revocations, bool) {
	i, held := slices.BinarySearchFunc(lists, list.Operator, func(r Revocations, k PublicKey) int { return compareKeys(r.Operator, k) })
	switch {
	case !held:
		return slices.Insert(lists, i, list), true
	case list.Number <= lists[i].Number:
		return lists, false
	}
	lists[i] = list
	return lists, true
}
