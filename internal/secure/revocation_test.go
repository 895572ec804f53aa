package secure

import (
	"bytes"
	"strings"
	"testing"

	"mars/internal/wire"
)

func list(t testing.TB, r Revocations, operator byte) []byte {
	t.Helper()
	b, err := r.Sign(keyOf(t, operator))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRevocations(t *testing.T) {
	k1, k2, k3 := keyOf(t, 1).Public(), keyOf(t, 2).Public(), keyOf(t, 3).Public()
	b := list(t, Revocations{Number: 3, Issued: 77, Serials: []uint64{9, 4, 9}, Keys: []PublicKey{k2, k1, k2}}, 9)
	r, err := DecodeRevocations(b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Number != 3 || r.Issued != 77 || len(r.Serials) != 2 || len(r.Keys) != 2 || r.Operator != keyOf(t, 9).Public() {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		key      PublicKey
		serial   uint64
		operator byte
		has      bool
	}{
		{k3, 4, 9, true},
		{k3, 9, 9, true},
		{k3, 5, 9, false},
		{k1, 5, 9, true},
		{k3, 4, 8, false}, // another operator's numbers are its own
	} {
		if got := r.Has(&Certificate{Subject: c.key, Serial: c.serial, Operator: keyOf(t, c.operator).Public()}); got != c.has {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := DecodeRevocations(bad); err == nil {
			t.Errorf("byte %d of %d may be altered", i, len(b))
		}
	}
	if _, err := DecodeRevocations(list(t, Revocations{Number: 1}, 9)); err != nil {
		t.Errorf("an empty list: %v", err)
	}
	if _, err := (&Revocations{}).Sign(keyOf(t, 9)); err == nil {
		t.Error("a list without a number")
	}
}

// TestRoom: a list holds what its bound promises, and says when it is full.
func TestRoom(t *testing.T) {
	serials, keys := Revocations{Number: 1<<64 - 1, Issued: maxDate}, Revocations{Number: 1<<64 - 1, Issued: maxDate}
	for i := range 600 {
		serials.Serials = append(serials.Serials, 1<<63+uint64(i))
	}
	for i := range 200 {
		keys.Keys = append(keys.Keys, PublicKey{byte(i), 1})
	}
	list(t, serials, 9)
	list(t, keys, 9)
	for i := range 200 {
		serials.Serials = append(serials.Serials, 1<<62+uint64(i))
	}
	if _, err := serials.Sign(keyOf(t, 9)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("800 serial numbers: %v", err)
	}
}

func TestNewestList(t *testing.T) {
	a, b := PublicKey{1}, PublicKey{2}
	var all []Revocations
	for _, s := range []struct {
		operator PublicKey
		number   uint64
		news     bool
	}{{b, 5, true}, {a, 2, true}, {b, 5, false}, {b, 4, false}, {a, 3, true}} {
		var news bool
		if all, news = newest(all, Revocations{Operator: s.operator, Number: s.number}); news != s.news {
			t.Errorf("%v %d: %v", s.operator, s.number, news)
		}
	}
	if len(all) != 2 || all[0].Operator != a || all[0].Number != 3 || all[1].Number != 5 {
		t.Errorf("%+v", all)
	}
}

func TestRevocationsText(t *testing.T) {
	one, two := list(t, Revocations{Number: 1, Serials: []uint64{7}}, 9), list(t, Revocations{Number: 2}, 8)
	text := append(RevocationsText(one), RevocationsText(two)...)
	lists, encoded, err := ParseRevocationsText(text)
	if err != nil || len(lists) != 2 || len(encoded) != 2 || lists[0].Number != 1 || !bytes.Equal(encoded[1], two) {
		t.Errorf("%v, %v", lists, err)
	}
	if lists, _, err := ParseRevocationsText(nil); err != nil || len(lists) != 0 {
		t.Errorf("an empty file: %v, %v", lists, err)
	}
	two[len(two)-1] ^= 1
	if _, _, err := ParseRevocationsText(append(RevocationsText(one), RevocationsText(two)...)); err == nil {
		t.Error("a forged list")
	}
}

// FuzzRevocations: whatever decodes has one form, that of what it says.
func FuzzRevocations(f *testing.F) {
	f.Add(list(f, Revocations{Number: 3, Issued: 77, Serials: []uint64{4, 9}, Keys: []PublicKey{{1}, {2}}}, 9))
	f.Add(list(f, Revocations{Number: 1<<64 - 1}, 8))
	operator := keyOf(f, 9)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeRevocations(b)
		r, signature, err := parseRevocations(b)
		if err != nil {
			return
		}
		want := bytes.Clone(b)
		again, err := r.Sign(operator)
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		tail := wire.TLVLen(typeSignature, len(signature)) + wire.TLVLen(typeOperator, KeyLen)
		if len(again) != len(want) || !bytes.Equal(again[:len(again)-tail], want[:len(want)-tail]) {
			t.Fatalf("%x becomes %x", want, again)
		}
	})
}
