package node

import (
	"testing"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// dialled is a node that can dial: it calls the face up at once, and down when it is destroyed.
func dialled(t *testing.T) (n *Node, c *client, asked *[]string) {
	n = New(forward.Config{Seed: 1})
	asked = new([]string)
	n.Manage(ManageConfig{Dialer: Dialer{
		Create: func(remote, local string, mtu uint64) (machine.FaceID, wire.ControlResponse) {
			*asked = append(*asked, remote, local)
			if remote == "bad" {
				return 0, wire.ControlResponse{Code: codeMalformed, Text: "bad"}
			}
			if up, _ := n.fw.Face(3); up {
				return 3, wire.ControlResponse{Code: codeConflict, Text: "there"}
			}
			n.FaceUp(0, 3, machine.Face{MTU: int(mtu)})
			return 3, wire.ControlResponse{Code: codeOK, Text: "OK"}
		},
		Destroy: func(f machine.FaceID) { n.FaceDown(0, f) },
	}})
	return n, newClient(t, n, 7), asked
}

// numbers makes parameters of pairs of a parameter and its value.
func numbers(p wire.ControlParameters, pairs ...uint64) wire.ControlParameters {
	for i := 0; i < len(pairs); i += 2 {
		p.SetNumber(wire.Parameter(pairs[i]), pairs[i+1])
	}
	return p
}

func uri(s string) wire.ControlParameters { return wire.ControlParameters{URI: []byte(s)} }

const (
	id          = uint64(wire.ParamFaceID)
	persistency = uint64(wire.ParamPersistency)
	flags, mask = uint64(wire.ParamFlags), uint64(wire.ParamMask)
	mtu         = uint64(wire.ParamMTU)
)

// TestFaceCommands: what may be asked of faces, and with which code the rest is refused.
func TestFaceCommands(t *testing.T) {
	n, c, asked := dialled(t)
	n.FaceUp(0, 4, machine.Face{MTU: 1400, OnDemand: true})
	n.Attach(0, &Asker{})
	none := wire.ControlParameters{}
	for _, step := range []struct {
		name, what string
		p          wire.ControlParameters
		code       uint64
		face       uint64 // of the answer; 0: none
	}{
		{"no address", "faces/create", none, codeMalformed, 0},
		{"flags without mask", "faces/create", numbers(uri("u"), flags, 1), codeMalformed, 0},
		{"unheard-of persistency", "faces/create", numbers(uri("u"), persistency, 3), codeMalformed, 0},
		{"on demand", "faces/create", numbers(uri("u"), persistency, onDemand), codeUnacceptable, 0},
		{"local fields", "faces/create", numbers(uri("u"), flags, 1, mask, 1), codeUnacceptable, 0},
		{"the dialer refuses", "faces/create", uri("bad"), codeMalformed, 0},
		{"a face", "faces/create", numbers(uri("u"), persistency, permanent, mtu, 1400, flags, 0, mask, 1), codeOK, 3},
		{"once more", "faces/create", uri("u"), codeConflict, 3},

		{"nothing new of it", "faces/update", numbers(none, id, 3, persistency, persistent), codeOK, 3},
		{"nothing new of the own one", "faces/update", numbers(none, persistency, onDemand, flags, 0, mask, 3), codeOK, 7},
		{"it would end", "faces/update", numbers(none, id, 3, persistency, onDemand), codeConflict, 0},
		{"the peer's would stay", "faces/update", numbers(none, id, 4, persistency, persistent), codeConflict, 0},
		{"local fields of the own one", "faces/update", numbers(none, flags, 1, mask, 1), codeConflict, 0},
		{"another MTU", "faces/update", numbers(none, id, 3, mtu, 9000), codeConflict, 0},
		{"mask without flags", "faces/update", numbers(none, id, 3, mask, 1), codeMalformed, 0},
		{"no such face", "faces/update", numbers(none, id, 99), codeUnknown, 0},
		{"past 32 bits", "faces/update", numbers(none, id, 1<<32+3), codeUnknown, 0},

		{"which", "faces/destroy", none, codeMalformed, 0},
		{"a part of the node", "faces/destroy", numbers(none, id, uint64(localBase)), codeConflict, 0},
		{"none of that number", "faces/destroy", numbers(none, id, 99), codeOK, 99},
		{"past 32 bits", "faces/destroy", numbers(none, id, 1<<32+3), codeOK, 1<<32 + 3},
		{"it is still there", "faces/update", numbers(none, id, 3), codeOK, 3},
		{"now", "faces/destroy", numbers(none, id, 3), codeOK, 3},
		{"it is gone", "faces/update", numbers(none, id, 3), codeUnknown, 0},
		{"again", "faces/destroy", numbers(none, id, 3), codeOK, 3},
	} {
		r := c.command(0, step.what, step.p)
		if got := r.Body.NumberOr(wire.ParamFaceID, 0); r.Code != step.code || got != step.face {
			t.Errorf("%s (%s): %d %s, face %d; want %d, face %d", step.name, step.what, r.Code, r.Text, got, step.code, step.face)
		}
	}
	if len(*asked) != 6 {
		t.Errorf("dialled with %q", *asked)
	}
}

// TestDestroyedFace: a face that was destroyed takes its routes along, static ones too; one that is merely down keeps them.
func TestDestroyedFace(t *testing.T) {
	n, c, _ := dialled(t)
	c.command(0, "faces/create", uri("u"))
	n.AddRoute(0, wire.MustParseName("/static"), forward.NextHop{Face: 3, Hops: 1})
	if r := c.command(0, "rib/register", numbers(named("/p"), id, 3)); r.Code != codeOK {
		t.Fatalf("%d %s", r.Code, r.Text)
	}
	n.FaceDown(0, 3)
	if routes := n.fw.Routes(nil); len(routes) != 2 {
		t.Fatalf("routes of a face that is down: %v", routes)
	}
	n.FaceUp(0, 3, machine.Face{MTU: 1400})
	c.command(0, "faces/destroy", numbers(wire.ControlParameters{}, id, 3))
	if routes := n.fw.Routes(nil); len(routes) != 0 {
		t.Fatalf("routes of a face that was destroyed: %v", routes)
	}
	if len(n.onDemand) != 0 {
		t.Fatal("it is remembered")
	}
}

// TestFacesOfOthers: only applications here command faces.
func TestFacesOfOthers(t *testing.T) {
	n, _, asked := dialled(t)
	n.FaceUp(0, 9, machine.Face{MTU: 1400})
	p := uri("u")
	i := wire.Interest{Name: wire.MustParseName("/localhost/nfd/faces/create").Append(wire.TypeGeneric, p.Append(nil)), HasNonce: true}
	i.SignDigest()
	n.Receive(0, 9, machine.NotECT, i.Append(nil))
	if size, _ := n.Transmit(0, 9, make([]byte, 9200)); size != 0 || len(*asked) > 0 || n.fw.Dropped(forward.DropScope) != 1 {
		t.Fatalf("answered with %d bytes, dialled %q", size, *asked)
	}
}
