// Package mars moves large named objects over every usable path between two sites at once.
//
// A producer serves a directory below a name prefix; a consumer fetches an object by name, and the nodes between them
// discover loop-free paths and share congestion feedback hop by hop. Everything runs over UDP; nothing in the kernel or
// in IP routers changes.
//
// Names are NDN names in URI form ("/site/data/file.iso"). What a fetch writes was verified against the hash list of
// the object, and appears at its destination only when it is complete.
package mars
