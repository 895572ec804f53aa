package report

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"

	"mars/internal/scenario"
)

// CSV writes every metric of every run as one row: scenario, point, system, seed, metric, value. A value that isn't known is
// empty.
func CSV(w io.Writer, results []*scenario.Result) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"scenario", "parameters", "system", "seed", "metric", "value"}); err != nil {
		return err
	}
	for _, r := range results {
		for i := range r.Points {
			params := paramsCSV(&r.Points[i])
			for _, s := range r.Points[i].Systems {
				for _, run := range s.Runs {
					for _, m := range scenario.Metrics() {
						row := []string{r.Scenario, params, s.Name, strconv.FormatUint(run.Seed, 10), m.Name, ""}
						if v := run.Values[m.Name]; v != -1 {
							row[5] = strconv.FormatFloat(v, 'g', -1, 64)
						}
						if err := c.Write(row); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// Medians writes one row per system at a point: how many seeds and unfinished flows, and the median of every metric.
func Medians(w io.Writer, results []*scenario.Result) error {
	c := csv.NewWriter(w)
	head := []string{"scenario", "parameters", "system", "seeds", "unfinished"}
	for _, m := range scenario.Metrics() {
		head = append(head, m.Name)
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, r := range results {
		for i := range r.Points {
			for _, s := range r.Points[i].Systems {
				row := []string{r.Scenario, paramsCSV(&r.Points[i]), s.Name, strconv.Itoa(len(s.Runs)), strconv.Itoa(s.Summary.Unfinished)}
				for _, m := range scenario.Metrics() {
					text := ""
					if v := s.Summary.Metric(m.Name).Median; v != -1 {
						text = strconv.FormatFloat(v, 'g', 6, 64)
					}
					row = append(row, text)
				}
				if err := c.Write(row); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// paramsCSV writes the parameters of a point so that programs can split them: loss=0.01;size=1000.
func paramsCSV(p *scenario.Point) (text string) {
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		if text != "" {
			text += ";"
		}
		text += name + "=" + strconv.FormatFloat(p.Params[name], 'g', -1, 64)
	}
	return text
}
