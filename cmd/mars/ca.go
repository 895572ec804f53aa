package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mars"
)

func caCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ca",
		Short: "Vouch for nodes: an operator's certificates and revocations",
		Long: `An operator has a key, and signs with it certificates of the nodes of a site, which are valid for days. Nodes that are told the
operator's public key (operators in the configuration) let in whoever has a certificate, until it expires or is revoked.`,
	}
	group(c)
	c.AddCommand(caInitCommand(), caSignCommand(), caRevokeCommand(), caListCommand())
	return c
}

// operatorFlag names the file of the operator's key.
func operatorFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "operator", "k", "", "`FILE` with the operator's key (usual: operator.key beside the node's key)")
}

func caInitCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "init",
		Short: "Make an operator's key",
		Long: `Draws a key and writes it to a file that only you may read, and beside it a register of what is signed. Prints the public half:
nodes have it in their operators. Keep both files where nobody else gets at them, with a backup; no node needs them.`,
		Example: "  mars ca init\n  mars ca init -k ./operator.key",
		Args:    exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := mars.NewCA(file)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), key)
			return err
		},
	}
	operatorFlag(c, &file)
	return c
}

func caSignCommand() *cobra.Command {
	var file, out string
	var r mars.CertificateRequest
	c := &cobra.Command{
		Use:   "sign KEY --name NAME",
		Short: "Sign the certificate of a node",
		Long: `Signs that the node with the public key KEY is called NAME, may announce the prefixes and sign objects below them, and
forwards if it is a relay. Give the file to the node (node.certificate); write a new one over it before it expires, and the node goes on
with that.`,
		Example: `  mars ca sign WApNWvWSmK1DFbUfTdvnb1bwbIuclzMXzHflJNKfJR7p8oVz --name site-a --prefix /site-a -o site-a.cert
  mars ca sign "$(ssh relay mars key show)" --name relay-1 --role relay --days 30 -o relay-1.cert`,
		Args: exactly(1, "give one public key; mars key show prints it on the node"),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if r.Key, err = mars.ParsePublicKey(args[0]); err != nil {
				return usage(c, "%v", err)
			}
			if r.Name == "" {
				return usage(c, "the node has no name; add --name site-a")
			}
			return withCA(file, func(ca *mars.CA) error {
				text, err := ca.Sign(r)
				if err != nil {
					return err
				}
				return output(c, out, text)
			})
		},
	}
	operatorFlag(c, &file)
	c.Flags().StringVar(&r.Name, "name", "", "`NAME` of the node, for logs and mars ca revoke")
	c.Flags().StringVar(&r.Role, "role", mars.RoleLeaf, "`ROLE` relay (may forward for others) or leaf")
	c.Flags().StringArrayVar(&r.Prefixes, "prefix", nil, "`PREFIX` that it may announce, and below which it may sign objects (may be repeated)")
	c.Flags().IntVar(&r.Days, "days", mars.DefaultCertificateDays, "`DAYS` until it expires")
	outputFlag(c, &out, "certificate")
	return c
}

func caRevokeCommand() *cobra.Command {
	var file, out string
	c := &cobra.Command{
		Use:   "revoke [NAME | KEY | SERIAL]...",
		Short: "Take certificates back, and write the list of all that are",
		Long: `A NAME or a public KEY takes the key back: none of its certificates counts any more, none will, and nobody stays connected to its
holder. A SERIAL number takes one certificate back. Without any the list is written as it is. Give the file to any node
(node.revocations): it tells the others, and within seconds all have parted with who is in it.`,
		Example: "  mars ca revoke site-a -o revocations\n  mars ca revoke 3f1c88a0d25b7e19 -o revocations",
		RunE: func(c *cobra.Command, args []string) error {
			return withCA(file, func(ca *mars.CA) error {
				text, err := ca.Revoke(args...)
				if err != nil {
					return err
				}
				return output(c, out, text)
			})
		},
	}
	operatorFlag(c, &file)
	outputFlag(c, &out, "list")
	return c
}

func caListCommand() *cobra.Command {
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "Show the certificates that were signed",
		Example: "  mars ca list\n  mars ca list --json",
		Args:    exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return withCA(file, func(ca *mars.CA) error {
				if asJSON {
					return json.NewEncoder(c.OutOrStdout()).Encode(ca.Issued())
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "SERIAL\tNAME\tROLE\tEXPIRES\tSTATE\tKEY")
				for _, i := range ca.Issued() {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", i.Serial, i.Name, i.Role, time.Unix(i.NotAfter, 0).UTC().Format("2006-01-02 15:04 UTC"),
						certificateState(i, time.Now().Unix()), i.Key)
				}
				return w.Flush()
			})
		},
	}
	operatorFlag(c, &file)
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func certificateState(i mars.Issued, wall int64) string {
	switch {
	case i.Revoked:
		return "revoked"
	case i.NotAfter < wall:
		return "expired"
	}
	return "valid"
}

func withCA(path string, f func(*mars.CA) error) error {
	ca, err := mars.OpenCA(path)
	if err != nil {
		return err
	}
	defer ca.Close()
	return f(ca)
}

func outputFlag(c *cobra.Command, path *string, what string) {
	c.Flags().StringVarP(path, "output", "o", "", "`FILE` for the "+what+", in place of the one that is there (usual: print it)")
}

func output(c *cobra.Command, path string, text []byte) error {
	if path != "" {
		return mars.WriteCertificate(path, text)
	}
	_, err := c.OutOrStdout().Write(text)
	return err
}
