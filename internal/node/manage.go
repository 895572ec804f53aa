package node

import (
	"crypto/sha256"
	"encoding/binary"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// Management is the part of NFD's management protocol that producers and consumers written for other forwarders need (NFD
// wiki: Management Protocol): they register their prefixes, and tools list faces and routes. Only applications here are
// heard, and they are trusted: who may open the node's socket may command it. So commands must be signed in form, with
// the digest of their parameters right, but by no particular key.
type management struct {
	cfg      ManageConfig
	commands []forward.Command
	interest wire.Interest
	sets     datasets
}

// ManageConfig is what the node can't know by itself. All may be left out.
type ManageConfig struct {
	Version string                                           // and name of the program
	Start   uint64                                           // ms since 1970 at Time 0
	URIs    func(face machine.FaceID) (remote, local string) // of a face, as NDN software writes them; "": not known
	Signers func() [][]byte                                  // keys that answer SignersName
	Status  func(now machine.Time) []byte                    // what answers StatusName
	Dialer
}

// Dialer makes and ends the faces of a node. Without one management has no commands for them.
type Dialer struct {
	// Create dials a neighbour. mtu 0: the usual one. The answer is that to faces/create but for its body; face is the new one, or the
	// one that is there already, or 0.
	Create func(remote, local string, mtu uint64) (face machine.FaceID, answer wire.ControlResponse)
	// Destroy ends a face, if it is there; FaceDown follows.
	Destroy func(machine.FaceID)
}

// Manage sets what management tells about the node.
func (n *Node) Manage(cfg ManageConfig) { n.manage.cfg = cfg }

// Status codes of management responses.
const (
	codeOK           = 200
	codeMalformed    = 400
	codeUnsigned     = 403
	codeUnknown      = 404 // what a command is about isn't there
	codeUnacceptable = 406
	codeConflict     = 409
	codeNoFace       = 410
	codeTooLong      = 414
	codeUnsupported  = 501
	codeFull         = 503
)

// maxPrefix bounds registered prefixes, bytes: a response repeats the prefix twice and must fit into a packet.
const maxPrefix = 2048

var managementName = wire.MustParseName("/localhost/nfd")

// command answers the management Interests that came; it tells whether there were any.
func (n *Node) command(now machine.Time) bool {
	m := &n.manage
	m.commands = n.fw.TakeCommands(m.commands[:0])
	for _, c := range m.commands {
		if m.interest.Decode(c.Interest) == nil {
			n.answer(now, c, &m.interest)
		}
	}
	return len(m.commands) > 0
}

// answer answers /localhost/nfd/<module>/<verb>/… and /localhost/mars/{source,profile,signers,status}.
func (n *Node) answer(now machine.Time, c forward.Command, i *wire.Interest) {
	switch {
	case i.Name.HasPrefix(SourceName):
		n.publish(now, c, i, i.Name[len(SourceName):], n.source)
		return
	case i.Name.HasPrefix(ProfileName):
		n.publish(now, c, i, i.Name[len(ProfileName):], func(machine.Time) [][]byte { return [][]byte{[]byte(n.profile)} })
		return
	case i.Name.HasPrefix(SignersName) && n.manage.cfg.Signers != nil:
		n.publish(now, c, i, i.Name[len(SignersName):], func(machine.Time) [][]byte { return n.manage.cfg.Signers() })
		return
	case i.Name.HasPrefix(StatusName) && n.manage.cfg.Status != nil:
		n.publish(now, c, i, i.Name[len(StatusName):], func(now machine.Time) [][]byte { return [][]byte{n.manage.cfg.Status(now)} })
		return
	case !i.Name.HasPrefix(managementName):
		n.fw.Refuse(c, wire.NackNoRoute)
		return
	}
	rest := i.Name[len(managementName):]
	module, rest, ok1 := rest.Next()
	verb, rest, ok2 := rest.Next()
	if !ok1 || !ok2 || module.Type != wire.TypeGeneric || verb.Type != wire.TypeGeneric {
		n.fw.Refuse(c, wire.NackNoRoute)
		return
	}
	what := string(module.Value) + "/" + string(verb.Value)
	if list := n.lister(what); list != nil {
		n.publish(now, c, i, rest, list)
		return
	}
	params, rest, ok := rest.Next()
	if !ok || params.Type != wire.TypeGeneric { // no command, and no dataset of ours
		n.fw.Refuse(c, wire.NackNoRoute)
		return
	}
	if what == "faces/query" {
		var wanted wire.FaceFilter
		if wanted.Decode(params.Value) != nil {
			n.fw.Refuse(c, wire.NackNoRoute)
			return
		}
		n.publish(now, c, i, rest, func(machine.Time) [][]byte { return n.listFaces(&wanted) })
		return
	}
	r := n.execute(now, c.Face, what, params.Value, i, rest)
	d := wire.Data{Name: i.Name, Content: r.Append(nil)}
	if sign(&d); d.Len() <= wire.MaxPacket {
		n.fw.Answer(now, c, d.Append(nil))
	}
}

// publish answers with a dataset.
func (n *Node) publish(now machine.Time, c forward.Command, i *wire.Interest, rest wire.Name, list func(machine.Time) [][]byte) {
	data := n.manage.sets.answer(now, i, rest, func() [][]byte { return list(now) })
	if data == nil {
		n.fw.Refuse(c, wire.NackNoRoute)
		return
	}
	n.fw.Answer(now, c, data)
}

// SourceName is the question of an application for the source component of its flows' names (protocol.md §2): flows of one node
// share what its forwarder finds out. The answer is SourceLen bytes.
var SourceName = wire.MustParseName("/localhost/mars/source")

// ProfileName is the question of an application for what sets the pace of its flows. The answer is one of the two below.
var ProfileName = wire.MustParseName("/localhost/mars/profile")

// Who sets the pace of flows at a node.
const (
	PaceWindows  = "mars"  // the node's windows: an application keeps Interests waiting, and no more
	PaceConsumer = "paper" // whoever asks, by Algorithm 1
)

// SignersName is the question of an application for the keys of the nodes that its host's node dials, and of that node: who may sign
// what is fetched unless the application is told otherwise. The answer is the keys one behind the other, KeyLen bytes each.
var SignersName = wire.MustParseName("/localhost/mars/signers")

// StatusName is the question for all that the node tells about itself; the answer is a dataset, JSON of internal/status.
var StatusName = wire.MustParseName("/localhost/mars/status")

// SourceLen is the length of a node's source component, bytes.
const SourceLen = 8

func (n *Node) source(machine.Time) [][]byte {
	return [][]byte{binary.BigEndian.AppendUint64(nil, n.id)}
}

// sign signs a Data packet with its digest.
func sign(d *wire.Data) {
	d.SignatureType = wire.SignatureSHA256
	sum := sha256.Sum256(d.AppendSigned(nil))
	d.SignatureValue = sum[:]
}

func refusal(code uint64, text string) wire.ControlResponse {
	return wire.ControlResponse{Code: code, Text: text}
}

// execute carries out a command from the application on face. digest is what follows the parameters in the name.
func (n *Node) execute(now machine.Time, face machine.FaceID, what string, params []byte, i *wire.Interest, digest wire.Name) wire.ControlResponse {
	var p wire.ControlParameters
	last, rest, _ := digest.Next()
	switch {
	case last.Type != wire.TypeParamsDigest || len(rest) > 0 || i.SignatureInfo == nil || i.SignatureValue == nil:
		return refusal(codeUnsigned, "a command is a signed Interest (NDN packet specification 0.3)")
	case !i.CheckParameters():
		return refusal(codeUnsigned, "the digest in the name is not that of the parameters")
	}
	if err := p.Decode(params); err != nil {
		return refusal(codeMalformed, "malformed parameters: "+err.Error())
	}
	switch dials := n.manage.cfg.Create != nil; {
	case what == "rib/register":
		return n.register(now, face, &p)
	case what == "rib/unregister":
		return n.unregister(now, face, &p)
	case what == "strategy-choice/set":
		return n.setStrategy(&p)
	case what == "strategy-choice/unset":
		return n.unsetStrategy(&p)
	case what == "faces/create" && dials:
		return n.createFace(&p)
	case what == "faces/update" && dials:
		return n.updateFace(face, &p)
	case what == "faces/destroy" && dials:
		return n.destroyFace(&p)
	}
	return refusal(codeUnsupported, "this node has no command "+what)
}

// target is the face that a command means, without one the one that it came by, and the origin of its route.
func (n *Node) target(from machine.FaceID, p *wire.ControlParameters) (face machine.FaceID, origin uint64, bad *wire.ControlResponse) {
	id := p.NumberOr(wire.ParamFaceID, 0)
	if id == 0 {
		id = uint64(from)
	}
	face, origin = machine.FaceID(id), p.NumberOr(wire.ParamOrigin, wire.OriginApp)
	up, _ := n.fw.Face(face)
	switch {
	case !p.HasName:
		bad = &wire.ControlResponse{Code: codeMalformed, Text: "the name is missing"}
	case len(p.Name) > maxPrefix:
		bad = &wire.ControlResponse{Code: codeTooLong, Text: "the name is too long"}
	case uint64(face) != id || !up:
		bad = &wire.ControlResponse{Code: codeNoFace, Text: "there is no such face"}
	}
	return face, origin, bad
}

// maxCost bounds the cost of a route: it counts as routed hops.
const maxCost = 1<<16 - 2

// maxExpiration bounds the life of a route that has an end, ms: 30 days.
const maxExpiration = 30 * 24 * 3600 * 1000

// register adds a route (RibMgmt, "Register a route").
func (n *Node) register(now machine.Time, from machine.FaceID, p *wire.ControlParameters) wire.ControlResponse {
	face, origin, bad := n.target(from, p)
	if bad != nil {
		return *bad
	}
	if n.rib.n >= maxRoutes && !n.rib.has(p.Name, face, origin) {
		return refusal(codeFull, "there are too many routes")
	}
	r := ribRoute{
		face: face, origin: origin, cost: int(min(p.NumberOr(wire.ParamCost, 0), maxCost)),
		flags: p.NumberOr(wire.ParamFlags, wire.FlagChildInherit), expires: machine.Never,
	}
	body := wire.ControlParameters{Name: p.Name, HasName: true}
	body.SetNumber(wire.ParamFaceID, uint64(face))
	body.SetNumber(wire.ParamOrigin, origin)
	body.SetNumber(wire.ParamCost, uint64(r.cost))
	body.SetNumber(wire.ParamFlags, r.flags)
	if ms, ok := p.Number(wire.ParamExpiration); ok {
		ms = min(ms, maxExpiration)
		r.expires = now + machine.Time(ms)*machine.Millisecond
		body.SetNumber(wire.ParamExpiration, ms)
	}
	n.setRoute(now, p.Name.Clone(), r)
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: body, HasBody: true}
}

// unregister removes a route; that there was none is no error (RibMgmt, "Unregister a route").
func (n *Node) unregister(now machine.Time, from machine.FaceID, p *wire.ControlParameters) wire.ControlResponse {
	face, origin, bad := n.target(from, p)
	if bad != nil {
		return *bad
	}
	n.unsetRoute(now, p.Name, face, origin)
	body := wire.ControlParameters{Name: p.Name, HasName: true}
	body.SetNumber(wire.ParamFaceID, uint64(face))
	body.SetNumber(wire.ParamOrigin, origin)
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: body, HasBody: true}
}
