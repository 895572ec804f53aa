package wire

// Types of the entries of management datasets (NFD wiki: FaceMgmt, RibMgmt, FibMgmt, StrategyChoice, CsMgmt,
// ForwarderStatus). Each list reuses typeEntry for its own entries.
const (
	typeEntry = 0x80
	typeInner = 0x81 // a route of a RIB entry, a next hop of a FIB entry

	typeFaceScope = 0x84
	typeLinkType  = 0x86
)

// Origins of routes (NFD wiki, RibMgmt).
const (
	OriginApp     = 0
	OriginRouting = 128 // NLSR's: what a routing protocol learned
	OriginStatic  = 255
)

// FlagChildInherit says that a route holds for longer prefixes that have routes of their own, too.
const FlagChildInherit = 1

// FaceStatus is an entry of faces/list.
type FaceStatus struct {
	ID            uint64
	URI, LocalURI string
	Local         bool // an application here
	OnDemand      bool // it ends with its peer
	MTU           uint64
	HasMTU        bool

	InInterests, InData, InNacks    uint64
	OutInterests, OutData, OutNacks uint64
	InBytes, OutBytes               uint64
	Flags                           uint64
}

// Append encodes the entry.
func (f *FaceStatus) Append(dst []byte) []byte {
	scope, persistency := f.scopeAndPersistency()
	b := AppendNaturalTLV(nil, parameterTypes[ParamFaceID], f.ID)
	b = AppendTLV(b, typeURI, []byte(f.URI))
	b = AppendTLV(b, typeLocalURI, []byte(f.LocalURI))
	b = AppendNaturalTLV(b, typeFaceScope, scope)
	b = AppendNaturalTLV(b, parameterTypes[ParamPersistency], persistency)
	b = AppendNaturalTLV(b, typeLinkType, 0) // point to point
	if f.HasMTU {
		b = AppendNaturalTLV(b, parameterTypes[ParamMTU], f.MTU)
	}
	b = appendCounters(b, f.InInterests, f.InData, f.InNacks, f.OutInterests, f.OutData, f.OutNacks)
	b = AppendNaturalTLV(b, 0x94, f.InBytes)
	b = AppendNaturalTLV(b, 0x95, f.OutBytes)
	b = AppendNaturalTLV(b, parameterTypes[ParamFlags], f.Flags)
	return AppendTLV(dst, typeEntry, b)
}

func (f *FaceStatus) scopeAndPersistency() (scope, persistency uint64) {
	if f.Local {
		scope = 1
	}
	if f.OnDemand {
		persistency = 1
	}
	return scope, persistency
}

// appendCounters appends the packet counters that faces and the forwarder have, in the order that clients read them.
func appendCounters(b []byte, inInterests, inData, inNacks, outInterests, outData, outNacks uint64) []byte {
	b = AppendNaturalTLV(b, 0x90, inInterests)
	b = AppendNaturalTLV(b, 0x91, inData)
	b = AppendNaturalTLV(b, 0x97, inNacks)
	b = AppendNaturalTLV(b, 0x92, outInterests)
	b = AppendNaturalTLV(b, 0x93, outData)
	return AppendNaturalTLV(b, 0x98, outNacks)
}

// RouteStatus is one route of a RIB entry.
type RouteStatus struct {
	FaceID, Origin, Cost, Flags uint64
	Expiration                  uint64 // ms left
	HasExpiration               bool
}

// AppendRIBEntry encodes an entry of rib/list: a prefix with its routes.
func AppendRIBEntry(dst []byte, prefix Name, routes []RouteStatus) []byte {
	b := prefix.AppendTLV(nil)
	for _, r := range routes {
		in := AppendNaturalTLV(nil, parameterTypes[ParamFaceID], r.FaceID)
		in = AppendNaturalTLV(in, parameterTypes[ParamOrigin], r.Origin)
		in = AppendNaturalTLV(in, parameterTypes[ParamCost], r.Cost)
		in = AppendNaturalTLV(in, parameterTypes[ParamFlags], r.Flags)
		if r.HasExpiration {
			in = AppendNaturalTLV(in, parameterTypes[ParamExpiration], r.Expiration)
		}
		b = AppendTLV(b, typeInner, in)
	}
	return AppendTLV(dst, typeEntry, b)
}

// NextHopStatus is one next hop of a FIB entry.
type NextHopStatus struct{ FaceID, Cost uint64 }

// AppendFIBEntry encodes an entry of fib/list.
func AppendFIBEntry(dst []byte, prefix Name, hops []NextHopStatus) []byte {
	b := prefix.AppendTLV(nil)
	for _, h := range hops {
		in := AppendNaturalTLV(nil, parameterTypes[ParamFaceID], h.FaceID)
		b = AppendTLV(b, typeInner, AppendNaturalTLV(in, parameterTypes[ParamCost], h.Cost))
	}
	return AppendTLV(dst, typeEntry, b)
}

// AppendStrategyChoice encodes an entry of strategy-choice/list.
func AppendStrategyChoice(dst []byte, prefix, strategy Name) []byte {
	b := prefix.AppendTLV(nil)
	b = strategy.AppendTLV(AppendTL(b, typeStrategy, TLVLen(TypeName, len(strategy))))
	return AppendTLV(dst, typeEntry, b)
}

// AppendCSInfo encodes the content of cs/info. Flags: bit 0 admits, bit 1 serves.
func AppendCSInfo(dst []byte, capacity, flags, entries, hits, misses uint64) []byte {
	b := AppendNaturalTLV(nil, parameterTypes[ParamCapacity], capacity)
	b = AppendNaturalTLV(b, parameterTypes[ParamFlags], flags)
	b = AppendNaturalTLV(b, 0x87, entries)
	b = AppendNaturalTLV(b, 0x81, hits)
	return AppendTLV(dst, typeEntry, AppendNaturalTLV(b, 0x82, misses))
}

// GeneralStatus is the content of status/general.
type GeneralStatus struct {
	Version        string
	Start, Current uint64 // ms since 1970
	FIB, PIT       uint64 // entries

	InInterests, InData, InNacks    uint64
	OutInterests, OutData, OutNacks uint64
	Satisfied, Unsatisfied          uint64 // Interests
}

// Append encodes the status: its elements one after the other, without an outer one. There is no name tree, measurements
// table or content store to count.
func (g *GeneralStatus) Append(b []byte) []byte {
	b = AppendTLV(b, 0x80, []byte(g.Version))
	b = AppendNaturalTLV(b, 0x81, g.Start)
	b = AppendNaturalTLV(b, 0x82, g.Current)
	b = AppendNaturalTLV(b, 0x83, 0)
	b = AppendNaturalTLV(b, 0x84, g.FIB)
	b = AppendNaturalTLV(b, 0x85, g.PIT)
	b = AppendNaturalTLV(b, 0x86, 0)
	b = AppendNaturalTLV(b, 0x87, 0)
	b = appendCounters(b, g.InInterests, g.InData, g.InNacks, g.OutInterests, g.OutData, g.OutNacks)
	b = AppendNaturalTLV(b, 0x99, g.Satisfied)
	return AppendNaturalTLV(b, 0x9a, g.Unsatisfied)
}
