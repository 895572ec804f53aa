package wire

// Types of NFD's management protocol (NFD wiki: ControlCommand, FaceMgmt, RibMgmt). Numbers are reused: which element a type
// means depends on what it stands in.
const (
	TypeControlParameters = 0x68

	typeControlResponse = 0x65
	typeStatusCode      = 0x66
	typeStatusText      = 0x67

	typeURI      = 0x72
	typeLocalURI = 0x81
	typeStrategy = 0x6b
)

// Parameter is a numeric element of ControlParameters.
type Parameter uint8

// The numeric parameters, in the order of the element.
const (
	ParamFaceID Parameter = iota
	ParamOrigin
	ParamCost
	ParamCapacity
	ParamCount
	ParamFlags
	ParamMask
	ParamExpiration // ms
	ParamPersistency
	ParamMarkingInterval // ns
	ParamMarkingThreshold
	ParamMTU
	parameters
)

var parameterTypes = [parameters]uint64{0x69, 0x6f, 0x6a, 0x83, 0x84, 0x6c, 0x70, 0x6d, 0x85, 0x87, 0x88, 0x89}

// ControlParameters is what a management command asks for and what its response confirms. Every element is optional. Slices
// alias the packet it was decoded from.
type ControlParameters struct {
	Name        Name
	HasName     bool
	URI         []byte // nil if absent
	LocalURI    []byte
	Strategy    Name
	HasStrategy bool
	numbers     [parameters]uint64
	has         uint16 // bit p: numbers[p] is there
}

// Number is a numeric parameter; false when it is absent.
func (c *ControlParameters) Number(p Parameter) (uint64, bool) {
	return c.numbers[p], c.has&(1<<p) != 0
}

// NumberOr is a numeric parameter, or otherwise when it is absent.
func (c *ControlParameters) NumberOr(p Parameter, otherwise uint64) uint64 {
	if v, ok := c.Number(p); ok {
		return v
	}
	return otherwise
}

// SetNumber sets a numeric parameter.
func (c *ControlParameters) SetNumber(p Parameter, v uint64) {
	c.numbers[p] = v
	c.has |= 1 << p
}

// Decode reads b, exactly one ControlParameters element. Elsewhere their order is not looked at, so neither is it here; an
// element that comes twice is an error, as is an unknown critical one. Errors are of type Error.
func (c *ControlParameters) Decode(b []byte) error {
	*c = ControlParameters{}
	typ, at, err := whole(b)
	if err != nil {
		return err
	}
	if typ != TypeControlParameters {
		return ErrType
	}
	for at < len(b) {
		typ, from, to, err := element(b, at)
		if err == nil {
			err = c.take(typ, b[from:to:to])
		}
		if err != nil {
			return err
		}
		at = to
	}
	return nil
}

func (c *ControlParameters) take(typ uint64, value []byte) (err error) {
	twice := false
	switch typ {
	case TypeName:
		twice, c.HasName = c.HasName, true
		c.Name, err = DecodeName(value)
	case typeURI:
		twice, c.URI = c.URI != nil, value
	case typeLocalURI:
		twice, c.LocalURI = c.LocalURI != nil, value
	case typeStrategy:
		twice, c.HasStrategy = c.HasStrategy, true
		typ, from, wrong := whole(value)
		if wrong != nil {
			return wrong
		}
		if typ != TypeName {
			return ErrName
		}
		c.Strategy, err = DecodeName(value[from:])
	default:
		return c.takeNumber(typ, value)
	}
	if twice {
		return ErrOrder
	}
	return err
}

func (c *ControlParameters) takeNumber(typ uint64, value []byte) error {
	for p, t := range parameterTypes {
		if t != typ {
			continue
		}
		v, ok := Natural(value)
		if !ok {
			return ErrNumber
		}
		if c.has&(1<<p) != 0 {
			return ErrOrder
		}
		c.SetNumber(Parameter(p), v)
		return nil
	}
	return misplaced(typ, false)
}

// Append encodes the parameters in the usual order.
func (c *ControlParameters) Append(dst []byte) []byte {
	var inner []byte
	if c.HasName {
		inner = c.Name.AppendTLV(inner)
	}
	inner = c.appendNumbers(inner, ParamFaceID, ParamOrigin)
	if c.URI != nil {
		inner = AppendTLV(inner, typeURI, c.URI)
	}
	if c.LocalURI != nil {
		inner = AppendTLV(inner, typeLocalURI, c.LocalURI)
	}
	inner = c.appendNumbers(inner, ParamOrigin, ParamExpiration)
	if c.HasStrategy {
		inner = c.Strategy.AppendTLV(AppendTL(inner, typeStrategy, TLVLen(TypeName, len(c.Strategy))))
	}
	inner = c.appendNumbers(inner, ParamExpiration, parameters)
	return AppendTLV(dst, TypeControlParameters, inner)
}

// appendNumbers appends the numeric parameters from…to−1 that are there.
func (c *ControlParameters) appendNumbers(dst []byte, from, to Parameter) []byte {
	for p := from; p < to; p++ {
		if v, ok := c.Number(p); ok {
			dst = AppendNaturalTLV(dst, parameterTypes[p], v)
		}
	}
	return dst
}

// ControlResponse is the answer to a management command, the Content of its Data.
type ControlResponse struct {
	Code    uint64 // as in HTTP: 200 is success
	Text    string
	Body    ControlParameters
	HasBody bool
}

// Append encodes the response.
func (r *ControlResponse) Append(dst []byte) []byte {
	inner := AppendNaturalTLV(nil, typeStatusCode, r.Code)
	inner = append(AppendTL(inner, typeStatusText, len(r.Text)), r.Text...)
	if r.HasBody {
		inner = r.Body.Append(inner)
	}
	return AppendTLV(dst, typeControlResponse, inner)
}

// Decode reads b, exactly one ControlResponse. A body that isn't ControlParameters is ignored. Errors are of type Error.
func (r *ControlResponse) Decode(b []byte) error {
	*r = ControlResponse{}
	typ, at, err := whole(b)
	if err != nil {
		return err
	}
	if typ != typeControlResponse {
		return ErrType
	}
	for rank := 0; at < len(b); rank++ {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		value, ok := b[from:to], true
		switch {
		case rank == 0 && typ == typeStatusCode:
			r.Code, ok = Natural(value)
		case rank == 0:
			return ErrMissing
		case rank == 1 && typ == typeStatusText:
			r.Text = string(value)
		case rank == 1:
			return ErrMissing
		case rank == 2 && typ == TypeControlParameters:
			r.HasBody = true
			err = r.Body.Decode(b[at:to])
		}
		switch {
		case !ok:
			return ErrNumber
		case err != nil:
			return err
		}
		at = to
	}
	if r.Code == 0 {
		return ErrMissing
	}
	return nil
}
