package route

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Config describes a Router. Durations and bounds that are 0 take the default in parentheses.
type Config struct {
	ID    uint64 // of the node, unique in the overlay
	Boot  uint32 // nonce of this run: another one after each restart
	Relay bool   // passes on what isn't its own; other nodes, leaves, are never on the way to a third
	Seed  uint64 // of the jitter

	// Sign returns the signature of the part of our own advertisements that Split returns as signed, at most
	// MaxSignature bytes. nil: none.
	Sign func(signed []byte) []byte
	// Authentic tells whether an advertisement comes from origin; Split takes it apart. nil: all do.
	Authentic func(origin uint64, announcement []byte) bool
	// Verify tells whether origin may announce prefix, as it does in announcement. nil: everybody may announce
	// everything. It is called for every prefix of every new advertisement, with the same announcement.
	Verify func(origin uint64, prefix wire.Name, announcement []byte) bool

	// Notice judges a notice that a neighbour brought: it is to be kept and spread if it is the newest of its topic. It must not
	// keep content. nil: none is.
	Notice func(content []byte) (topic, number uint64, ok bool)

	Hello    machine.Time // longest silence of ours on a face (250 ms)
	Dead     machine.Time // silence after which a face is dead (750 ms)
	Coalesce machine.Time // from a change of the map to the computation (10 ms)
	Refresh  machine.Time // between advertisements that say nothing new (10 min)
	Expire   machine.Time // age at which an advertisement is forgotten (30 min); the same at all nodes

	MaxNodes int // in the map (8192)
	MaxBytes int // of all advertisements (16 MiB)
	// MaxPrefixes bounds the prefixes of all other nodes together (65536). One neighbour may bring half of them.
	MaxPrefixes int
}

func (c Config) withDefaults() Config {
	orTime := func(t *machine.Time, d machine.Time) {
		if *t <= 0 {
			*t = d
		}
	}
	orTime(&c.Hello, 250*machine.Millisecond)
	orTime(&c.Dead, 750*machine.Millisecond)
	orTime(&c.Coalesce, 10*machine.Millisecond)
	orTime(&c.Refresh, 600*machine.Second)
	orTime(&c.Expire, 1800*machine.Second)
	if c.MaxNodes <= 0 {
		c.MaxNodes = 8192
	}
	c.MaxNodes = min(c.MaxNodes, 1<<15) // hop counts are 16 bits wide
	if c.MaxBytes <= 0 {
		c.MaxBytes = 16 << 20
	}
	if c.MaxPrefixes <= 0 {
		c.MaxPrefixes = 1 << 16
	}
	return c
}

// Router is the routing of one node. Make it with New. After any call drain Ready and Transmit, ask for Changes and
// read Deadline.
type Router struct {
	clock
	database
	own
	cfg    Config
	random *rand.Rand
	graph  graph
	table  table
	count  Counters

	faces      []*face      // by id
	neighbours []*neighbour // by id and boot nonce
	notices    []Notice     // the newest of each topic, by topic
	sessions   uint32       // begun on any face
	number     uint32       // of our last message
	computeAt  machine.Time
	changed    bool    // Changes may have something to tell
	in         message // being received
	out        []byte  // being composed
}

// New returns a Router without faces and prefixes.
func New(cfg Config) *Router {
	cfg = cfg.withDefaults()
	return &Router{
		cfg:       cfg,
		random:    rand.New(rand.NewPCG(cfg.Seed, cfg.ID)),
		database:  database{slots: make([]slot, 1), slotOf: map[uint64]int32{}, brought: map[uint64]int{}, nextExpiry: machine.Never},
		table:     table{numbers: map[string]int32{}},
		computeAt: machine.Never,
		own:       own{issueAt: machine.Never},
	}
}

// FaceUp tells that a face to another node exists, or has come back. Several faces may lead to one neighbour.
func (r *Router) FaceUp(now machine.Time, id machine.FaceID) {
	r.tick(now)
	i, ok := r.face(id)
	if !ok {
		r.faces = slices.Insert(r.faces, i, &face{id: id})
	}
	f := r.faces[i]
	f.up, f.restarted, f.unheard = true, false, 0
	f.helloAt = r.now + r.interval()
	r.begin(f)
}

// FaceFound tells that a face exists which the other end made. Whoever can forge an address can make one, so nothing is said on it
// before a message came, and until the other end is known to hear us no more bytes than came.
func (r *Router) FaceFound(now machine.Time, id machine.FaceID) {
	r.FaceUp(now, id)
	f := r.liveFace(id)
	f.found, f.due = true, false
	f.session = 1 + r.random.Uint32()>>1 // not to be guessed
}

// FaceDown tells that a face is gone.
func (r *Router) FaceDown(now machine.Time, id machine.FaceID) {
	r.tick(now)
	if f := r.liveFace(id); f != nil {
		r.begin(f)
		f.up, f.due = false, false
		r.changed = true
	}
}

// Announce makes this node an origin of prefix. It returns false, and changes nothing, beyond MaxName, MaxPrefixes or
// MaxNames.
func (r *Router) Announce(now machine.Time, prefix wire.Name) bool {
	r.tick(now)
	i, ok := slices.BinarySearchFunc(r.own.prefixes, prefix, wire.Name.Compare)
	if ok {
		return true
	}
	size := 2 + len(prefix)
	for _, p := range r.own.prefixes {
		size += 2 + len(p)
	}
	if len(prefix) > MaxName || len(r.own.prefixes) >= MaxPrefixes || size > MaxNames {
		r.drop(TooManyPrefixes)
		return false
	}
	r.own.prefixes = slices.Insert(r.own.prefixes, i, prefix.Clone())
	r.reissue()
	return true
}

// Announced is the number of prefixes announced.
func (r *Router) Announced() int { return len(r.own.prefixes) }

// Reannounce issues our advertisement anew, if there is one: what Config.Sign returns has changed.
func (r *Router) Reannounce(now machine.Time) {
	r.tick(now)
	r.refreshAt = min(r.refreshAt, max(r.now+settle, r.issuedAt+minIssue, r.quiet))
}

// Withdraw ends Announce.
func (r *Router) Withdraw(now machine.Time, prefix wire.Name) {
	r.tick(now)
	if i, ok := slices.BinarySearchFunc(r.own.prefixes, prefix, wire.Name.Compare); ok {
		r.own.prefixes = slices.Delete(r.own.prefixes, i, i+1)
		r.reissue()
	}
}

// Receive handles one message from a neighbour. It keeps no part of it.
func (r *Router) Receive(now machine.Time, id machine.FaceID, b []byte) {
	r.tick(now)
	r.count.MessagesIn++
	r.count.BytesIn += uint64(len(b))
	f := r.liveFace(id)
	if f == nil {
		r.drop(UnknownFace)
		return
	}
	m := &r.in
	if why, ok := m.decode(b); !ok {
		r.drop(why)
		return
	}
	if !r.hear(f, m.header) {
		return
	}
	f.owed += len(b)
	n := f.linked
	if n == nil {
		if len(m.acks)+len(m.summaries)+len(m.adverts)+len(m.notices) > 0 {
			r.drop(OneWay)
		}
		return
	}
	if m.ack {
		r.owe(n, m.number)
	}
	for _, list := range m.acks {
		for ; len(list) > 0; list = list[4:] {
			r.acknowledged(n, binary.BigEndian.Uint32(list))
		}
	}
	for _, c := range m.notices {
		r.noticed(n, c)
	}
	for _, c := range m.adverts {
		r.accept(n, c)
	}
	for _, s := range m.summaries {
		r.heed(n, s)
	}
}

// Transmit writes the next message for a face into buf and returns its length, at most MaxMessage. 0: nothing to send
// now. −n: the next message needs n bytes, buf is too small, and the message is kept.
func (r *Router) Transmit(now machine.Time, id machine.FaceID, buf []byte) int {
	r.tick(now)
	f := r.liveFace(id)
	if f == nil || !f.ready() {
		return 0
	}
	if len(buf) < headerLen {
		return -headerLen
	}
	h := r.head(f)
	h.number = r.number + 1
	b := append(r.out[:0], make([]byte, headerLen)...)
	if n := f.linked; n != nil && n.via() == f && n.pending() {
		var need int
		if b, h.ack, need = r.compose(n, b, min(len(buf), MaxMessage), h.number); need > 0 {
			return -need
		}
	}
	r.out = b
	if len(b) == headerLen && !f.due {
		return 0
	}
	if f.unproven() {
		if f.owed < len(b) {
			f.due = false
			return 0
		}
		f.owed -= len(b)
	}
	h.put(b)
	r.number = h.number
	f.due, f.ask = false, false
	f.helloAt = r.now + r.pause(f)
	r.count.MessagesOut++
	r.count.BytesOut += uint64(len(b))
	return copy(buf, b)
}

// ready tells whether f may have something to send now.
func (f *face) ready() bool {
	return f.up && (f.due || f.linked != nil && f.linked.via() == f && f.linked.pending())
}

// Ready appends to dst the faces that may have something to send now, ascending.
func (r *Router) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, f := range r.faces {
		if f.ready() {
			dst = append(dst, f.id)
		}
	}
	return dst
}

// Advance fires the timers due by now.
func (r *Router) Advance(now machine.Time) {
	r.tick(now)
	for _, f := range r.faces {
		r.advanceFace(f)
	}
	for _, n := range r.neighbours {
		r.advanceNeighbour(n)
	}
	r.expire()
	r.issue()
	if r.now >= r.computeAt {
		r.computeAt = machine.Never
		r.compute()
	}
}

// Deadline is the next moment at which Advance has something to do.
func (r *Router) Deadline() machine.Time { return r.clock.outside(r.deadline()) }

// deadline is the same in our own time.
func (r *Router) deadline() machine.Time {
	at := min(r.issueAt, r.refreshAt, r.computeAt, r.nextExpiry)
	for _, f := range r.faces {
		at = min(at, f.deadline())
	}
	for _, n := range r.neighbours {
		at = min(at, n.deadline())
	}
	return at
}

// Neighbour returns the id of the node at the other end of a face; up: both ends hear each other. Before that the id
// is what was heard last, 0 when nothing was.
func (r *Router) Neighbour(id machine.FaceID) (node uint64, up bool) {
	f := r.liveFace(id)
	if f == nil || !f.heard {
		return 0, false
	}
	return f.peer, f.linked != nil
}
