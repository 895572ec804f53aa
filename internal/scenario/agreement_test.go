package scenario

import (
	"strings"
	"testing"
)

// row finds a metric of the first point's first system.
func row(t *testing.T, a *Agreement, metric string) AgreementRow {
	t.Helper()
	for _, r := range a.Points[0].Rows {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("no %s", metric)
	return AgreementRow{}
}

// TestAgree: limits are those of the kind of system, and relative but for Jain's index.
func TestAgree(t *testing.T) {
	lab, simulator := resultOf("v", 1, 10, 10, 10), resultOf("v", 1, 12, 11.7, 11.8)
	lab.Manifest.Dilation = 4
	for _, c := range []struct {
		system, t95, jain, resent string
		flows                     int
	}{
		{"MARS-paper", differs, "", "", 1}, // 18% above 15%
		{"MPTCP-Oracle", agrees, "", "", 1},
		{"TCP:bbr", agrees, "", agrees, 1},
		{"TCP:bbr", agrees, "", "", 2},
	} {
		for _, r := range []*Result{lab, simulator} {
			r.Points[0].Systems[0].Name = c.system
			r.Points[0].Systems[0].Summary.RetransmitRatio = Estimate{0.02, [2]float64{0.02, 0.02}}
			for i := range r.Points[0].Systems[0].Runs {
				r.Points[0].Systems[0].Runs[i].Flows = make([]FlowResult, c.flows)
			}
		}
		a, err := Agree(lab, simulator)
		if err != nil {
			t.Fatal(err)
		}
		m, resent := row(t, a, "max_t95_s"), row(t, a, "retransmit_ratio")
		if m.Verdict != c.t95 || m.Difference < 0.179 || m.Difference > 0.181 || resent.Verdict != c.resent || a.Dilation != 4 || m.Seeds != 3 {
			t.Errorf("%s, %d flows: %+v, %+v, dilation %g", c.system, c.flows, m, resent, a.Dilation)
		}
	}
}

// TestAgreeTable: the table has differences in percent, or as they are, and the schema holds.
func TestAgreeTable(t *testing.T) {
	lab, simulator := resultOf("v", 1, 10, 10, 10), resultOf("v", 1, 11, 11, 11)
	lab.Manifest.Invalid = []string{"the machine was busy"}
	for i, r := range []*Result{lab, simulator} {
		j := 0.99 - float64(i)*0.02
		r.Points[0].Systems[0].Summary.Jain = Estimate{j, [2]float64{j, j}}
		r.Points[0].Systems[0].Summary.DiscoveryMS = Estimate{float64(i) - 1, [2]float64{float64(i) - 1, float64(i) - 1}}
	}
	a, err := Agree(lab, simulator)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := a.Table(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loss = 0.01", "+10.0%", "15.0%", "agrees", "Δ -0.02000", "Δ 0.01000", "differs", "the machine was busy", "unknown"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if err := compile(t, "../../docs/agreement.schema.json").Validate(instance(t, a)); err != nil {
		t.Error(err)
	}
	simulator.Points[0].Params["loss"] = 0
	if _, err := Agree(lab, simulator); err == nil {
		t.Error("nothing is in common")
	}
}
