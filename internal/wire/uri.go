package wire

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// NameError tells what is wrong with the URI of a name.
type NameError struct {
	URI       string // as given
	Component string // the offending component, "" when it is the whole
	Reason    string
}

// Error names the component and the reason.
func (e *NameError) Error() string {
	s := "name " + strconv.Quote(e.URI) + ": "
	if e.Component != "" {
		s += "component " + strconv.Quote(e.Component) + ": "
	}
	return s + e.Reason
}

// conventions are the prefixes that stand for a type whose value is written as a decimal number (NDN naming conventions
// rev. 3).
var conventions = [...]struct {
	prefix string
	typ    uint64
}{
	{"seg", TypeSegment}, {"off", TypeByteOffset}, {"v", TypeVersion}, {"t", TypeTimestamp}, {"seq", TypeSequence},
}

const (
	implicitPrefix = "sha256digest"
	paramsPrefix   = "params-sha256"
)

// ParseName reads an NDN URI such as /a/b%20c/32=pd/v=7, with or without a leading "ndn:" and with or without one
// slash at the end. A component is a percent-encoded value, <type>=<percent-encoded value>, sha256digest=<hex>,
// params-sha256=<hex>, or seg=, off=, v=, t=, seq= with a decimal number. A value of periods only carries three more than
// it has (packet spec, "NDN URI scheme"). The error is a *NameError.
//
// As the specification has it, 54=7 is the one byte '7', not the number seven: that is v=7.
func ParseName(uri string) (Name, error) {
	rest, found := strings.CutPrefix(strings.TrimPrefix(uri, "ndn:"), "/")
	if !found {
		return nil, &NameError{URI: uri, Reason: "must begin with /"}
	}
	var n Name
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		var reason string
		if n, reason = parseComponent(n, part); reason != "" {
			return nil, &NameError{URI: uri, Component: part, Reason: reason}
		}
	}
	return n, nil
}

// MustParseName is ParseName for names in the source; it panics on an error.
func MustParseName(uri string) Name {
	n, err := ParseName(uri)
	if err != nil {
		panic(err)
	}
	return n
}

// parseComponent appends the component written as part to n, or tells why it isn't one.
func parseComponent(n Name, part string) (_ Name, reason string) {
	prefix, text, typed := strings.Cut(part, "=")
	if !typed {
		return parseValue(n, TypeGeneric, part)
	}
	for _, c := range conventions {
		if prefix == c.prefix {
			v, err := strconv.ParseUint(text, 10, 64)
			if err != nil || !plainDecimal(text) {
				return nil, "want a decimal number after " + prefix + "="
			}
			return n.AppendNumber(c.typ, v), ""
		}
	}
	if prefix == implicitPrefix || prefix == paramsPrefix {
		digest, err := hex.DecodeString(text)
		if err != nil || len(digest) != digestLen {
			return nil, "want 64 hexadecimal digits after " + prefix + "="
		}
		if prefix == implicitPrefix {
			return n.Append(TypeImplicitDigest, digest), ""
		}
		return n.Append(TypeParamsDigest, digest), ""
	}
	typ, err := strconv.ParseUint(prefix, 10, 16)
	if err != nil || typ == 0 || !plainDecimal(prefix) {
		return nil, "unknown type " + strconv.Quote(prefix) + "; write a plain = as %3D"
	}
	return parseValue(n, typ, text)
}

// plainDecimal tells whether s is a number as strconv prints it: no sign, no leading zero.
func plainDecimal(s string) bool { return s == "0" || s != "" && s[0] >= '1' && s[0] <= '9' }

// parseValue appends a component with the percent-encoded value text.
func parseValue(n Name, typ uint64, text string) (_ Name, reason string) {
	value, reason := unescape(text)
	if reason != "" {
		return nil, reason
	}
	if strings.Trim(string(value), ".") == "" {
		switch {
		case len(value) >= 3:
			value = value[3:]
		case typ == TypeGeneric:
			return nil, "an empty component is written as ..., and one of periods with three more"
		}
	}
	if typ <= TypeParamsDigest && len(value) != digestLen {
		return nil, "a digest has 32 bytes"
	}
	return n.Append(typ, value), ""
}

func unescape(text string) (value []byte, reason string) {
	value = make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			value = append(value, text[i])
			continue
		}
		if i+3 > len(text) {
			return nil, "want two hexadecimal digits after %"
		}
		v, err := hex.AppendDecode(value, []byte(text[i+1:i+3]))
		if err != nil {
			return nil, "want two hexadecimal digits after %"
		}
		value, i = v, i+2
	}
	return value, ""
}

// String is the name as a URI, one spelling per name; ParseName reads it back to the same bytes. Numbers in
// shortest form are written by convention (v=7), digests in hexadecimal.
func (n Name) String() string {
	if len(n) == 0 {
		return "/"
	}
	b := make([]byte, 0, 2*len(n))
	for {
		c, rest, ok := n.Next()
		if !ok {
			return string(b)
		}
		b, n = c.appendURI(append(b, '/')), rest
	}
}

// String is the component as part of a URI.
func (c Component) String() string { return string(c.appendURI(nil)) }

func (c Component) appendURI(b []byte) []byte {
	switch c.Type {
	case TypeImplicitDigest:
		return hex.AppendEncode(append(b, implicitPrefix+"="...), c.Value)
	case TypeParamsDigest:
		return hex.AppendEncode(append(b, paramsPrefix+"="...), c.Value)
	case TypeGeneric:
		return appendEscaped(b, c.Value)
	}
	for _, k := range conventions {
		if v, ok := c.Number(); k.typ == c.Type && ok && len(c.Value) == NaturalLen(v) {
			return strconv.AppendUint(append(append(b, k.prefix...), '='), v, 10)
		}
	}
	return appendEscaped(append(strconv.AppendUint(b, c.Type, 10), '='), c.Value)
}

func appendEscaped(b, value []byte) []byte {
	const digits = "0123456789ABCDEF"
	periods := true
	for _, v := range value {
		periods = periods && v == '.'
	}
	if periods {
		b = append(b, "..."...)
	}
	for _, v := range value {
		switch {
		case v >= '0' && v <= '9', v >= 'A' && v <= 'Z', v >= 'a' && v <= 'z', v == '-', v == '.', v == '_', v == '~':
			b = append(b, v)
		default:
			b = append(b, '%', digits[v>>4], digits[v&15])
		}
	}
	return b
}
