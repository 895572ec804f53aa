package sim

import (
	"sync"

	"mars/internal/wire"
)

// content is the bytes of a simulated object, which all objects of one size and chunk size share.
type content struct {
	bytes    []byte
	manifest *wire.Manifest
}

type contentKey struct {
	size  int64
	chunk int
}

// contents are shared by all runs of a process: making a manifest costs a hash of every byte.
var contents sync.Map // of contentKey to func() *content

// contentOf returns the object of that size.
func contentOf(size int64, chunk int) *content {
	made, _ := contents.LoadOrStore(contentKey{size, chunk}, sync.OnceValue(func() *content { return newContent(size, chunk) }))
	return made.(func() *content)()
}

func newContent(size int64, chunk int) *content {
	c := &content{bytes: make([]byte, size)}
	x := uint64(size)
	for i := range c.bytes {
		if i%8 == 0 { // xorshift: different in every chunk
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			x += 0x9e3779b97f4a7c15
		}
		c.bytes[i] = byte(x >> (8 * (i % 8)))
	}
	b := wire.NewManifestBuilder(chunk)
	b.Write(c.bytes) // never fails
	c.manifest = b.Finish()
	return c
}

// chunk is the content of chunk i.
func (c *content) chunk(i int64) []byte {
	at := i * int64(c.manifest.ChunkSize)
	end := at + int64(c.manifest.ChunkLen(i))
	return c.bytes[at:end:end]
}
