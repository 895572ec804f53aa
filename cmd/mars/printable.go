package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mars/internal/wire"
)

// printable makes a text from elsewhere harmless to a terminal: what doesn't show is written as its escape.
func printable(s string) string {
	return escapeRunes(s, func(r rune) bool { return !unicode.IsPrint(r) }, func(b *strings.Builder, part string) {
		for _, c := range []byte(part) {
			fmt.Fprintf(b, "\\x%02x", c)
		}
	})
}

// spell writes a name component so that people can read it, and type it behind a slash in a name.
func spell(base string) string {
	if strings.Trim(base, ".") == "" {
		return wire.Component{Type: wire.TypeGeneric, Value: []byte(base)}.String()
	}
	special := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune("%/=", r) }
	return escapeRunes(base, special, func(b *strings.Builder, part string) {
		for _, c := range []byte(part) {
			fmt.Fprintf(b, "%%%02X", c)
		}
	})
}

// escapeRunes has escape write the runes that are special, and bytes that are no UTF-8.
func escapeRunes(s string, special func(rune) bool, escape func(*strings.Builder, string)) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || special(r) {
			escape(&b, s[:n])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
