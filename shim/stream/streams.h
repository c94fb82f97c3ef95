/* streams.h - what was submitted to which stream, and how to wait for a part of it.
 *
 * Every operation that the shim lets through gets the next number of its stream. Whoever used a piece of memory is then
 * a (stream, number) pair, and waiting for it means waiting for any event that was recorded on that stream after that
 * operation. Such events ("marks") are recorded only when someone has to wait, and, while memory is short, every few
 * operations, so that waiting for an old operation does not wait for the newest.
 *
 * Inside, streams.c keeps the records, marks.c their marks, and uses.c asks and orders. The host waits by uses_wait.h. */
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
    int device;              /* the ordinal; -1: the driver does not tell */
    uint64_t owner;          /* distinguishes handles that mean another stream elsewhere: context or thread; else 0 */
    uint32_t id;             /* index in the table of streams; 0 is never used */
    bool ours;               /* adopted */
    bool blocking;           /* the program's, and it takes turns with the legacy stream of its context, or is that */
    bool gone;               /* destroyed by the program: only its last mark is left of it */
    uint32_t waiters;        /* threads that wait for one of its marks: its events have to stay */
    bool per_thread;         /* only its own thread can record an event on it; `owner` is the thread */
    uint64_t begun;          /* operations numbered so far */
    uint64_t allocated;      /* the number that follows where the program has allocated last, in its order; 0: nowhere */
    uint64_t beginning;      /* the number of the one that is being begun, which the driver does not have yet; 0: none */
    uint64_t done;           /* all up to this number are known to be complete */
    uint64_t gate_first;     /* from here on they may wait for what the program does next (gates.c), ... */
    uint64_t gate_last;      /* ... until this one is done; 0: none does */
    uint64_t host_gate;      /* the last of these that the program itself opens */
    atomic_uint in_call;     /* operations that are numbered but possibly not yet handed to the driver */
    bool stood_still;        /* it has been waited for in vain, with all the time that it may have (uses_wait.c) */
    bool calm;               /* nothing is to be looked after behind the operation that was begun last (plan_follower.h) */
    struct spw_place *place; /* of its device in the iteration; NULL: it is not watched, or nobody has asked yet */
    CUevent behind;          /* recorded anew wherever other streams come after what it was given last; or NULL */
    unsigned mark_first, mark_count;
    struct {
        uint64_t number; /* covers the operations up to this one */
        CUevent event;
    } marks[SPW_STREAM_MARKS];
};

/* Who used a piece of memory last: for each stream the number of its last operation. Starts as all zeroes. */
struct spw_uses {
    uint32_t stream[SPW_USES];
    uint32_t everybody; /* all that was submitted until now to the streams of these devices: bit per device, 31: and above */
    uint8_t count;
    bool gathered; /* the use of a stream of ours may stand for earlier ones of the program's streams */
    uint64_t number[SPW_USES];
};

/* The record of the stream that `handle` means for the calling thread. Creates it at first sight; NULL when out of memory or
 * when the driver does not know the stream. Engine lock held. */
struct spw_stream *spw_stream_find_locked(CUstream handle);

/* Why it was NULL: -ENODEV, the driver does not know the stream; -ENOMEM, no record could be made for it. */
int spw_stream_find_failure_locked(void);

/* The thread's last answer, which is right until some stream or context goes. Handles below 3 mean other streams in other
 * contexts. */
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

/* A record for a stream of our own (copy streams). */
struct spw_stream *spw_stream_adopt_locked(CUstream handle, CUcontext context);

/* The program destroys the stream: called before the driver is. Later waits use the mark that is recorded here. */
void spw_stream_gone_locked(CUstream handle);

/* A context is about to be destroyed, everything submitted to its streams counts as complete afterwards. */
void spw_streams_context_gone_locked(CUcontext context);

struct spw_stream *spw_stream_by_id_locked(uint32_t id);

/* The streams of a context that have nothing on its way to the driver, with how far each has been numbered; at most `room`
 * of them. */
unsigned spw_streams_of_context_locked(CUcontext context, struct spw_stream **ret_streams, uint64_t *ret_begun,
                                       unsigned room);

/* Numbers the next operation of the stream. */
static inline uint64_t spw_stream_next_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ++s->begun;
}

/* From here on the operation that was numbered last is being begun: what is recorded on the stream meanwhile does not stand
 * for it. Until spw_stream_begun_locked(), under one hold of the lock. */
static inline void spw_stream_begins_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    s->beginning = s->begun;
}

/* It is begun, and in a call until spw_op_end() or the like. */
static inline void spw_stream_begun_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    s->beginning = 0;
    atomic_fetch_add_explicit(&s->in_call, 1, memory_order_acquire);
}

/* True when an operation that has a number may not be with the driver yet. */
static inline bool spw_stream_in_call_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return s->beginning || atomic_load_explicit(&s->in_call, memory_order_acquire) != 0;
}

/* Records a mark if the last one is SPW_MARK_EVERY operations old. Errors are left to whoever has to wait. */
void spw_stream_maybe_mark_locked(struct spw_stream *s);

/* Records a mark now that covers all that was begun before the operation that is being begun. 0 or a negative result. */
int spw_stream_mark_locked(struct spw_stream *s);

void spw_uses_add_slow_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number);

/* Operation `number` of the stream. It takes the place of an earlier one, so it must not come before that: where the order
 * is not known, spw_uses_merge_locked() keeps the later one. */
static inline void spw_uses_add_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (u->stream[0] == s->id) /* 0, where there is no use, is nobody's */
        u->number[0] = number;
    else
        spw_uses_add_slow_locked(u, s, number);
}

/* Devices, bit per ordinal, as `everybody` has them. */
static inline uint32_t spw_uses_everybody_of(uint64_t devices)
{
    return (uint32_t)(devices & INT32_MAX) | (devices >> 31 ? UINT32_C(1) << 31 : 0);
}

/* Operation `number` of `s`, a stream of ours, comes after all uses, and is the only one that is remembered. */
void spw_uses_gather_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number);

/* True when some of the program's uses may be known by a use of a stream of ours alone, which is not complete. Whoever
 * leaves streams of ours out asks this first. */
bool spw_uses_hidden_locked(struct spw_uses *u);

/* Adds all that `from` stands for. */
void spw_uses_merge_locked(struct spw_uses *into, const struct spw_uses *from);

/* The cheap answer for the usual case, one stream: true means spw_uses_only_locked(). */
static inline bool spw_uses_plainly_only(const struct spw_uses *u, const struct spw_stream *s)
{
    return !u->everybody && (u->count == 0 || (u->count == 1 && u->stream[0] == s->id));
}

/* True when every use is known to be complete; asks the driver about marks where that is not known yet. */
bool spw_uses_done_locked(struct spw_uses *u);

/* True when `s` alone may still be using it: what is submitted to `s` next comes after every use. */
bool spw_uses_only_locked(struct spw_uses *u, const struct spw_stream *s);

/* True when another stream of the program's than `s` (NULL: any) may still be using it, also where a stream of ours stands
 * for it. Asks the driver as above. */
bool spw_uses_of_others_locked(struct spw_uses *u, const struct spw_stream *s);

/* True when some use may not have reached the driver yet, in a call of another thread: nothing can be ordered after it now.
 */
bool spw_uses_in_call_locked(const struct spw_uses *u);

/* Sees to it that spw_uses_done_locked() learns when the uses are complete: records the marks that are missing. -EAGAIN: one
 * is in a call of another thread; -EXDEV, -EBUSY: on one's stream no event can be recorded now. */
int spw_uses_mark_locked(struct spw_uses *u);

/* True when every use is known to be complete already; asks nobody. */
bool spw_uses_seen_done_locked(const struct spw_uses *u);

/* Orders what is submitted to `s` next after every use. -EAGAIN: one is in a call of another thread. */
int spw_uses_order_locked(struct spw_uses *u, struct spw_stream *s);

/* The same, but for the uses on `beside`, a stream of ours, where these stand for no others; NULL: for none. */
int spw_uses_order_beside_locked(struct spw_uses *u, struct spw_stream *s, const struct spw_stream *beside);

/* True when the calling thread could submit to the stream: it is there, and not another thread's own. */
bool spw_stream_is_reachable_locked(const struct spw_stream *s);

/* A capture is about to begin. Until it ends, no event can be recorded on the stream that captures, nor on the default
 * stream, and a context cannot be waited for. So what was submitted to any stream gets its mark now. Where it can get none,
 * as on other threads' own default streams, it is waited for, unless another capture has begun already. */
void spw_streams_capture_begins_locked(void);

/* The stream may become part of a capture: what was submitted to it gets its mark. Negative: it could not. */
int spw_stream_may_be_captured_locked(struct spw_stream *s);

/* Whatever the program submits next to its other streams that work on one of `devices` (a bit for each), or on who knows
 * which, comes after all that was submitted to `s`. Where a stream cannot be told to wait, the host waits. */
int spw_streams_follow_locked(struct spw_stream *s, uint64_t devices);

/* ---- gates: operations that may end only once the program does what it does next ---- */

/* The operation that was numbered last is such a gate: a function of the host's, a wait for a value, NCCL's kernels. It and
 * what is submitted to the stream later is *gated* until it is known to be done. */
void spw_stream_gate_locked(struct spw_stream *s);
/* The same of one that the program opens, and not another process. */
void spw_stream_gate_of_program_locked(struct spw_stream *s);

/* A wait for operation `number` has taken too long: it is gated, by whatever lies before it. */
void spw_stream_gate_late_locked(struct spw_stream *s, uint64_t number);

/* The same for each of the uses that is not known to be complete. */
void spw_uses_late_locked(struct spw_uses *u);

/* True when anything is gated on any stream. Asks the driver where a gate is not known to be done. */
bool spw_streams_gated_locked(void);

/* Of the stream, or of some of the uses: as far as was known when spw_streams_gated_locked() was asked last. */
bool spw_stream_is_gated_locked(const struct spw_stream *s);
bool spw_uses_gated_locked(const struct spw_uses *u);

/* True when some uses by others than `s` may come behind what `s` is given next, although they were submitted before: such a
 * gate is not known to be done, and these uses are not either. They may be behind the gate by an event, which no number
 * shows. Asks the driver. */
bool spw_uses_held_back_locked(struct spw_uses *u, const struct spw_stream *s);

/* True when some of `a` may end later than all of `u`. Asks the driver. */
bool spw_uses_beyond_locked(struct spw_uses *a, const struct spw_uses *u);

extern uint64_t spw_waits_in_vain
    SPW_OURS; /* since the start, which spw_stream_gate_late_locked() was told of; engine lock */
extern unsigned spw_gated_streams SPW_OURS; /* that are not known to have passed their gates; engine lock */

/* True when another stream of the program's than `s` may have work, or get some that it is not known to have had before; on
 * whichever device. */
bool spw_streams_others_locked(const struct spw_stream *s);

extern unsigned spw_streams_blocking SPW_OURS; /* records that were made for blocking streams; engine lock */

void spw_stream_take_turn_slow_locked(struct spw_stream *s);

/* In place of an operation of the program's that is none here, as an allocation or a free in stream order is. Among blocking
 * streams and the legacy stream it would take its turn: what comes after it would come after what the others have, too. */
static inline void spw_stream_take_turn_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (__builtin_expect(spw_streams_blocking > 1, 0))
        spw_stream_take_turn_slow_locked(s);
}

/* How many streams have a record, for the summary. */
uint64_t spw_streams_count_locked(void);

/* Forgets everything without a driver call: for a forked child and for tests. */
void spw_streams_reset(void);
#endif
