package wire

import (
	"errors"
	"testing"
)

func TestErrorSaysWhy(t *testing.T) {
	seen := map[string]Error{}
	for e := ErrTruncated; e <= ErrValue; e++ {
		s := e.Error()
		if other, ok := seen[s]; ok || s == Error(0).Error() {
			t.Errorf("reason %d reads %q, as %d does", e, s, other)
		}
		seen[s] = e
	}
	if Error(0).Error() != Error(255).Error() {
		t.Error("reasons that don't exist differ")
	}
	if !errors.Is(error(ErrName), ErrName) || errors.Is(error(ErrName), ErrType) {
		t.Error("reasons can't be told apart")
	}
}
