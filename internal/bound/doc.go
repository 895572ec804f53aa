// Package bound computes what no system can beat: for every flow of a scenario.World the times at which it could have its
// object if link capacity were shared max-min fairly over the flows and split freely over each flow's routes. The programs are
// over routes within the stretch of discovery, which are generated as they are needed; classes of equal flows keep them small.
package bound
