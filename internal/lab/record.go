package lab

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mars/internal/scenario"
)

// outcome is one run and what can't be said in it.
type outcome struct {
	Run  scenario.Run `json:"run"`
	CPU  float64      `json:"cpu_s"`      // processor seconds of all processes
	Into int64        `json:"into_bytes"` // IP bytes toward consumers on their own links
	From int64        `json:"from_bytes"` // and from them
	// Real times: what one packet in a thousand came late by at least, and what a thread waited for a processor on average.
	Late    time.Duration `json:"late_ns"`
	Wait    time.Duration `json:"wait_ns"`
	Held    []string      `json:"held,omitempty"` // what this machine was too slow for
	Tries   int           `json:"tries"`          // how often the run was made: this is the last time
	Invalid []string      `json:"invalid,omitempty"`
}

// records keep the outcomes of runs in a directory, so that a study that was interrupted goes on where it was. The zero value keeps
// nothing.
type records struct {
	dir  string
	hash string // of the scenario
}

// path is the file of a run. Whatever decides about its outcome decides about its name.
func (r records) path(params map[string]float64, dilation float64, system string, seed uint64) string {
	text, err := json.Marshal([]any{r.hash, params, dilation, system, seed}) // maps come sorted
	if err != nil {
		panic(err) // numbers and texts
	}
	sum := sha256.Sum256(text)
	return filepath.Join(r.dir, fmt.Sprintf("run-%x.json", sum[:12]))
}

// load reads the outcome of a run; false: it hasn't been run.
func (r records) load(path string) (o outcome, ok bool) {
	if r.dir == "" {
		return o, false
	}
	text, err := os.ReadFile(path)
	return o, err == nil && json.Unmarshal(text, &o) == nil
}

// save writes the outcome of a run, whole or not at all.
func (r records) save(path string, o outcome) error {
	if r.dir == "" {
		return nil
	}
	text, err := json.Marshal(o)
	if err == nil {
		err = os.MkdirAll(r.dir, 0o777)
	}
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o666)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}
