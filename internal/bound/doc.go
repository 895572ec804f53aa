// Package bound computes what no system can beat: for every flow of a scenario.World the times at which it could have its
// object if link capacity were shared max-min fairly over the flows and split freely over each flow's paths. The programs are
// over paths within the stretch of discovery; the classes of equal flows keep them small.
package bound
