package main

import (
	"github.com/spf13/cobra"

	"mars"
)

// signers are the flags that say who may sign what is fetched.
type signers struct {
	trust    []string
	unsigned bool
}

func (s *signers) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&s.trust, "trust", nil, "only what the holder of `KEY` signed (may be repeated; usual: of the neighbours, or as the configuration says)")
	flags.BoolVar(&s.unsigned, "unsigned", false, "take objects that nobody signed, or anybody")
}

// rules are what the flags say; none: what the configuration does.
func (s *signers) rules(c *cobra.Command, file *mars.Config) ([]mars.TrustConfig, error) {
	all := mars.TrustConfig{Prefix: "/", Unsigned: s.unsigned}
	for _, text := range s.trust {
		key, err := mars.ParsePublicKey(text)
		if err != nil {
			return nil, usage(c, "--trust: %v", err)
		}
		all.Keys = append(all.Keys, key)
	}
	switch {
	case s.unsigned && len(s.trust) > 0:
		return nil, usage(c, "--unsigned takes what anybody signed, --trust only what KEY did; give one")
	case s.unsigned, len(s.trust) > 0:
		return []mars.TrustConfig{all}, nil
	}
	return file.Trust, nil
}

// signedBy says who signed an object.
func signedBy(key mars.PublicKey) string {
	if key == (mars.PublicKey{}) {
		return "not signed"
	}
	return "signed by " + key.String()
}
