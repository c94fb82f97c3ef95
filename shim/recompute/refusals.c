/* refusals.c - puts the verdicts on an iteration's operations together by kernel and reason. */
#include "refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course/course.h"
#include "layout.h"
#include "ledger.h"
#include "log.h"
#include "readable.h"

enum { SAID = 8 };

uint64_t spw_refusals_changes;
void (*spw_refusals_listener)(uint32_t device, const struct spw_refusals *refusals);

/* ---- what depends on an operation ---- */

/* Returns the bytes of tensors that are read again later, by the operation that wrote them last. The caller frees the list.
 * NULL: no memory. */
static uint64_t *waiting_bytes(const struct spw_course *course)
{
    uint64_t *bytes = calloc((size_t)course->op_count + 1, sizeof(*bytes));
    uint32_t *maker =
        calloc((size_t)course->tensor_count + 1, sizeof(*maker)); /* plus 1; 0: none, or it was counted already */
    for (uint32_t o = 0; bytes && maker && o < course->op_count; o++) {
        const struct spw_course_touch *touches = &course->touches[course->ops[o].first_touch];
        for (uint32_t i = 0; i < course->ops[o].touch_count; i++) {
            const uint32_t t = touches[i].tensor, made_by = maker[t];
            const bool waited = made_by && o > made_by;
            if (touches[i].access & SPW_COURSE_READS && waited && course->tensors[t].evictable) {
                bytes[made_by - 1] += course->tensors[t].bytes;
                maker[t] = 0;
            }
            if (touches[i].access & SPW_COURSE_WRITES)
                maker[t] = o + 1;
        }
    }
    if (!maker) {
        free(bytes);
        bytes = NULL;
    }
    free(maker);
    return bytes;
}

/* ---- by kernel and reason ---- */

struct kind {
    CUfunction function;
    uint32_t call; /* enum spw_iteration_kind */
    enum spw_replay_verdict verdict;
    uint32_t operations;
    uint64_t bytes;
};

static void add(struct kind *kinds, uint32_t *count, const struct kind *one)
{
    uint32_t k = 0;
    while (k < *count &&
           (kinds[k].function != one->function || kinds[k].call != one->call || kinds[k].verdict != one->verdict))
        k++;
    if (k == *count)
        kinds[(*count)++] = (struct kind){.function = one->function, .call = one->call, .verdict = one->verdict};
    kinds[k].operations += one->operations;
    kinds[k].bytes += one->bytes;
}

static int by_bytes(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->operations > y->operations ? -1 : x->operations < y->operations;
}

static void name(struct spw_refusal *it, CUfunction function, uint32_t call)
{
    static const char *const calls[SPW_ITERATION_KINDS] = {
        "a launch",           "a graph",     "a set", "a copy on the device", "a copy from the host",
        "a copy to the host", "another call"};
    if (function) {
        spw_function_name(function, it->kernel, sizeof(it->kernel));
        spw_readable_name(function, it->readable, sizeof(it->readable));
        return;
    }
    const char *what = calls[call < SPW_ITERATION_KINDS ? call : SPW_ITERATION_OTHER];
    (void)snprintf(it->kernel, sizeof(it->kernel), "%s", what);
    (void)snprintf(it->readable, sizeof(it->readable), "%s", what);
}

static struct spw_refusals *list_of(struct spw_device *d)
{
    if (!d->refusals)
        d->refusals = calloc(1, sizeof(*d->refusals));
    return d->refusals;
}

static void list(struct spw_refusals *r, const struct kind *kinds, uint32_t count)
{
    r->count = count < SPW_REFUSALS ? count : SPW_REFUSALS;
    r->left_out = count - r->count;
    r->left_out_bytes = 0;
    for (uint32_t k = r->count; k < count; k++)
        r->left_out_bytes += kinds[k].bytes;
    for (uint32_t k = 0; k < r->count; k++) {
        r->list[k] =
            (struct spw_refusal){.verdict = kinds[k].verdict, .operations = kinds[k].operations, .bytes = kinds[k].bytes};
        name(&r->list[k], kinds[k].function, kinds[k].call);
    }
}

/* False for copies from and to the host: they bring and take what is nowhere else, so nobody would expect them to be
 * replayed. */
static bool is_refusal(uint32_t call, enum spw_replay_verdict verdict)
{
    return verdict != SPW_REPLAYABLE && call != SPW_ITERATION_COPY_H2D && call != SPW_ITERATION_COPY_D2H;
}

static void changed(const struct spw_device *d, const struct spw_refusals *r)
{
    spw_refusals_changes++;
    if (spw_refusals_listener)
        spw_refusals_listener((uint32_t)d->ordinal, r);
}

static void say(const struct spw_device *d, const struct spw_refusals *r)
{
    for (uint32_t i = 0; i < r->count && i < SAID; i++)
        spw_info(
            "device %d: %s is not run again: %s (%u operations of an iteration; %.1f MiB that they made cannot be dropped)",
            d->ordinal, r->list[i].readable, spw_replay_verdict_text(r->list[i].verdict), r->list[i].operations,
            (double)r->list[i].bytes / (1 << 20));
    if (r->count + r->left_out > SAID)
        spw_info("device %d: nor are %u others", d->ordinal, r->count + r->left_out - SAID);
}

void spw_refusals_learned_locked(struct spw_device *d, const struct spw_course *course, const struct spw_judged *judged)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t *bytes = waiting_bytes(course);
    struct kind *kinds = calloc((size_t)course->op_count + 1, sizeof(*kinds));
    struct spw_refusals *r = bytes && kinds ? list_of(d) : NULL;
    uint32_t count = 0;
    if (r && course->op_count >= r->operations) {
        r->operations = course->op_count;
        r->replayable = 0;
        for (uint32_t o = 0; o < course->op_count; o++) {
            const uint32_t call = course->calls[o].kind;
            r->replayable += judged[o].verdict == SPW_REPLAYABLE;
            if (is_refusal(call, judged[o].verdict))
                add(kinds, &count, &(struct kind){judged[o].function, call, judged[o].verdict, 1, bytes[o]});
        }
        qsort(kinds, count, sizeof(*kinds), by_bytes);
        list(r, kinds, count);
        say(d, r);
        changed(d, r);
    }
    free(kinds);
    free(bytes);
}

/* ---- replays that were wrong ---- */

/* The entry with the least bytes makes room; an existing entry keeps its place. */
static struct spw_refusal *find_mismatch(struct spw_refusals *r, const struct spw_refusal *named)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->list[i].verdict == SPW_REPLAY_MISMATCH && !strcmp(r->list[i].kernel, named->kernel))
            return &r->list[i];
    if (r->count == SPW_REFUSALS) {
        r->left_out++;
        r->left_out_bytes += r->list[--r->count].bytes;
    }
    memmove(&r->list[1], &r->list[0],
            r->count * sizeof(r->list[0])); /* the mismatch comes first, as what people want to know first */
    r->count++;
    r->list[0] = *named;
    return &r->list[0];
}

static bool is_meant(const struct spw_course *course, uint32_t o, uint32_t operation, CUfunction function)
{
    const struct spw_course_call *a = &course->calls[o], *b = &course->calls[operation];
    return o == operation || (function && a->kind == b->kind && a->function == b->function);
}

void spw_refusals_mismatch_locked(struct spw_device *d, const struct spw_course *course, uint32_t operation,
                                  CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_refusal named = {.verdict = SPW_REPLAY_MISMATCH};
    struct spw_refusals *r = list_of(d);
    if (!r)
        return;
    const bool is_known = course && operation < course->op_count;
    uint64_t *bytes = is_known ? waiting_bytes(course) : NULL;
    name(&named, function, is_known ? course->calls[operation].kind : SPW_ITERATION_COPY_D2D);
    struct spw_refusal *it = find_mismatch(r, &named);
    const uint32_t before = it->operations;
    if (function)
        it->operations = it->bytes = 0;
    for (uint32_t o = 0; bytes && o < course->op_count; o++)
        if (is_meant(course, o, operation, function)) {
            it->operations++;
            it->bytes += bytes[o];
        }
    free(bytes);
    const uint32_t more = it->operations > before ? it->operations - before : 0;
    r->replayable -= more < r->replayable ? more : r->replayable;
    changed(d, r);
}
