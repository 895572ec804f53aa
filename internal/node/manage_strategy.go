package node

import (
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// maxChoices bounds the prefixes that have a strategy of their own.
	maxChoices = 4096
	// maxDepth is how many components such a prefix may have, as in NFD.
	maxDepth = 32
)

// The strategies that may be chosen for a prefix. Ordinary NDN names go by best-route under both.
var (
	bestRouteName = wire.MustParseName("/localhost/nfd/strategy/best-route/v=5")
	marsName      = wire.MustParseName("/localhost/nfd/strategy/mars/v=1")
)

func strategyName(s forward.Strategy) wire.Name {
	if s == forward.Mars {
		return marsName
	}
	return bestRouteName
}

// strategyCalled finds a strategy by its name, with or without the version.
func strategyCalled(name wire.Name) (forward.Strategy, bool) {
	for _, s := range []forward.Strategy{forward.Mars, forward.BestRoute} {
		if full := strategyName(s); name.Equal(full) || name.Equal(full.Prefix(full.Len()-1)) {
			return s, true
		}
	}
	return 0, false
}

// setStrategy chooses the strategy for a prefix (NFD wiki, StrategyChoice: "Set the strategy for a namespace").
func (n *Node) setStrategy(p *wire.ControlParameters) wire.ControlResponse {
	if !p.HasName || !p.HasStrategy {
		return refusal(codeMalformed, "the name or the strategy is missing")
	}
	s, known := strategyCalled(p.Strategy)
	switch choices := n.fw.Choices(nil); {
	case p.Name.Len() > maxDepth || len(p.Name) > maxPrefix:
		return refusal(codeTooLong, "the prefix is too long")
	case !known:
		return refusal(codeUnknown, "this node has the strategies "+marsName.String()+" and "+bestRouteName.String())
	case len(choices) >= maxChoices && !chosen(choices, p.Name):
		return refusal(codeFull, "there are too many choices of strategies")
	}
	n.fw.Choose(p.Name.Clone(), s)
	body := wire.ControlParameters{Name: p.Name, HasName: true, Strategy: strategyName(s), HasStrategy: true}
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: body, HasBody: true}
}

func chosen(choices []forward.Choice, prefix wire.Name) bool {
	for _, c := range choices {
		if c.Prefix.Equal(prefix) {
			return true
		}
	}
	return false
}

// unsetStrategy ends a choice; that there was none is no error. The one for everything can only be set anew.
func (n *Node) unsetStrategy(p *wire.ControlParameters) wire.ControlResponse {
	if !p.HasName || len(p.Name) == 0 {
		return refusal(codeMalformed, "the name is missing, or is that of everything: set another strategy for that")
	}
	n.fw.Unchoose(p.Name)
	return wire.ControlResponse{Code: codeOK, Text: "OK", Body: wire.ControlParameters{Name: p.Name, HasName: true}, HasBody: true}
}

// listStrategies tells the strategy of each prefix that has one.
func (n *Node) listStrategies(machine.Time) (all [][]byte) {
	for _, c := range n.fw.Choices(nil) {
		all = append(all, wire.AppendStrategyChoice(nil, c.Prefix, strategyName(c.Strategy)))
	}
	return all
}
