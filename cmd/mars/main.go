// Command mars fetches named objects over every path that it is given, serves directories, and forwards for others. One
// file here holds one subcommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"mars"
)

func main() {
	if n := descriptors(); n < leastFiles { // else the runtime itself falls over, without a word that helps
		fmt.Fprintf(os.Stderr, "mars: this process may have only %d open files, and needs %d\n  allow more: ulimit -n 1024\n", n, leastFiles)
		os.Exit(1)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// leastFiles is how many open files a fetch over a few paths needs.
const leastFiles = 24

// descriptors is how many open files the process may have.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return leastFiles
	}
	return uint64(limit.Cur)
}

// run runs a command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		printError(stderr, err)
	}
	return mars.ExitCode(err)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mars",
		Short: "Move large objects over every path at once",
		Long: `MARS fetches a named object over every path that it is given, verifies each piece before it is written, and resumes.
Serve a directory on one machine, get a file of it on another; nodes in between forward.`,
		Example: `  mars serve ./data --prefix /site/data
  mars get /site/data/file.iso --via udp4://KEY@192.0.2.1:6363`,
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("mars {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%v", err) })
	group(root)
	root.AddCommand(getCommand(), lsCommand(), serveCommand(), nodeCommand(), configCommand(), versionCommand(), demoCommand(), pathCommand(), statusCommand(), pingCommand(), topCommand(), gatewayCommand(), keyCommand(), caCommand(), simCommand(), labCommand(), reportCommand(), benchCommand())
	return root
}

// group makes c a command that only has subcommands: alone it prints its help.
func group(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return usage(c, "there is no command %q; did you mean %q?", args[0], near[0])
		}
		return usage(c, "there is no command %q", args[0])
	}
	c.SuggestionsMinimumDistance = 2
}

// misuse is a mistake in the command line: a usage error that doesn't say so in its text.
type misuse struct{ what, next string }

func (m *misuse) Error() string { return m.what }

// Is makes it a mars.ErrUsage.
func (*misuse) Is(target error) bool { return target == mars.ErrUsage }

// usage is the error of a command line that makes no sense, with the way to c's help.
func usage(c *cobra.Command, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if c.HasParent() {
		what = strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") + ": " + what
	}
	return &misuse{what, fmt.Sprintf("see `%s --help`", c.CommandPath())}
}

// exactly wants n arguments; what says which.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(c, "%s", what)
		}
		return nil
	}
}

// printError writes what failed and what to do about it.
func printError(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "mars: %s\n", printable(strings.TrimSuffix(line, "\n")))
	}
	if next := nextStep(err); next != "" {
		fmt.Fprintf(w, "  %s\n", next)
	}
}

// nextStep is what the person can do about err; "" if there is nothing to be said.
func nextStep(err error) string {
	if m, ok := errors.AsType[*misuse](err); ok {
		return m.next
	}
	return mars.NextStep(err)
}
