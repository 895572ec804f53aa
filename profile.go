package mars

import (
	"net/netip"

	"mars/internal/forward"
	"mars/internal/node"
)

// profile is how the node's forwarder paces, schedules and finds losses.
func (c *Config) profile() forward.Profile {
	if c.Node.Profile == ProfileMARS {
		return forward.ProfileMARS
	}
	return forward.ProfilePaper
}

// backpressure tells whether the windows of the node that flows leave by set their pace: of this one, or of that of this host.
func (c *Config) backpressure() bool {
	if c.Attach != "" {
		pace, err := askHome(c.Attach, node.ProfileName)
		return err == nil && string(pace) == node.PaceWindows // an older node doesn't know the question
	}
	return c.profile() == forward.ProfileMARS && c.Node.Strategy != StrategyBestRoute
}

// uplinks numbers what faces leave by. Two faces share one, and so a window, if the same local address or interface was named for
// them. Of faces for which none was named nothing is known: ways that part at this host are common, so each counts for itself.
type uplinks map[string]int

// number is machine.Face.Uplink of a face.
func (u *uplinks) number(local FaceLocal) int {
	local.Addr = netip.AddrPortFrom(local.Addr.Addr(), 0)
	if local.Interface == "" && !local.Addr.Addr().IsValid() {
		return 0
	}
	if *u == nil {
		*u = make(uplinks)
	}
	key := local.String()
	if _, known := (*u)[key]; !known {
		(*u)[key] = len(*u) + 1
	}
	return (*u)[key]
}
