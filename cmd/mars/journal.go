package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mars/internal/scenario"
)

// journalFile keeps the runs of a study that hasn't ended, in the directory of its result.
const journalFile = "runs.ndjson"

// runJournal is the runs that a study has made: a line of what they are runs of, then a line per run.
type runJournal struct {
	path string
	file *os.File
	made map[string]scenario.Run
}

type journalHead struct {
	Scenario string `json:"scenario_hash"`
	Version  string `json:"version"`
	Options  string `json:"options"` // that a run's outcome depends on
}

type journalLine struct {
	Key string       `json:"key"`
	Run scenario.Run `json:"run"`
}

// openJournal reads the runs that an interrupted study of the same left, and goes on with them; what is of another study, or cut off, is
// dropped.
func openJournal(dir string, head journalHead) (*runJournal, error) {
	j := &runJournal{path: filepath.Join(dir, journalFile), made: map[string]scenario.Run{}}
	j.read(head)
	f, err := os.Create(j.path)
	if err != nil {
		return nil, err
	}
	j.file = f
	if err := json.NewEncoder(f).Encode(head); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(j.made)) {
		if err := j.add(key, j.made[key]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (j *runJournal) read(want journalHead) {
	f, err := os.Open(j.path)
	if err != nil {
		return // none
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	var head journalHead
	if d.Decode(&head) != nil || head != want {
		return
	}
	for {
		var l journalLine
		if err := d.Decode(&l); err != nil { // the end, or where it was cut off
			return
		}
		j.made[l.Key] = l.Run
	}
}

func (j *runJournal) add(key string, r scenario.Run) error {
	return json.NewEncoder(j.file).Encode(journalLine{key, r})
}

// close ends the journal; whole: the result has all that it has.
func (j *runJournal) close(whole bool) error {
	err := j.file.Close()
	if whole {
		err = errors.Join(err, os.Remove(j.path))
	}
	return err
}

// runKey tells runs apart.
func runKey(params map[string]float64, system string, seed uint64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		fmt.Fprintf(&b, "%s=%v ", name, params[name])
	}
	fmt.Fprintf(&b, "%s %d", system, seed)
	return b.String()
}
