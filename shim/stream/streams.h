/* streams.h - records what was submitted to each stream, and waits for parts of it.
 *
 * Every operation that the shim lets through gets the next number of its stream. So the last user of a piece of memory is a
 * (stream, number) pair, and waiting for it means waiting for any event that was recorded on that stream after that
 * operation. Such events ("marks") are recorded only when something has to wait. While memory is short they are also
 * recorded every few operations, so that waiting for an old operation does not wait for the newest.
 *
 * Inside the room, streams.c keeps the records, marks.c their marks, and uses.c asks about uses and orders them. The host
 * waits by uses_wait.h. */
#ifndef SPILLWAY_SHIM_STREAMS_H
#define SPILLWAY_SHIM_STREAMS_H
#include "lock.h"
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SPW_STREAM_MARKS = 32, SPW_MARK_EVERY = 8, SPW_USES = 4 };

struct spw_place;

struct spw_stream {
    CUstream handle;
    CUcontext context;
    int device;              /* the ordinal; -1: the driver does not say */
    uint64_t owner;          /* tells streams apart that have the same handle: the context or the thread; else 0 */
    uint32_t id;             /* index in the table of streams; 0 is never used */
    bool ours;               /* a stream of our own (adopted) */
    bool blocking;           /* a stream of the program that synchronises with the legacy stream of its context, or is that
                              * stream */
    bool gone;               /* destroyed by the program: only its last mark is left */
    uint32_t waiters;        /* threads that wait for one of its marks, so its events must not be destroyed */
    bool per_thread;         /* only its own thread can record an event on it; `owner` is that thread */
    uint64_t begun;          /* number of the last operation */
    uint64_t allocated;      /* number of the first operation after the program's last allocation in the order of the stream;
                              * 0: none */
    uint64_t beginning;      /* number of the operation that is being begun and has not been handed to the driver; 0: none */
    uint64_t done;           /* all operations up to this number are known to be complete */
    uint64_t gate_first;     /* operations from this one on may wait for what the program does next (gates.c), ... */
    uint64_t gate_last;      /* ... until this one is complete; 0: none does */
    uint64_t host_gate;      /* the last of these gates that the program itself opens */
    atomic_uint in_call;     /* operations that are numbered and may not have been handed to the driver yet */
    bool stood_still;        /* a wait for it was given up after all the time that a wait may take (uses_wait.c) */
    bool calm;               /* nothing has to be looked after behind the last operation (plan_follower.h) */
    struct spw_place *place; /* the place of its device in the iteration; NULL: the device is not watched, or nobody has
                              * asked yet */
    CUevent behind;          /* recorded again whenever other streams are ordered behind its last operation; or NULL */
    unsigned mark_first, mark_count;
    struct {
        uint64_t number; /* the event is behind the operations up to this one */
        CUevent event;
    } marks[SPW_STREAM_MARKS];
};

/* The last users of a piece of memory: for each stream the number of its last operation. All zero at first. */
struct spw_uses {
    uint32_t stream[SPW_USES];
    uint32_t everybody; /* everything that was submitted so far to streams of these devices: bit per device; 31: that one and
                         * all above */
    uint8_t count;
    bool gathered; /* a use by a stream of ours may stand for earlier uses by the program's streams */
    uint64_t number[SPW_USES];
};

/* Returns the record of the stream that `handle` means for the calling thread, and makes it the first time. NULL: out of
 * memory, or the driver does not know the stream. Engine lock held. */
struct spw_stream *spw_stream_find_locked(CUstream handle);

/* Returns why that was NULL: -ENODEV, the driver does not know the stream; -ENOMEM, no record could be made. */
int spw_stream_find_failure_locked(void);

/* The thread's last answer. It is valid until some stream or context is destroyed. Handles below 3 mean other streams in
 * other contexts, so they are not kept here. */
struct spw_stream_answer {
    CUstream handle;
    uint64_t generation;
    struct spw_stream *stream;
};

extern _Thread_local struct spw_stream_answer spw_last_stream __attribute__((tls_model("initial-exec")));
extern uint64_t spw_streams_generation SPW_OURS; /* engine lock; raised when an answer may have become wrong */

static inline struct spw_stream *spw_stream_of_locked(CUstream handle)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_last_stream.handle == handle && spw_last_stream.generation == spw_streams_generation)
        return spw_last_stream.stream;
    return spw_stream_find_locked(handle);
}

/* Makes a record for a stream of our own (copy streams). */
struct spw_stream *spw_stream_adopt_locked(CUstream handle, CUcontext context);

/* The program destroys the stream; called before the driver is. Later waits use the mark that is recorded here. */
void spw_stream_gone_locked(CUstream handle);

/* A context is about to be destroyed. Afterwards everything that was submitted to its streams counts as complete. */
void spw_streams_context_gone_locked(CUcontext context);

struct spw_stream *spw_stream_by_id_locked(uint32_t id);

/* Lists streams of a context, `room` at most, with the number of their last operation: those with incomplete operations,
 * all of which have been handed to the driver. */
unsigned spw_streams_of_context_locked(CUcontext context, struct spw_stream **ret_streams, uint64_t *ret_begun,
                                       unsigned room);

/* Numbers the next operation of the stream. */
static inline uint64_t spw_stream_next_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ++s->begun;
}

/* The last numbered operation is being begun from here on, until spw_stream_begun_locked(): marks that are recorded
 * meanwhile do not cover it. The lock is held all the time. */
static inline void spw_stream_begins_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    s->beginning = s->begun;
}

/* The operation is begun, and counts as in a call until spw_op_end() or the like. */
static inline void spw_stream_begun_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    s->beginning = 0;
    atomic_fetch_add_explicit(&s->in_call, 1, memory_order_acquire);
}

/* Returns true if an operation that has a number may not have been handed to the driver yet. */
static inline bool spw_stream_in_call_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return s->beginning || atomic_load_explicit(&s->in_call, memory_order_acquire) != 0;
}

/* Records a mark if the last one is SPW_MARK_EVERY operations old. Errors are left to later waits. */
void spw_stream_maybe_mark_locked(struct spw_stream *s);

/* Records a mark that covers everything before the operation that is being begun. Returns 0 or a negative result. */
int spw_stream_mark_locked(struct spw_stream *s);

void spw_uses_add_slow_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number);

/* Adds operation `number` of the stream. It replaces an earlier use by that stream, so it must not be older: if the order
 * is not known, spw_uses_merge_locked() keeps the later one. */
static inline void spw_uses_add_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (u->stream[0] == s->id) /* no stream has id 0, which stands for no use */
        u->number[0] = number;
    else
        spw_uses_add_slow_locked(u, s, number);
}

/* Converts a set of devices, a bit for each ordinal, to the form of `everybody`. */
static inline uint32_t spw_uses_everybody_of(uint64_t devices)
{
    return (uint32_t)(devices & INT32_MAX) | (devices >> 31 ? UINT32_C(1) << 31 : 0);
}

/* Operation `number` of `s`, a stream of ours, is ordered behind all uses: replaces them by this one. */
void spw_uses_gather_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number);

/* Returns true if uses of the program may be known only through a use by a stream of ours, which is not complete. To be
 * asked before streams of ours are left out. */
bool spw_uses_hidden_locked(struct spw_uses *u);

/* Adds all uses of `from`. */
void spw_uses_merge_locked(struct spw_uses *into, const struct spw_uses *from);

/* The cheap test for the usual case of one stream: true implies spw_uses_only_locked(). */
static inline bool spw_uses_plainly_only(const struct spw_uses *u, const struct spw_stream *s)
{
    return !u->everybody && (u->count == 0 || (u->count == 1 && u->stream[0] == s->id));
}

/* Returns true if every use is known to be complete. Queries marks if that is not known yet. */
bool spw_uses_done_locked(struct spw_uses *u);

/* Returns true if only `s` may still be using the memory: what is submitted to `s` next comes after every use. */
bool spw_uses_only_locked(struct spw_uses *u, const struct spw_stream *s);

/* Returns true if a stream of the program other than `s` (NULL: any) may still be using the memory, also if a use by a
 * stream of ours stands for it. Queries marks. */
bool spw_uses_of_others_locked(struct spw_uses *u, const struct spw_stream *s);

/* Returns true if a use may not have reached the driver yet, in a call of another thread: then nothing can be ordered
 * behind it. */
bool spw_uses_in_call_locked(const struct spw_uses *u);

/* Records the marks that spw_uses_done_locked() needs to learn when the uses are complete. Returns 0; -EAGAIN: a use is in
 * a call of another thread; -EXDEV, -EBUSY: no event can be recorded on a stream at the moment. */
int spw_uses_mark_locked(struct spw_uses *u);

/* Returns true if every use is already known to be complete; queries nothing. */
bool spw_uses_seen_done_locked(const struct spw_uses *u);

/* Orders what is submitted to `s` next behind every use. Returns 0, a negative result, or -EAGAIN if a use is in a call of
 * another thread. */
int spw_uses_order_locked(struct spw_uses *u, struct spw_stream *s);

/* The same without the uses by `beside`, a stream of ours (NULL: none), unless these may stand for other uses. */
int spw_uses_order_beside_locked(struct spw_uses *u, struct spw_stream *s, const struct spw_stream *beside);

/* Returns true if the calling thread could submit to the stream: it exists, and is not another thread's own. */
bool spw_stream_is_reachable_locked(const struct spw_stream *s);

/* A capture is about to begin. Until it ends, no event can be recorded on the capturing stream and on the default stream,
 * and no context can be waited for. So this records a mark behind everything that was submitted to any stream. A stream on
 * which no mark can be recorded, such as another thread's own default stream, is waited for, unless another capture has
 * begun already. */
void spw_streams_capture_begins_locked(void);

/* The stream may become part of a capture: records a mark behind what was submitted to it. A negative result means that it
 * could not. */
int spw_stream_may_be_captured_locked(struct spw_stream *s);

/* Orders whatever the program submits next to other streams behind everything that was submitted to `s`, for streams that
 * work on one of `devices` (a bit for each) or on an unknown device. The host waits for `s` if a stream cannot be told to
 * wait. */
int spw_streams_follow_locked(struct spw_stream *s, uint64_t devices);

/* ---- gates: operations that may complete only after something that the program does next ---- */

/* The last numbered operation is a gate: a host function, a wait for a value, a kernel of NCCL. It and what is submitted to
 * the stream later is *gated* until it is known to be complete. */
void spw_stream_gate_locked(struct spw_stream *s);
/* The same for a gate that the program itself opens, not another process. */
void spw_stream_gate_of_program_locked(struct spw_stream *s);

/* A wait for operation `number` has taken too long: the operation counts as gated, by whatever comes before it. */
void spw_stream_gate_late_locked(struct spw_stream *s, uint64_t number);

/* The same for each use that is not known to be complete. */
void spw_uses_late_locked(struct spw_uses *u);

/* Returns true if anything is gated on any stream. Queries marks of gates that are not known to be complete. */
bool spw_streams_gated_locked(void);

/* Return true if the stream, or a use, is gated, as far as was known at the last call of spw_streams_gated_locked(). */
bool spw_stream_is_gated_locked(const struct spw_stream *s);
bool spw_uses_gated_locked(const struct spw_uses *u);

/* Returns true if uses by other streams than `s` may happen after what `s` is given next, although they were submitted
 * before: neither these uses nor a gate that the program opens are known to be complete. The uses may be ordered behind the
 * gate by an event, which numbers do not show. Queries marks. */
bool spw_uses_held_back_locked(struct spw_uses *u, const struct spw_stream *s);

/* Returns true if a use of `a` may end later than all of `u`. Queries marks. */
bool spw_uses_beyond_locked(struct spw_uses *a, const struct spw_uses *u);

extern uint64_t spw_waits_in_vain SPW_OURS; /* number of calls of spw_stream_gate_late_locked(); engine lock */
extern unsigned spw_gated_streams SPW_OURS; /* number of streams that are not known to have passed their gates; engine
                                             * lock */

/* Returns true if another stream of the program than `s`, on any device, may have work, or may get some. */
bool spw_streams_others_locked(const struct spw_stream *s);

extern unsigned spw_streams_blocking SPW_OURS; /* number of records made for blocking streams; engine lock */

void spw_stream_take_turn_slow_locked(struct spw_stream *s);

/* Takes the place of an operation of the program that is not submitted here, such as an allocation or free in stream order.
 * Between blocking streams and the legacy stream it would have synchronised: what comes after it would come after the work
 * of the others. */
static inline void spw_stream_take_turn_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (__builtin_expect(spw_streams_blocking > 1, 0))
        spw_stream_take_turn_slow_locked(s);
}

/* Returns how many streams have a record, for the summary. */
uint64_t spw_streams_count_locked(void);

/* Forgets everything without a driver call: for a forked child and for tests. */
void spw_streams_reset(void);
#endif
