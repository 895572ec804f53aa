package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/report"
	"mars/internal/scenario"
)

// reportFlags are the flags of `mars report`.
type reportFlags struct {
	out     string
	svg     string
	png     string
	compare string
	medians bool
	quiet   bool
}

func reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report RESULT…",
		Short: "Make a page of text, pictures and tables from results",
		Long: `Makes one page of the results that ` + "`mars sim run FILE -o DIR`" + ` wrote: a summary in words, then pictures, the paper's values
beside ours, tables of all figures, and what was run. The page needs nothing else: it opens offline, in light and dark, on a phone.

RESULT is a result.json, a directory that holds one, or a directory of such directories.`,
		Example: `  mars report results
  mars report results -o study.html --svg pictures
  mars report results -o figures.csv
  mars report results --compare before`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(c, "a RESULT: a result.json or the directory of one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "write to `FILE`: a page for .html, a row per run and metric for .csv; - is a page on the standard output (default: report.html)")
	fl.StringVar(&f.svg, "svg", "", "write every picture as SVG to the directory `DIR`")
	fl.StringVar(&f.png, "png", "", "write every picture as PNG to the directory `DIR`")
	fl.StringVar(&f.compare, "compare", "", "also show how the result differs, seed by seed, from an earlier `RESULT`")
	fl.BoolVar(&f.medians, "medians", false, "in a .csv: a row per system with its medians, instead of one per run and metric")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print no summary")
	return c
}

func (f *reportFlags) run(c *cobra.Command, args []string) error {
	if f.out == "" && f.svg == "" && f.png == "" {
		f.out = "report.html"
	}
	var difference *scenario.Comparison
	write := func(w io.Writer, results []*scenario.Result) error { return report.HTML(w, results, difference) }
	switch ext := strings.ToLower(filepath.Ext(f.out)); {
	case f.out == "", f.out == "-", ext == ".html", ext == ".htm":
	case ext == ".csv" && f.medians:
		write = report.Medians
	case ext == ".csv":
		write = report.CSV
	default:
		return usage(c, "-o %s: it must end in .html or .csv; for pictures give --svg DIR or --png DIR", f.out)
	}
	var results []*scenario.Result
	for _, a := range args {
		more, err := readResults(a)
		if err != nil {
			return err
		}
		results = append(results, more...)
	}
	if f.compare != "" {
		before, err := readResults(f.compare)
		if err != nil {
			return err
		}
		if len(before) != 1 || len(results) != 1 {
			return usage(c, "--compare: it takes one RESULT and one to compare with; there are %d and %d", len(results), len(before))
		}
		if difference, err = scenario.Compare(before[0], results[0]); err != nil {
			return &misuse{f.compare + ": " + err.Error(), "compare results of the same scenario, systems and seeds"}
		}
	}
	if f.svg != "" {
		if err := writeFiles(f.svg, report.SVG(results)); err != nil {
			return err
		}
	}
	if f.png != "" {
		images, err := report.PNG(results)
		if err != nil {
			return err
		}
		if err := writeFiles(f.png, images); err != nil {
			return err
		}
	}
	if f.out == "-" {
		return write(c.OutOrStdout(), results)
	}
	if !f.quiet {
		tell(c.OutOrStdout(), results)
	}
	if f.out == "" {
		return nil
	}
	var b bytes.Buffer
	if err := write(&b, results); err != nil {
		return err
	}
	if err := os.WriteFile(f.out, b.Bytes(), 0o666); err != nil {
		return &mars.Error{Op: "write the report", Err: err, Next: "choose a file with -o that you may write"}
	}
	if !f.quiet {
		fmt.Fprintf(c.OutOrStdout(), "\n%s is written; open it in a browser\n", f.out)
	}
	return nil
}

// tell prints the warnings and the summary of results.
func tell(w io.Writer, results []*scenario.Result) {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", printable(r.Scenario), printable(r.Title))
		for _, text := range report.Warnings(r) {
			fmt.Fprintf(w, "! %s\n", printable(text))
		}
		for _, text := range report.Summary(r) {
			fmt.Fprintf(w, "- %s\n", printable(text))
		}
	}
}

func writeFiles(dir string, files []report.File) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &mars.Error{Op: "create " + dir, Err: err, Next: "choose a directory that you may write to"}
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Text, 0o666); err != nil {
			return &mars.Error{Op: "write a picture", Err: err, Next: "choose a directory with room that you may write to"}
		}
	}
	return nil
}
