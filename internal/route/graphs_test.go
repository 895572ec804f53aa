package route

import (
	"fmt"
	"math/rand/v2"
)

// The shapes of networks that tests draw from.
var shapes = []string{"ring", "mesh", "grid", "tree", "random"}

// build adds n hosts to w, each a relay unless leaf says otherwise, in the given shape. Host i announces /i, and
// every third one /any too.
func (w *world) build(shape string, n int, leaf func(i int) bool) {
	for i := range n {
		names := []string{fmt.Sprintf("/%d", i)}
		if i%3 == 0 {
			names = append(names, "/any")
		}
		w.plain(!leaf(i), names...)
	}
	for _, p := range edges(shape, n, w.random) {
		w.join(w.hosts[p[0]], w.hosts[p[1]])
	}
}

func relays(int) bool { return false }

func edges(shape string, n int, random *rand.Rand) (list [][2]int) {
	switch shape {
	case "ring":
		for i := range n {
			if n > 2 || i+1 < n {
				list = append(list, [2]int{i, (i + 1) % n})
			}
		}
	case "mesh":
		for i := range n {
			for j := range i {
				list = append(list, [2]int{j, i})
			}
		}
	case "grid":
		const width = 4
		for i := range n {
			if i%width > 0 {
				list = append(list, [2]int{i - 1, i})
			}
			if i >= width {
				list = append(list, [2]int{i - width, i})
			}
		}
	case "tree":
		for i := 1; i < n; i++ {
			list = append(list, [2]int{random.IntN(i), i})
		}
	case "random": // a tree and as many links again: degree about 4
		list = edges("tree", n, random)
		for i := 0; i < n+2; i++ {
			if a, b := random.IntN(n), random.IntN(n); a != b {
				list = append(list, [2]int{a, b}) // parallel to another, sometimes
			}
		}
	}
	return list
}
