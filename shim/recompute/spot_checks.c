/* spot_checks.c - chooses the pages that are hashed, keeps the pairs of samples without an answer, and acts on a
 * difference. */
#include "spot_checks.h"

#include <errno.h>
#include <string.h>

#include "digest.h"
#include "lock.h"
#include "log.h"
#include "clean_check.h"
#include "readable.h"
#include "result.h"
#include "verify_records.h"

enum { PAIRS = 1024, LOOK_EVERY = 32 };

struct pair {
    int ordinal;
    uint32_t ticket;
    CUfunction function; /* of the operation that wrote it last; NULL: a copy or set */
    uint64_t course;
    uint32_t operations[SPW_REBUILD_OPS]; /* of the course: all that wrote it */
    unsigned operation_count;
    CUdeviceptr address;
    size_t bytes;
    uint64_t iteration; /* in which it was made again */
    bool is_defined;    /* everything that its makers leave undefined is filled */
};

struct spw_spot_check_counts spw_spot_check_counts;
atomic_bool spw_spot_checks_pending;

static struct pair pairs[PAIRS]; /* pair n at n modulo PAIRS, in the order of asking */
static uint64_t first, end;
static uint64_t iteration_now = 1,
                undefined_until; /* in iterations up to this one, undefined bytes may explain a difference */
static bool has_failed;

/* ---- which pages ---- */

static struct spw_sample sample_of(const struct spw_block *b)
{
    return spw_sample_of(b->address, b->size_bytes, b->spot_choice,
                         b->size_bytes <= SPW_SPOT_CHECK_WHOLE ? 1 : SPW_SAMPLE_SHARE);
}

void spw_spot_check_choose_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->spot_choice = (uint32_t)iteration_now;
}

int spw_spot_check_fill_locked(struct spw_device *d, const struct spw_block *b, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_sample sample = sample_of(b);
    return sample.pages ? spw_digest_fill_locked(d, s->context, s->handle, &sample) : 0;
}

/* ---- asking ---- */

void spw_spot_check_left_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_sample sample = sample_of(b);
    struct spw_stream *s;
    if (b->spot || !sample.pages || !b->content.maker || !b->content.maker->course)
        return;
    if (spw_clean_check_reader_locked(d, b, &s) < 0 ||
        spw_digest_sample_locked(d, s->context, s->handle, &sample, &b->spot) < 0)
        b->spot = 0;
    else
        spw_clean_check_read_locked(b, s);
    spw_spot_check_counts.unknown_count += !b->spot;
}

void spw_spot_check_forget_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->spot)
        spw_digest_forget_locked(b->spot);
    b->spot = 0;
}

void spw_spot_check_give_up_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_spot_check_counts.unknown_count += b->spot != 0;
    spw_spot_check_forget_locked(b);
}

static void look_at_answers(void);

/* Asks for the second sample on `s`, to be compared with the first. */
static void ask(struct spw_device *d, const struct spw_sample *sample, const struct pair *p, const struct spw_stream *s)
{
    if ((end - first) % LOOK_EVERY == LOOK_EVERY - 1)
        look_at_answers();
    if (end - first == PAIRS || spw_digest_sample_again_locked(d, s->context, s->handle, sample, p->ticket) < 0 ||
        spw_digests_send_locked(d, s->handle) < 0) {
        spw_digest_forget_locked(p->ticket);
        spw_spot_check_counts.unknown_count++;
        return;
    }
    pairs[end++ % PAIRS] = *p;
    spw_spot_check_counts.asked_count++;
    atomic_store_explicit(&spw_spot_checks_pending, true, memory_order_relaxed);
}

void spw_spot_check_made_locked(struct spw_device *d, struct spw_block *b, struct spw_rebuild *rebuild, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_sample sample = sample_of(b);
    struct pair p = {
        .ordinal = d->ordinal, .ticket = b->spot, .address = b->address, .bytes = b->size_bytes, .iteration = iteration_now};
    if (!b->spot)
        return;
    b->spot = 0;
    p.function = b->content.maker->function;
    p.course = b->content.maker->course;
    for (unsigned i = 0; i < rebuild->op_count; i++)
        p.operations[p.operation_count++] = rebuild->ops[i]->operation;
    p.is_defined = spw_rebuild_defined(rebuild) == rebuild->op_count;
    ask(d, &sample, &p, s);
    spw_uses_add_locked(&b->object.uses, s, s->begun);
}

/* ---- answers ---- */

void spw_spot_check_next_iteration_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    iteration_now++;
}

/* Notes that a part of what the makers write stays undefined. All of it is filled from now on; what was launched before
 * that is replayed in at most one further iteration. */
static void note_undefined(const struct pair *p)
{
    undefined_until = iteration_now + 1;
    for (unsigned i = 0; i < p->operation_count; i++) {
        const struct spw_recorded_op writer = {.course = p->course, .operation = p->operations[i]};
        struct spw_verify_record *w = spw_verify_record_of(p->ordinal, &writer);
        if (w)
            w->leaves_undefined = true;
    }
}

static void put_down_to_undefined(const struct pair *p)
{
    spw_spot_check_counts.explained_count++;
    spw_info("device %d: a sample of %zu bytes at 0x%llx that were computed again differs, which is put down to bytes that "
             "nobody has written: some were seen in what was computed again beside it",
             p->ordinal, p->bytes, (unsigned long long)p->address);
}

static void fail(const struct pair *p)
{
    char buffer[256];
    spw_spot_check_counts.failed_count++;
    if (has_failed)
        return;
    has_failed = true;
    spw_warn(
        "device %d: running %s again gave other bytes than it had made (%zu bytes at 0x%llx), and things were computed "
        "with them: no result reaches the host any more. SPILLWAY_RECOMPUTE=off runs nothing again" SPW_SEE("other-bytes"),
        p->ordinal, p->function ? spw_readable_name(p->function, buffer, sizeof(buffer)) : "a copy", p->bytes,
        (unsigned long long)p->address);
}

/* `left` is the difference of the two samples, and the number of words in both that are the pattern. */
static void judge(const struct pair *p, struct spw_hash left)
{
    if (left.word[1] && !p->is_defined)
        note_undefined(p);
    if (!left.word[0])
        spw_spot_check_counts.equal_count++;
    else if (p->iteration <= undefined_until)
        put_down_to_undefined(p);
    else
        fail(p);
}

/* Returns false if the answer is still to come. */
static bool look_at(struct pair *p)
{
    struct spw_hash left;
    const int answer = spw_digest_answer_locked(&spw_devices[p->ordinal], p->ticket, &left);
    if (answer == 0)
        return false;
    if (answer > 0)
        judge(p, left);
    else
        spw_spot_check_counts.unknown_count++;
    spw_digest_forget_locked(p->ticket);
    return true;
}

/* Looks at the answers of all devices in the order of asking: what one shows to be undefined explains later ones. */
static void look_at_answers(void)
{
    while (first != end && look_at(&pairs[first % PAIRS]))
        first++;
    atomic_store_explicit(&spw_spot_checks_pending, has_failed || first != end, memory_order_relaxed);
}

CUresult spw_spot_check_look(CUresult result)
{
    spw_lock();
    look_at_answers();
    const bool failed = has_failed;
    spw_unlock();
    return failed ? CUDA_ERROR_ILLEGAL_STATE : result;
}

void spw_spot_check_reset(void)
{
    first = end = undefined_until = 0;
    iteration_now = 1;
    has_failed = false;
    spw_spot_check_counts = (struct spw_spot_check_counts){0};
    atomic_store_explicit(&spw_spot_checks_pending, false, memory_order_relaxed);
}
