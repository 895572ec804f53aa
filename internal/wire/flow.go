package wire

// Keywords in MARS names (MARS §2): values of keyword components.
const (
	KeywordDiscovery    = "pd"
	KeywordTransmission = "dt"
	KeywordManifest     = "manifest"
	KeywordMetadata     = "metadata"
)

// Kind tells what a name asks for.
type Kind uint8

// The kinds of names.
const (
	Plain        Kind = iota // an ordinary NDN name
	Discovery                // /<dest…>/<src>/32=pd/<tier>/58=<seq>
	Transmission             // /<dest…>/<src>/32=dt/<object…>/54=<version>/50=<chunk>
)

// FlowName is a name split at its marker. The parts alias the name; for a Plain name they are empty.
type FlowName struct {
	Kind Kind
	Flow Name   // dest and src: the flow's key
	Dest Name   // the producer prefix, one component or more
	Src  []byte // the value of the source forwarder's component
	Rest Name   // what follows the marker
}

// SplitFlow splits n at its first pd or dt marker. The name is Plain when it has no marker, when fewer than two components
// precede the marker, or when the one before it isn't generic.
func SplitFlow(n Name) FlowName {
	srcAt, src := 0, Component{}
	for at := 0; at < len(n); {
		typ, from, to, err := element(n, at)
		if err != nil {
			break
		}
		if kind := marker(typ, n[from:to]); kind != Plain {
			if srcAt == 0 || src.Type != TypeGeneric {
				break
			}
			return FlowName{kind, asName(n[:at]), asName(n[:srcAt]), src.Value, asName(n[to:])}
		}
		srcAt, src, at = at, Component{typ, n[from:to:to]}, to
	}
	return FlowName{}
}

func marker(typ uint64, value []byte) Kind {
	if typ != TypeKeyword {
		return Plain
	}
	switch string(value) {
	case KeywordDiscovery:
		return Discovery
	case KeywordTransmission:
		return Transmission
	}
	return Plain
}

// Probe is the tier index and the sequence number of a Discovery name; false when it has another form.
func (f FlowName) Probe() (tier, seq uint64, ok bool) {
	if f.Kind != Discovery {
		return 0, 0, false
	}
	first, rest, ok1 := f.Rest.Next()
	second, rest, ok2 := rest.Next()
	if !ok1 || !ok2 || len(rest) != 0 || first.Type != TypeGeneric || second.Type != TypeSequence {
		return 0, 0, false
	}
	tier, ok1 = first.Number()
	seq, ok2 = second.Number()
	return tier, seq, ok1 && ok2
}

// SplitChunk splits a name that ends in a version and a segment number, /<object…>/54=<version>/50=<chunk>; false when
// it ends otherwise. It serves plain and dt names, of chunks and of manifest segments.
func (n Name) SplitChunk() (object Name, version, chunk uint64, ok bool) {
	var last [2]Component
	var starts [2]int
	for at := 0; at < len(n); {
		typ, from, to, err := element(n, at)
		if err != nil {
			return nil, 0, 0, false
		}
		last[0], last[1] = last[1], Component{typ, n[from:to:to]}
		starts[0], starts[1] = starts[1], at
		at = to
	}
	if last[0].Type != TypeVersion || last[1].Type != TypeSegment {
		return nil, 0, 0, false
	}
	version, ok1 := last[0].Number()
	chunk, ok2 := last[1].Number()
	return asName(n[:starts[0]]), version, chunk, ok1 && ok2
}

// AppendDiscovery appends the name of a path discovery Interest to dst.
func AppendDiscovery(dst, dest Name, src []byte, tier, seq uint64) Name {
	dst = append(dst, dest...).Append(TypeGeneric, src).AppendString(TypeKeyword, KeywordDiscovery)
	return dst.AppendNumber(TypeGeneric, tier).AppendNumber(TypeSequence, seq)
}

// AppendTransmission appends /<dest…>/<src>/32=dt/<object…> to dst; object is what follows dest in the object's name.
// The caller then appends version and chunk (AppendChunk).
func AppendTransmission(dst, dest Name, src []byte, object Name) Name {
	dst = append(dst, dest...).Append(TypeGeneric, src).AppendString(TypeKeyword, KeywordTransmission)
	return append(dst, object...)
}

// AppendChunk appends /54=<version>/50=<chunk>.
func (n Name) AppendChunk(version, chunk uint64) Name {
	return n.AppendNumber(TypeVersion, version).AppendNumber(TypeSegment, chunk)
}
