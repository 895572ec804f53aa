// Package foreign is the consumer engine for objects of foreign producers: those that publish segments and perhaps metadata,
// but no manifest. It finds the version, fetches the segments with a CUBIC window, and hands them out in order.
//
// It is a machine.Machine with one face, to the node it is attached to, and it owns no file. What comes is not verified: a
// digest signature only tells a broken packet from a whole one, and other signatures are not looked at, for no keys are
// known.
//
//	           32=metadata answers, or the name has a version        all segments handed out
//	metadata ──────────────────────────────────────────────► fetching ──────────► ended
//	   │ ▲                                                      ▲
//	   ▼ │ no answer                                            │ a segment of some version answers
//	 prefix ────────────────────────────────────────────────────┘
//
// From every state an error, a stall or Cancel leads to ended.
package foreign
