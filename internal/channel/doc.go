// Package channel is what links do to packets beside queueing them, the same in the simulator and in the lab: random losses,
// bursts of losses, congestion marks, and the random streams that decide about them. All of it is values that the caller drives.
package channel
