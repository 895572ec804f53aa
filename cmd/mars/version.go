package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build (see the Makefile).
var version string

// buildVersion is the version of this binary: what the build set, else what Go noted.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)":
		return v
	case revision != "":
		return revision + dirty
	}
	return "devel"
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(struct {
					Version  string `json:"version"`
					Go       string `json:"go"`
					Platform string `json:"platform"`
				}{buildVersion(), runtime.Version(), platform})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "mars %s (%s, %s)\n", buildVersion(), runtime.Version(), platform)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
