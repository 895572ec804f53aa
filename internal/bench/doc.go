// Package bench measures what this machine can do with MARS: the forwarder alone, whole transfers between processes, the
// cryptography, small objects. Its report is JSON in the form of iperf3's, and a text that says what the limit is.
package bench
