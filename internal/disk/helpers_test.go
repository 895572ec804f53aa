package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"mars/internal/wire"
)

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content returns n bytes that depend on seed.
func content(seed, n int) []byte {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], uint64(seed))
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

// manifestOf hashes data as a producer does.
func manifestOf(data []byte, chunkSize int) *wire.Manifest {
	b := wire.NewManifestBuilder(chunkSize)
	b.Write(data)
	return b.Finish()
}

// identityOf is the identity of an object that a producer would make of data.
func identityOf(t testing.TB, uri string, data []byte, chunkSize int) (Identity, *wire.Manifest) {
	t.Helper()
	m := manifestOf(data, chunkSize)
	return Identity{Name: nameOf(t, uri), Version: m.Version(), Digest: m.Digest(), Layout: m.Layout}, m
}

// chunkOf is chunk i of data.
func chunkOf(data []byte, l wire.Layout, i int64) []byte {
	at := i * int64(l.ChunkSize)
	return data[at : at+int64(l.ChunkLen(i))]
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	check(t, os.WriteFile(path, data, 0o644))
}

func wantFile(t testing.TB, path string, data []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	check(t, err)
	if !bytes.Equal(got, data) {
		t.Fatalf("%s: %d bytes that are not the %d wanted", path, len(got), len(data))
	}
}

func wantMissing(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			t.Fatalf("%s is there", path)
		}
	}
}

// abandon does what a kill does: descriptors close, and what was not flushed is lost.
func (p *Partial) abandon() {
	p.part.Close()
	p.journal.Close()
	p.at.close()
}

func nameOf(t testing.TB, uri string) wire.Name {
	t.Helper()
	name, err := wire.ParseName(uri)
	check(t, err)
	return name
}

// overwrite puts text into a file at an offset.
func overwrite(path string, at int64, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}
