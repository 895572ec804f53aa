package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

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
			path, err := keyPath(file)
			if err != nil {
				return err
			}
			key, err := mars.NewKeyFile(path)
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
		Short:   "Print the public half of a key",
		Example: "  mars key show\n  mars key show /etc/mars/node.key",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := keyPath(append(args, "")[0])
			if err != nil {
				return err
			}
			key, err := mars.PublicKeyOf(path)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]string{"file": path, "key": key.String()})
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// keyPath is the file that is named, else the usual one.
func keyPath(file string) (string, error) {
	if file != "" {
		return absolutePath(file), nil
	}
	if path := mars.DefaultKeyPath(); path != "" {
		return path, nil
	}
	return "", &mars.Error{Op: "find the key", Err: errors.New("there is no directory for configuration"), Next: "name a file, or set HOME"}
}

// ownKey is the file with the key of a command that fetches: the configured one, else the usual one if it is there.
func ownKey(cfg *mars.Config) string {
	if cfg.Node.Key != "" {
		return cfg.Node.Key
	}
	path := mars.DefaultKeyPath()
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// lastingKey is the file with the key of a node that others dial: the configured one, else the usual one, which is made if
// need be. "": there is none, and can't be; the node's key is then another one each time.
func lastingKey(cfg *mars.Config) string {
	if path := ownKey(cfg); path != "" {
		return path
	}
	path := mars.DefaultKeyPath()
	if _, err := mars.NewKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	return path
}
