package cc

// groups partitions subflows: union-find over pairs, so that bottlenecks that share nothing stay apart. Labels are the least member.
type groups []int

// reset puts everyone alone.
func (g groups) reset() {
	for i := range g {
		g[i] = i
	}
}

// join unites the groups of a and b.
func (g groups) join(a, b int) {
	from, to := g[a], g[b]
	if from < to {
		from, to = to, from
	}
	for i := range g {
		if g[i] == from {
			g[i] = to
		}
	}
}
