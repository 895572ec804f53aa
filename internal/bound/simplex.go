package bound

import "slices"

// program is a linear program that grows: maximise one column after another, all columns ≥ 0, with rows ≤ limits that are all
// ≥ 0. It is a dense tableau that begins at the slack basis, where nothing flows. A library's solver was not enough: these
// programs need dual values and further columns without a new start, and degenerate rows, of which max-flow has many, must
// not stop them. Gonum's solver judges the results in the tests.
type program struct {
	rows   [][]float64 // by constraint; the columns in terms of the basis
	limit  []float64   // the values of the basic columns
	basic  []int       // the column that is basic in each row
	slack  []int       // the slack column of each row
	cost   []float64   // reduced costs of the goal: < 0 means that raising the column raises the goal
	value  float64     // of the goal
	pinned []bool      // columns that stay where they are
	work   *float64    // steps of pivots and searches, over all programs of a bound
}

// maxWork takes about ten seconds. Bounds that need more are not found.
const maxWork = 1e10

// epsilon tells values that differ by rounding alone. Coefficients are near 1; capacities are Mbit/s.
const epsilon = 1e-9

// entry is one coefficient of a column.
type entry struct {
	row    int
	weight float64
}

// row adds a constraint that no column has a part in yet, and returns its index.
func (p *program) row(limit float64) int {
	for i := range p.rows {
		p.rows[i] = append(p.rows[i], 0)
	}
	p.cost, p.pinned = append(p.cost, 0), append(p.pinned, false)
	own := len(p.cost) - 1
	row := make([]float64, len(p.cost), 2*len(p.cost))
	row[own] = 1
	p.rows, p.limit = append(p.rows, row), append(p.limit, limit)
	p.basic, p.slack = append(p.basic, own), append(p.slack, own)
	return len(p.rows) - 1
}

// column adds a column and returns its index. In terms of the basis it is the sum of what the slacks of its rows have become.
func (p *program) column(entries []entry) int {
	for i, row := range p.rows {
		p.rows[i] = append(row, p.combine(row, entries))
	}
	p.cost, p.pinned = append(p.cost, p.combine(p.cost, entries)), append(p.pinned, false)
	return len(p.cost) - 1
}

func (p *program) combine(row []float64, entries []entry) (sum float64) {
	for _, e := range entries {
		sum += float64(e.weight * row[p.slack[e.row]])
	}
	return sum
}

// dual is how much the goal gains per unit of a row's limit.
func (p *program) dual(row int) float64 { return p.cost[p.slack[row]] }

// maximise makes column goal, which has just been added, as large as it can be and pins it there. Whenever no column helps any
// more it asks price, which adds columns that do and reports whether there were any. false: rounding errors led
// astray, or it is too much work.
func (p *program) maximise(goal int, price func() bool) (float64, bool) {
	clear(p.cost)
	p.cost[goal], p.value = -1, 0
	// Dantzig's rule is fast, and may go around in circles where rows are degenerate; Bland's never does.
	for stuck := 0; ; {
		j := p.entering(stuck > 2*len(p.rows))
		if j < 0 {
			if !price() {
				break
			}
			continue
		}
		i := p.leaving(j)
		if i < 0 {
			return 0, false // not bounded: no program here is
		}
		before := p.value
		p.pivot(i, j)
		if p.value > before+epsilon {
			stuck = 0
		} else {
			stuck++
		}
		if *p.work += float64(len(p.rows) * len(p.cost)); *p.work > maxWork {
			return 0, false
		}
	}
	p.pin(goal)
	return p.value, true
}

// entering returns the column to raise; −1 at the optimum.
func (p *program) entering(bland bool) int {
	best, gain := -1, epsilon
	for j, c := range p.cost {
		if -c > gain && !p.pinned[j] {
			if bland {
				return j
			}
			best, gain = j, -c
		}
	}
	return best
}

// leaving returns the row that limits column j most; ties go to the row with the lowest basic column. A pinned column that j
// would move limits j to nothing, whichever way it would go.
func (p *program) leaving(j int) int {
	best, least := -1, 0.0
	tied, most := -1, epsilon
	for i, row := range p.rows {
		if p.pinned[p.basic[i]] && max(row[j], -row[j]) > most {
			tied, most = i, max(row[j], -row[j])
		}
		if tied >= 0 || row[j] <= epsilon {
			continue
		}
		ratio := p.limit[i] / row[j]
		if best < 0 || ratio < least-epsilon || ratio < least+epsilon && p.basic[i] < p.basic[best] {
			best, least = i, ratio
		}
	}
	if tied >= 0 {
		return tied
	}
	return best
}

func (p *program) pivot(i, j int) {
	row, f := p.rows[i], 1/p.rows[i][j]
	for k := range row {
		row[k] = float64(row[k] * f)
	}
	p.limit[i] = float64(p.limit[i] * f)
	for k, other := range p.rows {
		if g := other[j]; k != i && g != 0 {
			subtract(other, row, g)
			p.limit[k] = max(0, p.limit[k]-float64(g*p.limit[i]))
		}
	}
	g := p.cost[j]
	subtract(p.cost, row, g)
	p.value -= float64(g * p.limit[i])
	p.basic[i] = j
}

// subtract takes f times b off a.
func subtract(a, b []float64, f float64) {
	for k, x := range b {
		if x != 0 {
			a[k] -= float64(f * x)
		}
	}
}

// pin holds a column at its value from now on. In the basis its place is taken by what it has less than that value, which is
// nothing.
func (p *program) pin(j int) {
	p.pinned[j] = true
	i := slices.Index(p.basic, j)
	if i < 0 {
		return
	}
	for k := range p.rows[i] {
		p.rows[i][k] = -p.rows[i][k]
	}
	p.rows[i][j], p.limit[i] = 1, 0
}
