package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"mars"
)

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Make a node's key, or show its public half",
		Args:  exactly(0, "give a subcommand: new or show"),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keyNewCommand(), keyShowCommand())
	return c
}

func keyNewCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "new",
		Short: "Make a key",
		Long: `Draws a key and writes it to a file that only you may read, by default where every command looks for it. Prints the public
half: neighbours put it before the address of this node, udp4://KEY@host:port, and into their peers. A key that is there
already stays as it is.`,
		Example: `  mars key new
  mars key new -o /etc/mars/node.key`,
		Args: exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := mars.NewKeyFile(file)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "`FILE` for the key; it must not be there yet")
	return c
}

func keyShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "show [FILE]",
		Short:   "Print the public half of a key: of the node's, unless a file is given",
		Example: "  mars key show\n  mars key show /etc/mars/node.key",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := mars.LoadConfig("") // which says where the node's is
			if err != nil && len(args) == 0 {
				return err
			}
			path := append(args, "")[0]
			if len(args) == 0 {
				path = cfg.Node.Key
			}
			secret, from, err := mars.LoadKey(path)
			if err != nil {
				return err
			}
			key := secret.Public()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]string{"from": from, "key": key.String()})
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// lastingKey makes the key of a node that others dial, if there is none yet. Where it can't be kept the node has another
// one each time, unless the configuration says where it is.
func lastingKey(cfg *mars.Config) error {
	_, _, _, err := mars.LoadOrCreateKey(cfg.Node.Key)
	if cfg.Node.Key == "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return nil
	}
	return err
}
