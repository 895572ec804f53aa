package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"mars/internal/machine"
)

var update = flag.Bool("update", false, "write the golden hashes anew")

// TestGolden: every system gives the same bits on every machine. The hashes are of all packets that arrived anywhere, with time,
// link, size and mark. A change of the protocol changes them: look at what changed, then run with -update.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, name := range Systems() {
		for _, loss := range []float64{0, 0.01} {
			r, err := Run(emulation(loss, 400_000), name, 7, Options{Series: machine.Second / 10})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s loss=%v events=%d hash=%s\n", name, loss, r.Events, r.TraceHash)
		}
	}
	const file = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}
