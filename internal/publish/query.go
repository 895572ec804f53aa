package publish

import "mars/internal/wire"

const (
	// maxName bounds the names that are answered, bytes: with the largest chunk and what surrounds it they must fit
	// into a packet.
	maxName = wire.MaxPacket - wire.ChunkSize - 80
	// maxObject bounds the names of objects: chunks' names are longer by source, markers, version and number.
	maxObject = maxName - 64
)

// query is what an Interest asks for.
type query struct {
	object    wire.Name // full name without version; aliases the Interest or the buffer given to parse
	metadata  bool      // which version is current?
	manifest  bool      // a segment of the manifest, else a chunk
	version   uint64
	versioned bool
	index     int64 // of the chunk or segment
	complete  bool  // the Interest's name is that of the Data, else it is a prefix
	plain     bool  // an ordinary NDN name: sign and mark the final block
}

// parse understands (protocol.md §2, interop.md)
//
//	/<dest…>/<src>/32=dt/<rest…>/54=v/50=n            and …/32=manifest/54=v/50=n
//	/<object…>/54=v/50=n, /<object…>/32=manifest/54=v/50=n
//
// and with CanBePrefix
//
//	/<object…>/32=metadata
//	/<object…>, /<object…>/54=v, /<object…>/32=manifest/54=v    chunk or segment 0
//
// buf is overwritten.
func parse(i *wire.Interest, prefix, buf wire.Name) (q query, ok bool) {
	if len(i.Name) > maxName {
		return q, false
	}
	full := i.Name
	switch f := wire.SplitFlow(i.Name); f.Kind {
	case wire.Transmission:
		if !f.Dest.Equal(prefix) {
			return q, false
		}
		full = append(append(buf[:0], f.Dest...), f.Rest...)
	case wire.Discovery:
		return q, false
	default:
		q.plain = true
	}
	var index uint64
	q.object, q.version, index, q.complete = full.SplitChunk()
	switch {
	case q.complete:
		q.versioned, q.index = true, int64(index)
	case !q.plain || !i.CanBePrefix:
		return q, false
	default:
		q.object = full
		q.prefixForm()
	}
	if q.versioned {
		if rest, ok := cutKeyword(q.object, wire.KeywordManifest); ok {
			q.object, q.manifest = rest, true
		}
	}
	return q, q.index >= 0 && q.object.HasPrefix(prefix)
}

// prefixForm takes the parts of a plain name that the Data's name goes on from.
func (q *query) prefixForm() {
	if rest, ok := cutKeyword(q.object, wire.KeywordMetadata); ok {
		q.object, q.metadata = rest, true
		return
	}
	n := q.object.Len() - 1
	if c, ok := q.object.At(n); ok && c.Type == wire.TypeVersion {
		if v, ok := c.Number(); ok {
			q.object, q.version, q.versioned = q.object.Prefix(n), v, true
		}
	}
}

// cutKeyword returns n without its last component if that is the keyword.
func cutKeyword(n wire.Name, keyword string) (rest wire.Name, ok bool) {
	last := n.Len() - 1
	c, ok := n.At(last)
	if !ok || c.Type != wire.TypeKeyword || string(c.Value) != keyword {
		return n, false
	}
	return n.Prefix(last), true
}
