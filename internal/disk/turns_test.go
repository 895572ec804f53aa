package disk

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestTreeAnswersBesideHashing: while large files take all turns, what needs no hashing is answered at once, and small files are
// hashed. A Lookup that waited would wait for ever here.
func TestTreeAnswersBesideHashing(t *testing.T) {
	started, release := make(chan struct{}, 9), make(chan struct{})
	tree, dir := openTree(t, TreeOptions{Progress: func(path string, done, size int64) {
		if size > quickHash && done == 0 {
			started <- struct{}{}
			<-release
		}
	}})
	write(t, dir+"/known", []byte("known"))
	if _, err := tree.Lookup(suffixOf("known")); err != nil {
		t.Fatal(err)
	}
	check(t, os.Mkdir(dir+"/directory", 0o777))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o666))
	var g sync.WaitGroup
	for _, name := range []string{"large", "larger"} {
		write(t, dir+"/"+name, nil)
		check(t, os.Truncate(dir+"/"+name, quickHash+1))
		g.Go(func() {
			if _, err := tree.Lookup(suffixOf(name)); err != nil {
				t.Error(err)
			}
		})
	}
	<-started
	<-started
	write(t, dir+"/small", []byte("small"))
	for name, want := range map[string]error{"known": nil, "small": nil, "missing": ErrNotFound, "directory": ErrIsDirectory, "pipe": ErrNotRegular} {
		if _, err := tree.Lookup(suffixOf(name)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(release)
	g.Wait()
}
