package wire

import (
	"bytes"
	"strings"
)

const (
	typeFaceQueryFilter = 0x96
	typeURIScheme       = 0x83
)

// FaceFilter says which faces a faces/query wants (NFD wiki, FaceMgmt, "Query faces"): those of which every element that is there holds.
type FaceFilter struct {
	uri, localURI, scheme              []byte // nil: any
	id, scope, persistency, linkType   uint64
	hasID, hasScope, hasPersist, hasLT bool
}

// Decode reads b, exactly one FaceQueryFilter. Errors are of type Error.
func (f *FaceFilter) Decode(b []byte) error {
	*f = FaceFilter{}
	typ, at, err := whole(b)
	if err != nil {
		return err
	}
	if typ != typeFaceQueryFilter {
		return ErrType
	}
	for at < len(b) {
		typ, from, to, err := element(b, at)
		if err == nil {
			err = f.take(typ, b[from:to:to])
		}
		if err != nil {
			return err
		}
		at = to
	}
	return nil
}

func (f *FaceFilter) take(typ uint64, value []byte) error {
	number := func(v *uint64, has *bool) error {
		n, ok := Natural(value)
		if !ok {
			return ErrNumber
		}
		*v, *has = n, true
		return nil
	}
	switch typ {
	case typeURI:
		f.uri = value
	case typeLocalURI:
		f.localURI = value
	case typeURIScheme:
		f.scheme = value
	case parameterTypes[ParamFaceID]:
		return number(&f.id, &f.hasID)
	case typeFaceScope:
		return number(&f.scope, &f.hasScope)
	case parameterTypes[ParamPersistency]:
		return number(&f.persistency, &f.hasPersist)
	case typeLinkType:
		return number(&f.linkType, &f.hasLT)
	default:
		return misplaced(typ, false)
	}
	return nil
}

// Matches tells whether a face is wanted.
func (f *FaceFilter) Matches(s *FaceStatus) bool {
	remote, _, _ := strings.Cut(s.URI, "://")
	local, _, _ := strings.Cut(s.LocalURI, "://")
	scope, persistency := s.scopeAndPersistency()
	return (f.uri == nil || bytes.Equal(f.uri, []byte(s.URI))) &&
		(f.localURI == nil || bytes.Equal(f.localURI, []byte(s.LocalURI))) &&
		(f.scheme == nil || string(f.scheme) == remote || string(f.scheme) == local) &&
		(!f.hasID || f.id == s.ID) && (!f.hasScope || f.scope == scope) &&
		(!f.hasPersist || f.persistency == persistency) && (!f.hasLT || f.linkType == 0)
}
