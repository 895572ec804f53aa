package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"mars"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check or print the configuration",
		Long: `The configuration is one YAML file; flags override MARS_* variables of the environment, which override the file.
Without --config it is $MARS_CONFIG, else $XDG_CONFIG_HOME/mars/config.yaml, else /etc/mars/config.yaml.`,
	}
	group(c)
	c.AddCommand(configCheckCommand(), configPrintCommand())
	return c
}

func configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check [FILE]",
		Short:   "Tell every error of a configuration, with line and column",
		Example: "  mars config check\n  mars config check ./config.yaml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(c, "give one FILE at most")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			path := ""
			if len(args) == 1 {
				path = args[0]
			}
			cfg, err := mars.LoadConfig(path)
			if err = errors.Join(err, cfg.Check()); err != nil {
				return err
			}
			if path == "" {
				path = mars.DefaultConfigPath()
			}
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				path += " isn't there; the defaults"
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: valid\n", path)
			return err
		},
	}
}

func configPrintCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in effect, as YAML",
		Args:  exactly(0, "it takes no arguments; name the file with --config"),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := mars.LoadConfig(path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), cfg)
			return err
		},
	}
	configFlag(c, &path)
	return c
}

func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "configuration `FILE` (see mars config --help)")
}
