package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"mars"
	"mars/internal/scenario"
)

// resultFile is the name of a result in its directory.
const resultFile = "result.json"

// listOfNumbers is an indented JSON array that holds numbers alone.
var listOfNumbers = regexp.MustCompile(`\[[-+.0-9eE,\s]+\]`)

// writeResult writes a result where people can read it and programs too: indented, but a series of numbers in one line.
func writeResult(path string, r *scenario.Result) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	text = listOfNumbers.ReplaceAllFunc(text, func(list []byte) []byte {
		return bytes.ReplaceAll(bytes.Join(bytes.Fields(list), nil), []byte(","), []byte(", "))
	})
	if err := os.WriteFile(path, append(text, '\n'), 0o666); err != nil {
		return &mars.Error{Op: "write the result", Err: err, Next: "choose a directory with room that you may write to"}
	}
	return nil
}

// readResults reads a result, or those of a directory: its own result.json, else those of the directories in it.
func readResults(path string) ([]*scenario.Result, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &misuse{path + ": there is no such file or directory", "make a result with `mars sim run FILE -o DIR`"}
	case err != nil:
		return nil, &mars.Error{Op: "read " + path, Err: err, Next: "it must be a result.json or the directory of one"}
	case !info.IsDir():
		r, err := readResult(path)
		return []*scenario.Result{r}, err
	}
	files := []string{filepath.Join(path, resultFile)}
	if _, err := os.Stat(files[0]); err != nil {
		if files, err = filepath.Glob(filepath.Join(path, "*", resultFile)); err != nil || len(files) == 0 {
			return nil, &misuse{path + ": there is no " + resultFile + " in it, nor in a directory in it", "make one with `mars sim run FILE -o DIR`"}
		}
		slices.Sort(files)
	}
	var all []*scenario.Result
	for _, f := range files {
		r, err := readResult(f)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func readResult(path string) (*scenario.Result, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &misuse{path + ": there is no such file", "make a result with `mars sim run FILE -o DIR`"}
	}
	if err != nil {
		return nil, &mars.Error{Op: "read the result", Err: err, Next: "it must be a result.json that you may read"}
	}
	var r scenario.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, &misuse{fmt.Sprintf("%s isn't a result: %v", path, err), "give a result.json, as `mars sim run FILE -o DIR` writes it (docs/result.schema.json)"}
	}
	if r.SchemaVersion != scenario.SchemaVersion {
		return nil, &misuse{
			fmt.Sprintf("%s has schema version %d; this program reads %d", path, r.SchemaVersion, scenario.SchemaVersion),
			"it may be no result, or of another version of mars: run the scenario again",
		}
	}
	if err := r.Check(); err != nil {
		return nil, &misuse{fmt.Sprintf("%s: %v", path, err), "run the scenario again: mars sim run FILE -o DIR"}
	}
	return &r, nil
}
