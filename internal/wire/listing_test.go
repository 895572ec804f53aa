package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	listed = []Entry{
		{Name: []byte("-rf"), Size: 0},
		{Name: []byte("a b%\n"), Size: 300, MTime: 1, Digest: Digest{1, 2}, HasDigest: true},
		{Name: []byte("dir"), Directory: true, MTime: 1 << 60},
		{Name: []byte("\xff"), Size: 1 << 40},
	}
	listedBytes = "fdf590 0a 08032d7266 fdf5020100" +
		"fdf590 36 080561206225 0a fdf502 02 012c fdf50c 01 01 fdf580 20 0102" + hex.EncodeToString(make([]byte, 30)) +
		"fdf592 11 0803646972 fdf50c 08 1000000000000000" +
		"fdf590 0f 0801ff fdf502 08 0000010000000000"
)

func entries(t *testing.T, l Listing) (all []Entry) {
	t.Helper()
	for {
		e, rest, ok, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		all, l = append(all, e), rest
	}
}

func TestListing(t *testing.T) {
	var b []byte
	for _, e := range listed {
		b = e.Append(b)
	}
	if want := unhex(t, listedBytes); !bytes.Equal(b, want) {
		t.Errorf("encoded\n%x, want\n%x", b, want)
	}
	if err := Listing(b).Check(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(listed, entries(t, b)); diff != "" {
		t.Error(diff)
	}
	if err := Listing(nil).Check(); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	future := unhex(t, "fdf594 01 00 fdf590 0f 080161 fdf50201 05 fdf5f0 03 616263")
	if err := Listing(future).Check(); err != nil || entries(t, future)[0].Size != 5 {
		t.Errorf("unknown even elements are to be passed over: %v", err)
	}
}

func TestListingMalformed(t *testing.T) {
	for what, text := range map[string]string{
		"truncated":             "fdf590 0a 08032d7266",
		"no name":               "fdf590 05 fdf5020100",
		"empty entry":           "fdf592 00",
		"file without size":     "fdf590 03 080161",
		"name twice in entry":   "fdf592 06 080161 080162",
		"order of elements":     "fdf590 0d 080161 fdf50c0101 fdf5020100",
		"size of 3 bytes":       "fdf590 0a 080161 fdf50203000000",
		"negative size":         "fdf590 0f 080161 fdf50208ffffffffffffffff",
		"short digest":          "fdf592 08 080161 fdf5800100",
		"critical unknown":      "fdf592 08 080161 fdf5f10100",
		"critical among them":   "09 00",
		"same name twice":       "fdf592 03 080161 fdf592 03 080161",
		"descending":            "fdf592 03 080162 fdf592 03 080161",
		"type of another field": "fdf592 05 2003616161",
	} {
		if err := Listing(unhex(t, text)).Check(); !errors.Is(err, ErrListing) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add(unhex(f, listedBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if Listing(b).Check() != nil {
			return
		}
		all := entries(t, b)
		var again []byte
		for _, e := range all {
			again = e.Append(again)
		}
		if err := Listing(again).Check(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, entries(t, again)); diff != "" {
			t.Fatal(diff)
		}
	})
}
