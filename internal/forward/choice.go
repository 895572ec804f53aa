package forward

import (
	"maps"
	"slices"

	"mars/internal/wire"
)

// choices are the strategies that were chosen for prefixes; the longest that a name begins with counts (NFD wiki,
// StrategyChoice). Without one it is the node's.
type choices struct {
	byName  map[string]Strategy
	deepest int // components of the longest prefix
}

// Choice is a prefix with the strategy for the names below it that no longer prefix has one for.
type Choice struct {
	Prefix   wire.Name
	Strategy Strategy
}

// Choose sets the strategy for a prefix, Mars or BestRoute; for the empty one it is the node's. What is under way goes on as it
// began.
func (fw *Forwarder) Choose(prefix wire.Name, s Strategy) {
	c := &fw.flows.choices
	if c.byName == nil {
		c.byName = make(map[string]Strategy)
	}
	c.byName[string(prefix)] = s
	c.deepest = max(c.deepest, prefix.Len())
}

// Unchoose leaves a prefix to the strategy of shorter ones, if there was a choice.
func (fw *Forwarder) Unchoose(prefix wire.Name) { delete(fw.flows.choices.byName, string(prefix)) }

// Choices appends the choices to dst in canonical order. The first is that of the empty prefix, which there always is.
func (fw *Forwarder) Choices(dst []Choice) []Choice {
	c := fw.flows.choices.byName
	if _, ok := c[""]; !ok {
		dst = append(dst, Choice{Strategy: fw.cfg.Strategy})
	}
	for _, prefix := range slices.Sorted(maps.Keys(c)) {
		dst = append(dst, Choice{wire.Name(prefix), c[prefix]})
	}
	return dst
}

// strategyOf is the strategy for a name.
func (s *flows) strategyOf(name wire.Name) Strategy {
	if len(s.choices.byName) == 0 {
		return s.cfg.Strategy
	}
	for k := min(name.Len(), s.choices.deepest); k >= 0; k-- {
		if chosen, ok := s.choices.byName[string(name.Prefix(k))]; ok {
			return chosen
		}
	}
	return s.cfg.Strategy
}
