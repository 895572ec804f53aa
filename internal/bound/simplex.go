package bound

// program is a linear program: maximise one column after another (lexicographically), all columns ≥ 0, with rows ≤ limits
// that are all ≥ 0. It is a dense tableau that begins at the slack basis. A library's solver was not enough: the programs
// need dual values, further columns without a new start, and to stand degenerate rows, of which max-flow has many; gonum's
// solver checks this one in the tests.
type program struct {
	rows  [][]float64 // by constraint; the columns in the current basis
	limit []float64   // the values of the basic columns
	basic []int       // the column that is basic in each row
	cost  []float64   // reduced costs of the current goal: > 0 means that raising the column lowers the goal
	value float64     // of the current goal
	shut  []bool      // columns that earlier goals hold at zero
	slack int         // the first slack column
}

// epsilon tells values that differ by rounding alone. Coefficients are near 1; capacities are Mbit/s.
const epsilon = 1e-9

// newProgram begins with columns, given as coefficients by row, and the limits of the rows.
func newProgram(columns [][]float64, limit []float64) *program {
	m, n := len(limit), len(columns)
	p := &program{limit: append([]float64(nil), limit...), shut: make([]bool, n+m), slack: n}
	for i := range m {
		row := make([]float64, n+m)
		for j, c := range columns {
			row[j] = c[i]
		}
		row[n+i] = 1
		p.rows = append(p.rows, row)
		p.basic = append(p.basic, n+i)
	}
	return p
}

// add appends a column with weight by row of the first constraints, and returns its index. Column by column it is what the
// slacks of those rows have become.
func (p *program) add(weight []float64) int {
	for i, row := range p.rows {
		sum := 0.0
		for r, w := range weight {
			if w != 0 {
				sum += float64(w * row[p.slack+r])
			}
		}
		p.rows[i] = append(row, sum)
	}
	p.shut = append(p.shut, false)
	return len(p.shut) - 1
}

// maximise makes column goal, which has just been added, as large as it can be without lowering the goals before, returns its value, and keeps it there.
// pull has the dual value of each row: how much the goal gains per unit of its limit.
func (p *program) maximise(goal int) (value float64, pull []float64) {
	p.cost = make([]float64, len(p.shut))
	p.cost[goal] = -1
	p.value = 0
	// Dantzig's rule is fast, and may go around in circles where rows are degenerate; Bland's never does.
	for stuck := 0; ; {
		j := p.entering(stuck > 2*len(p.rows))
		if j < 0 {
			break
		}
		i := p.leaving(j)
		if i < 0 {
			break // not bounded: no program here is
		}
		before := p.value
		p.pivot(i, j)
		if p.value > before+epsilon {
			stuck = 0
		} else {
			stuck++
		}
	}
	for r := range p.rows {
		pull = append(pull, p.cost[p.slack+r])
	}
	for j, c := range p.cost {
		if c > epsilon {
			p.shut[j] = true
		}
	}
	return p.value, pull
}

// entering returns the column to raise; −1 at the optimum.
func (p *program) entering(bland bool) int {
	best, gain := -1, epsilon
	for j, c := range p.cost {
		if -c > gain && !p.shut[j] {
			if bland {
				return j
			}
			best, gain = j, -c
		}
	}
	return best
}

// leaving returns the row that limits column j most; ties go to the row with the lowest basic column.
func (p *program) leaving(j int) int {
	best, least := -1, 0.0
	for i, row := range p.rows {
		if row[j] <= epsilon {
			continue
		}
		ratio := p.limit[i] / row[j]
		if best < 0 || ratio < least-epsilon || ratio < least+epsilon && p.basic[i] < p.basic[best] {
			best, least = i, ratio
		}
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
			for c, x := range row {
				if x != 0 {
					other[c] -= float64(g * x)
				}
			}
			p.limit[k] = max(0, p.limit[k]-float64(g*p.limit[i]))
		}
	}
	p.basic[i] = j
	p.reduce(i, p.cost[j])
}

// reduce takes f times row i off the costs.
func (p *program) reduce(i int, f float64) {
	for c, x := range p.rows[i] {
		if x != 0 {
			p.cost[c] -= float64(f * x)
		}
	}
	p.value -= float64(f * p.limit[i])
}
