package mars_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"mars"
)

// run runs a node beside the rest; the function that it returns ends it.
func run(cfg *mars.Config) (n *mars.Node, stop func()) {
	n, err := mars.NewNode(cfg, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := n.Run(ctx); err != nil {
			log.Print(err)
		}
	})
	return n, func() {
		cancel()
		ended.Wait()
	}
}

// site serves a directory with one file as /site/greeting, and leads a consumer to it.
func site() (consumer *mars.Node, dir string, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	served := filepath.Join(dir, "served")
	if err := os.Mkdir(served, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(served, "greeting"), []byte("good morning, everybody"), 0o644); err != nil {
		log.Fatal(err)
	}
	producer, stopProducer := run(&mars.Config{
		Listen: []mars.FaceURI{{Host: "127.0.0.1", Port: 0}}, // any port, encrypted
		Serve:  []mars.ServeConfig{{Dir: served, Prefix: "/site"}},
	})
	consumer, stopConsumer := run(&mars.Config{
		Faces:  []mars.FaceConfig{{Name: "path1", To: producer.Listening()[0]}}, // the address, with the producer's key
		Routes: []mars.RouteConfig{{Prefix: "/site", Via: "path1"}},
	})
	return consumer, dir, func() {
		stopConsumer()
		stopProducer()
		os.RemoveAll(dir)
	}
}

// An object is fetched to a file, which appears there when it is complete and verified.
func ExampleNode_Fetch() {
	consumer, dir, stop := site()
	defer stop()
	file := filepath.Join(dir, "copy")
	got, err := consumer.Fetch(context.Background(), mars.FetchOptions{Name: "/site/greeting", File: file})
	if err != nil {
		log.Fatal(err, mars.NextStep(err))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %s\n", got.Size, text)
	// Output: 23 bytes: good morning, everybody
}

// An object is read in parts; only these are fetched.
func ExampleNode_Open() {
	consumer, _, stop := site()
	defer stop()
	o, err := consumer.Open(context.Background(), mars.OpenOptions{Name: "/site/greeting"})
	if err != nil {
		log.Fatal(err, mars.NextStep(err))
	}
	defer o.Close()
	part := make([]byte, 7)
	if _, err := o.ReadAt(part, 5); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %s, ", o.Size(), part)
	if err := o.WriteRange(context.Background(), os.Stdout, 14, 9); err != nil { // a stream: what lies ahead is on its way
		log.Fatal(err)
	}
	// Output: 23 bytes: morning, everybody
}

// A directory is listed, and what isn't there is told by the kind of the error.
func ExampleNode_List() {
	consumer, _, stop := site()
	defer stop()
	all, err := consumer.List(context.Background(), "/site", 0)
	if err != nil {
		log.Fatal(err, mars.NextStep(err))
	}
	for _, e := range all {
		fmt.Println(e.Name, e.Size)
	}
	_, err = consumer.List(context.Background(), "/site/nobody", 0)
	fmt.Println(mars.ErrorCode(err))
	// Output:
	// /site/greeting 23
	// not_found
}
