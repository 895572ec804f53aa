// Command mars fetches, serves and forwards named objects.
package main

func main() {}
