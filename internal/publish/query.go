package publish

import "mars/internal/wire"

// query is what an Interest asks for.
type query struct {
	object    wire.Name // full name without version; aliases the Interest for plain names
	version   uint64
	versioned bool
	metadata  bool
	manifest  bool
	index     int64 // chunk or manifest segment
	plain     bool  // an ordinary NDN name: sign and mark the final block
}

var (
	metadataMarker = []byte("metadata")
	manifestMarker = []byte("manifest")
)

// parse understands (protocol.md §2, interop.md):
//
//	/<dest…>/<src>/32=dt/<rest…>/54=v/50=n            and …/32=manifest/54=v/50=n
//	/<object…>/54=v/50=n, /<object…>/32=manifest/54=v/50=n
//	/<object…>/32=metadata                            (CanBePrefix)
//	/<object…> and /<object…>/54=v                    (CanBePrefix: chunk 0)
func parse(i *wire.Interest, prefix wire.Name) (q query, ok bool) {
	name := i.Name
	full := name
	f := wire.SplitFlow(name)
	switch f.Kind {
	case wire.Transmission:
		if !f.Dest.Equal(prefix) {
			return q, false
		}
		full = append(append(make(wire.Name, 0, len(name)), f.Dest...), f.Rest...)
	case wire.Discovery:
		return q, false
	default:
		q.plain = true
		if !name.HasPrefix(prefix) {
			return q, false
		}
	}
	n := full.Len()
	last, _ := full.At(n - 1)
	if last.Type == wire.TypeKeyword && string(last.Value) == string(metadataMarker) {
		q.object, q.metadata = full.Prefix(n-1), true
		return q, q.object.HasPrefix(prefix)
	}
	if last.Type == wire.TypeSegment {
		index, valid := last.Number()
		if !valid || index > 1<<62 || n < 2 {
			return q, false
		}
		q.index = int64(index)
		n--
		last, _ = full.At(n - 1)
		if last.Type != wire.TypeVersion {
			return q, false
		}
	} else if !i.CanBePrefix {
		return q, false
	}
	if last.Type == wire.TypeVersion {
		v, valid := last.Number()
		if !valid {
			return q, false
		}
		q.version, q.versioned = v, true
		n--
	}
	if c, there := full.At(n - 1); there && c.Type == wire.TypeKeyword && string(c.Value) == string(manifestMarker) && q.versioned {
		q.manifest = true
		n--
	}
	q.object = full.Prefix(n)
	return q, q.object.HasPrefix(prefix)
}
