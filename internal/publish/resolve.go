package publish

import (
	"errors"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// maxResolves bounds the objects that the application looks up at once: hashing may take minutes.
	maxResolves = 512
	// maxWaiters bounds the Interests that wait for one of them, and maxWaiting those that wait for any.
	maxWaiters = 64
	maxWaiting = 1024
)

// resolve is a question to the application: which version of an object is current?
type resolve struct {
	id      uint64
	object  wire.Name
	waiters []*inquiry
}

// resolves are the questions under way.
type resolves struct {
	byName map[string]*resolve
	byID   map[uint64]*resolve
	lastID uint64
}

// resolve lets q wait for the current version of its object. An Interest that comes again while it waits is told that
// somebody is there, and working; so is whoever would wait with too many others.
func (e *Engine) resolve(q *inquiry) {
	r := e.resolves.byName[string(q.object)]
	if r == nil {
		if len(e.resolves.byName) >= maxResolves {
			e.refuse(q, CodeBusy)
			return
		}
		e.resolves.lastID++
		r = &resolve{id: e.resolves.lastID, object: q.object.Clone()}
		e.resolves.byName[string(r.object)], e.resolves.byID[r.id] = r, r
		e.requests = append(e.requests, Request{ID: r.id, Kind: Resolve, Name: r.object})
	}
	for _, w := range r.waiters {
		if w.name.Equal(q.name) {
			e.unwait(w)
			r.drop(w)
			e.inquiries.put(w)
			e.refuse(q, CodeBusy)
			return
		}
	}
	if len(r.waiters) >= maxWaiters || e.count[resolving] >= maxWaiting {
		e.refuse(q, CodeBusy)
		return
	}
	q.object = r.object // what it aliased is about to change
	r.waiters = append(r.waiters, q)
	e.wait(q, resolving)
}

func (r *resolve) drop(q *inquiry) {
	r.waiters = slices.DeleteFunc(r.waiters, func(w *inquiry) bool { return w == q })
}

// Resolved answers a Resolve request: o is the current version, nil with err if there is none. The engine serves o from
// then on, until Withdraw.
func (e *Engine) Resolved(now machine.Time, id uint64, o *Object, err error) {
	e.now = now
	r := e.resolves.byID[id]
	if r == nil {
		return
	}
	delete(e.resolves.byID, id)
	delete(e.resolves.byName, string(r.object))
	if err == nil && o != nil {
		o = e.publish(now, o)
	} else {
		o = nil
	}
	for _, q := range r.waiters {
		e.unwait(q)
		switch {
		case o != nil:
			e.answerFrom(q, o)
		case errors.Is(err, ErrNotFound):
			e.refuse(q, CodeNotFound)
		default:
			e.refuse(q, CodeFailed)
		}
	}
}

// publish adds a version. One that is served already only gets the new handle.
func (e *Engine) publish(now machine.Time, o *Object) *Object {
	k := key{string(o.Name), o.Manifest.Version()}
	if known := e.objects[k]; known != nil {
		if known.MTime != o.MTime {
			known.seal = seal{}
		}
		known.Handle, known.MTime = o.Handle, o.MTime
		o = known
	} else {
		e.objects[k] = o
		e.list = append(e.list, o)
	}
	if e.current[k.name] != o { // one that is current again must say so later than what replaced it
		e.current[k.name], o.seal = o, seal{}
	}
	o.used = now
	return o
}

// answerFrom answers q, whatever version it asks for, now that o is known to be the current one.
func (e *Engine) answerFrom(q *inquiry, o *Object) {
	switch v := o.Manifest.Version(); {
	case q.metadata:
		e.metadata(q, o)
	case q.versioned && q.version != v:
		e.refuse(q, CodeGone)
	default:
		e.serve(q, o)
	}
}

// Withdraw stops serving a version; consumers that still fetch it are told that it is gone.
func (e *Engine) Withdraw(_ machine.Time, o *Object) {
	k := key{string(o.Name), o.Manifest.Version()}
	if e.objects[k] == o {
		delete(e.objects, k)
		if e.current[k.name] == o {
			delete(e.current, k.name)
		}
		e.list = slices.DeleteFunc(e.list, func(l *Object) bool { return l == o })
	}
}

// Idle appends the objects that nobody has asked for since before to dst. They are still served until Withdraw.
func (e *Engine) Idle(dst []*Object, before machine.Time) []*Object {
	for _, o := range e.list {
		if o.used < before {
			dst = append(dst, o)
		}
	}
	return dst
}
