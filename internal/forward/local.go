package forward

import (
	"maps"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Names below localhostName never leave the node, and are refused from other nodes (NFD, "scope"). Those below
// managementName and nodeName are answered by whoever composes the node.
var (
	localhostName  = wire.MustParseName("/localhost")
	managementName = wire.MustParseName("/localhost/nfd")
	nodeName       = wire.MustParseName("/localhost/mars")
)

// Command is an Interest below /localhost/nfd or /localhost/mars from an application. It is answered with Answer or Refuse, or not at all.
type Command struct {
	Face     machine.FaceID
	PitToken []byte
	Interest []byte // as it came; it decodes
}

// localhost deals with an Interest that must not be forwarded; false: it may.
func (fw *Forwarder) localhost(fc *face, hdr *wire.Packet, i *wire.Interest) bool {
	switch {
	case !i.Name.HasPrefix(localhostName):
		return false
	case !fc.link.Local:
		fw.dropped[DropScope]++
		fc.n.Drops++
		return true
	case fw.cfg.Application, !i.Name.HasPrefix(managementName) && !i.Name.HasPrefix(nodeName):
		return false
	}
	fc.n.InterestsIn++
	fw.commands = append(fw.commands, Command{fc.id, slices.Clone(hdr.PitToken), slices.Clone(i.Wire)})
	return true
}

// TakeCommands appends the management Interests that came since the last call to dst.
func (fw *Forwarder) TakeCommands(dst []Command) []Command {
	dst = append(dst, fw.commands...)
	clear(fw.commands)
	fw.commands = fw.commands[:0]
	return dst
}

// Answer sends a Data packet, encoded, to the application that c came from.
func (fw *Forwarder) Answer(now machine.Time, c Command, data []byte) {
	p := fw.bufs.packet(append(fw.bufs.get(), data...))
	p.tok, p.data, p.queued = makeToken(c.PitToken), true, now
	fw.enqueue(c.Face, p)
}

// Refuse answers with a Nack.
func (fw *Forwarder) Refuse(c Command, reason wire.NackReason) {
	fw.flows.nack(c.Face, makeToken(c.PitToken), c.Interest, reason)
	fw.settleOut()
}

// speaksMARS tells whether a link packet carries one of our header fields.
func speaksMARS(p *wire.Packet) bool {
	return p.HasFeedback || p.HasConvergence || p.HasLabel || p.HasPathTag || p.SizeHint != 0 || p.Bad
}

// suit makes a packet fit for a peer; false: the peer must not get it (ADR 0007). Strangers get neither our fields on Data
// nor, unless they are applications or send Nacks themselves, Nacks: ndnd takes one for a new Interest. Interests to other
// nodes, and to the own node, keep our fields: that is how two of ours know each other.
func (fc *face) suit(p *packet) bool {
	switch {
	case fc.mars:
	case p.hdr.Nack:
		return fc.nacks || fc.link.Local
	case p.data, fc.link.Local && !fc.link.Node:
		p.feedback = false
		h := &p.hdr
		h.HasFeedback, h.HasConvergence, h.HasLabel, h.HasPathTag, h.SizeHint, h.Bad = false, false, false, false, 0, false
	}
	return true
}

// Face tells whether a face is up, and whether it is an application's.
func (fw *Forwarder) Face(id machine.FaceID) (up, local bool) {
	fc := fw.faces.get(id)
	return fc != nil && fc.up, fc != nil && fc.link.Local
}

// Route is a prefix with its next hops.
type Route struct {
	Prefix wire.Name
	Hops   []NextHop // nearest first; not to be changed
}

// NextHops are the ways to a name, nearest first; they hold until the FIB changes.
func (fw *Forwarder) NextHops(name wire.Name) []NextHop { return fw.flows.fib.lookup(name) }

// Routes appends the FIB to dst, in canonical order.
func (fw *Forwarder) Routes(dst []Route) []Route {
	for _, prefix := range slices.Sorted(maps.Keys(fw.flows.fib.byName)) {
		dst = append(dst, Route{wire.Name(prefix), fw.flows.fib.byName[prefix]})
	}
	return dst
}
