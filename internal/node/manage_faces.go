package node

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Persistencies of faces (NFD wiki, FaceMgmt). A face that this node dials stays whatever happens, which is more than persistent
// and permanent promise; one that its peer made ends with the peer.
const (
	persistent = 0
	onDemand   = 1
	permanent  = 2
)

// flagLocalFields is the bit of Flags that asks for IncomingFaceId and its like on an application's packets, which this node doesn't
// know. Of the other two, reliability and congestion marks, it does what it does.
const flagLocalFields = 1 << 0

// checkFace looks at what faces/create and faces/update have in common.
func checkFace(p *wire.ControlParameters) (bad *wire.ControlResponse) {
	_, flags := p.Number(wire.ParamFlags)
	_, mask := p.Number(wire.ParamMask)
	switch {
	case flags != mask:
		bad = &wire.ControlResponse{Code: codeMalformed, Text: "flags and mask go together"}
	case p.NumberOr(wire.ParamPersistency, persistent) > permanent:
		bad = &wire.ControlResponse{Code: codeMalformed, Text: "there is no such persistency"}
	}
	return bad
}

// wantsLocalFields tells whether a command switches local fields on.
func wantsLocalFields(p *wire.ControlParameters) bool {
	return p.NumberOr(wire.ParamFlags, 0)&p.NumberOr(wire.ParamMask, 0)&flagLocalFields != 0
}

// createFace dials a neighbour (FaceMgmt, "Create a face").
func (n *Node) createFace(p *wire.ControlParameters) wire.ControlResponse {
	bad := checkFace(p)
	switch {
	case bad != nil:
		return *bad
	case p.URI == nil:
		return refusal(codeMalformed, "the URI is missing")
	case p.NumberOr(wire.ParamPersistency, persistent) == onDemand:
		return refusal(codeUnacceptable, "a face that is dialled doesn't end on its own: make it persistent or permanent")
	case wantsLocalFields(p):
		return refusal(codeUnacceptable, "local fields are not available")
	}
	face, r := n.manage.cfg.Create(string(p.URI), string(p.LocalURI), p.NumberOr(wire.ParamMTU, 0))
	if face != 0 {
		r.Body, r.HasBody = n.describeFace(face, false), true
	}
	return r
}

// describeFace is the body of an answer about a face.
func (n *Node) describeFace(face machine.FaceID, ends bool) (body wire.ControlParameters) {
	remote, local := n.faceURIs(face, ends)
	body.URI, body.LocalURI = []byte(remote), []byte(local)
	body.SetNumber(wire.ParamFaceID, uint64(face))
	body.SetNumber(wire.ParamFlags, 0)
	body.SetNumber(wire.ParamPersistency, persistent)
	if ends {
		body.SetNumber(wire.ParamPersistency, onDemand)
	}
	return body
}

// updateFace grants what is so already (FaceMgmt, "Update a face"): nothing about a face can be changed. Without a face it means the
// one that the command came by.
func (n *Node) updateFace(from machine.FaceID, p *wire.ControlParameters) wire.ControlResponse {
	if bad := checkFace(p); bad != nil {
		return *bad
	}
	id := p.NumberOr(wire.ParamFaceID, 0)
	if id == 0 {
		id = uint64(from)
	}
	face := machine.FaceID(id)
	up, local := n.fw.Face(face)
	if uint64(face) != id || !up {
		return refusal(codeUnknown, "there is no such face")
	}
	ends := local || n.onDemand[face]
	var wrong wire.ControlParameters
	failed := false
	if v, ok := p.Number(wire.ParamPersistency); ok && (v == onDemand) != ends {
		wrong.SetNumber(wire.ParamPersistency, v)
		failed = true
	}
	if v, ok := p.Number(wire.ParamMTU); ok {
		wrong.SetNumber(wire.ParamMTU, v)
		failed = true
	}
	if wantsLocalFields(p) {
		wrong.SetNumber(wire.ParamFlags, flagLocalFields)
		wrong.SetNumber(wire.ParamMask, flagLocalFields)
		failed = true
	}
	if failed {
		return wire.ControlResponse{Code: codeConflict, Text: "these properties of the face can't be changed", Body: wrong, HasBody: true}
	}
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: n.describeFace(face, ends), HasBody: true}
}

// destroyFace ends a face and its routes (FaceMgmt, "Destroy a face"); that there is none is no error.
func (n *Node) destroyFace(p *wire.ControlParameters) wire.ControlResponse {
	id := p.NumberOr(wire.ParamFaceID, 0)
	face := machine.FaceID(id)
	switch {
	case id == 0:
		return refusal(codeMalformed, "the face is missing")
	case uint64(face) == id && face >= localBase:
		return refusal(codeConflict, "this face is a part of the node")
	case uint64(face) == id:
		if up, _ := n.fw.Face(face); up {
			n.onDemand[face] = true // once down it will not come back
		}
		n.manage.cfg.Destroy(face)
	}
	var body wire.ControlParameters
	body.SetNumber(wire.ParamFaceID, id)
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: body, HasBody: true}
}
