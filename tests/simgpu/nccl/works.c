/* works.c - every rank posts what it has; every rank makes its own result of what all have posted, in the order of ranks. */
#include "works.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "elements.h"

enum part { NOTHING, ONE, ALL }; /* of how many parts: none, one, one for each rank */

/* What each rank reads and writes; where it differs at the root, its part comes second. */
static const struct shape {
    const char *name;
    enum part from, from_at_root, to, to_at_root;
    bool reduces;
    bool has_parts; /* what one rank offers is for several, or what one rank gets is from several */
} shapes[] = {
    [WORK_ALL_REDUCE] = {"all-reduce", ONE, ONE, ONE, ONE, true, false},
    [WORK_REDUCE] = {"reduce", ONE, ONE, NOTHING, ONE, true, false},
    [WORK_BROADCAST] = {"broadcast", NOTHING, ONE, ONE, ONE, false, false},
    [WORK_ALL_GATHER] = {"all-gather", ONE, ONE, ALL, ALL, false, true},
    [WORK_REDUCE_SCATTER] = {"reduce-scatter", ALL, ALL, ONE, ONE, true, true},
    [WORK_ALL_TO_ALL] = {"all-to-all", ALL, ALL, ALL, ALL, false, true},
    [WORK_GATHER] = {"gather", ONE, ONE, NOTHING, ALL, false, true},
    [WORK_SCATTER] = {"scatter", NOTHING, ALL, ONE, ONE, false, true},
    [WORK_SEND] = {"send", ONE, ONE, NOTHING, NOTHING, false, false},
    [WORK_RECEIVE] = {"receive", NOTHING, NOTHING, ONE, ONE, false, false},
};

static bool is_joint(const struct work *w)
{
    return w->kind != WORK_SEND && w->kind != WORK_RECEIVE;
}

static uint64_t part_bytes(const struct work *w)
{
    return w->count * element_bytes(w->type);
}

static uint64_t bytes_of(const struct ncclComm *c, const struct work *w, enum part part)
{
    return part == NOTHING ? 0 : part == ONE ? part_bytes(w) : c->ranks * part_bytes(w);
}

static enum part offers(const struct work *w, unsigned rank)
{
    return rank == w->root ? shapes[w->kind].from_at_root : shapes[w->kind].from;
}

static enum part gets(const struct work *w, unsigned rank)
{
    return rank == w->root ? shapes[w->kind].to_at_root : shapes[w->kind].to;
}

uint64_t work_reads(const struct ncclComm *c, const struct work *w)
{
    return bytes_of(c, w, is_joint(w) ? offers(w, c->rank) : shapes[w->kind].from);
}

uint64_t work_writes(const struct ncclComm *c, const struct work *w)
{
    return bytes_of(c, w, is_joint(w) ? gets(w, c->rank) : shapes[w->kind].to);
}

double work_link_bytes(const struct ncclComm *c, const struct work *w)
{
    const double part = (double)part_bytes(w), others = (double)(c->ranks - 1);
    if (!is_joint(w))
        return w->root == c->rank ? 0 : part;
    if (w->kind == WORK_ALL_REDUCE)
        return 2 * part * others / c->ranks;
    return shapes[w->kind].has_parts ? part * others : others > 0 ? part : 0;
}

/* ---- arriving ---- */

/* What all ranks have to say alike. */
static uint64_t agreement(const struct work *w)
{
    uint64_t digest = 1;
    const uint64_t parts[] = {is_joint(w) ? w->kind + 1u : 99, element_bytes(w->type) ? (uint64_t)w->type + 1 : 0,
                              shapes[w->kind].reduces ? (uint64_t)w->op + 1 : 0, is_joint(w) ? w->root : 0, w->count};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        digest = (digest ^ parts[i]) * 0x9e3779b97f4a7c15u;
    return digest | 1;
}

static unsigned own_channel(const struct ncclComm *c, const struct work *w)
{
    if (is_joint(w))
        return board_to_all(c->board, c->rank);
    return w->kind == WORK_SEND ? board_sent(c->board, c->rank, w->root) : board_wanted(c->board, w->root, c->rank);
}

/* Of those who read what this rank offers; it is one of them where it is to have a result. */
static uint32_t readers(const struct ncclComm *c, const struct work *w)
{
    uint32_t count = 0;
    if (!is_joint(w))
        return w->kind == WORK_SEND;
    for (unsigned i = 0; i < c->ranks && offers(w, c->rank) != NOTHING; i++)
        count += gets(w, i) != NOTHING;
    return count;
}

void work_arrive(struct ncclComm *c, struct work *w, double now_ns)
{
    memset(c->watched, 0, sizeof c->watched);
    w->number = is_joint(w) ? c->joint++ : w->kind == WORK_SEND ? c->sent[w->root]++ : c->received[w->root]++;
    const struct post post = {.ready_ns = now_ns,
                              .scale = w->scale_at ? element_value(w->type, w->scale_at) : w->scale,
                              .what = agreement(w),
                              .bytes = work_reads(c, w),
                              .readers = readers(c, w)};
    const int r = board_post(c->board, own_channel(c, w), w->number, post, w->from);
    if (r < 0) {
        (void)comm_complain(ncclSystemError, "rank %u could not offer its part (%s): %s", c->rank, shapes[w->kind].name,
                            strerror(-r));
        comm_fail(c, ncclSystemError);
    }
}

/* ---- meeting ---- */

static uint64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Now and then, since to ask takes a call of the system's. */
static void look_for(struct ncclComm *c, const struct work *w, unsigned rank, unsigned channel)
{
    const uint64_t now_ns = real_ns();
    if (c->error != ncclSuccess || now_ns - c->looked_ns < 1000000)
        return;
    c->looked_ns = now_ns;
    if (board_has(c->board, rank) || board_look(c->board, channel, w->number))
        return;
    (void)comm_complain(ncclRemoteError, "rank %u waits for rank %u, which is gone (%s)", c->rank, rank,
                        shapes[w->kind].name);
    comm_fail(c, ncclRemoteError);
}

/* A time before which it does not come. One that gets nowhere may itself wait for what this rank's host does after that:
 * after so much real time nobody waits for it, until it goes on. Time between looks counts in part only, since others get no
 * further either where the machine is busy. A host that makes calls goes on if they come fast enough: a thread that asks now
 * and then does so however long the others wait. Of a rank of this process no more is known than that its thread has not
 * come yet. */
static double not_before_ns(struct ncclComm *c, unsigned rank, struct shown shown)
{
    static const double patience_ns = 3e9, patience_here_ns = 3e7, most_ns = 1e7, real_for_virtual = 1000;
    struct watched *s = &c->watched[rank];
    const bool is_here = board_is_here(c->board, rank);
    const uint64_t now_ns = real_ns();
    const double passed_ns = (double)(now_ns - s->looked_ns);
    if (is_here)
        shown = (struct shown){0, 0};
    s->waited_ns += passed_ns < most_ns ? passed_ns : most_ns;
    if (shown.clock_ns > s->shown.clock_ns)
        s->waited_ns -= (shown.clock_ns - s->shown.clock_ns) * real_for_virtual;
    if (shown.moved_ns != s->shown.moved_ns || s->waited_ns < 0)
        s->waited_ns = 0;
    s->shown = shown;
    s->looked_ns = now_ns;
    return s->waited_ns > (is_here ? patience_here_ns : patience_ns) ? INFINITY : shown.clock_ns;
}

static void keep_later(double *ns, double other_ns)
{
    if (other_ns > *ns)
        *ns = other_ns;
}

/* Whether it has come, and wants the same; since when, or not before. */
static bool has_come(struct ncclComm *c, const struct work *w, unsigned rank, unsigned channel, double *since_ns)
{
    const struct shown shown = board_clock(c->board, rank); /* first: the rank posts before its clock goes on */
    const struct post *post = board_look(c->board, channel, w->number);
    if (!post) {
        look_for(c, w, rank, channel);
        keep_later(since_ns, not_before_ns(c, rank, shown));
        return false;
    }
    if (post->what != agreement(w) && c->error == ncclSuccess) {
        (void)comm_complain(ncclInvalidUsage, "rank %u wants %s of %llu elements (number %llu), rank %u something else",
                            c->rank, shapes[w->kind].name, (unsigned long long)w->count, (unsigned long long)w->number,
                            rank);
        comm_fail(c, ncclInvalidUsage);
    }
    keep_later(since_ns, post->ready_ns);
    return post->what == agreement(w);
}

bool work_is_met(struct ncclComm *c, const struct work *w, double *since_ns)
{
    bool all = true;
    if (w->kind == WORK_SEND)
        return has_come(c, w, w->root, board_wanted(c->board, c->rank, w->root), since_ns);
    if (w->kind == WORK_RECEIVE)
        return has_come(c, w, w->root, board_sent(c->board, w->root, c->rank), since_ns);
    for (unsigned i = 0; i < c->ranks; i++)
        all &= has_come(c, w, i, board_to_all(c->board, i), since_ns);
    return all;
}

/* ---- running ---- */

/* By way of memory that the system can write to, which the device's may not be while its accesses are watched. */
static bool take(struct ncclComm *c, unsigned rank, unsigned channel, uint64_t number, uint64_t at, void *to, uint64_t bytes)
{
    static char passed[1 << 16];
    const struct post *post = board_look(c->board, channel, number);
    int r = post ? 0 : -1;
    for (uint64_t done = 0, count; r == 0 && done < bytes; done += count) {
        count = bytes - done < sizeof passed ? bytes - done : sizeof passed;
        r = board_read(c->board, post, at + done, passed, count);
        if (r == 0)
            memcpy((char *)to + done, passed, count);
    }
    if (r == 0)
        return true;
    (void)comm_complain(ncclInternalError, "rank %u has not got what rank %u offered", c->rank, rank);
    comm_fail(c, ncclInternalError);
    return false;
}

static void reduce(struct ncclComm *c, const struct work *w)
{
    static struct reduction r; /* the device runs one kernel at a time */
    static unsigned char part[REDUCTION_ELEMENTS * sizeof(double)];
    const size_t each = element_bytes(w->type);
    const uint64_t start = w->kind == WORK_REDUCE_SCATTER ? c->rank * part_bytes(w) : 0;
    for (uint64_t done = 0; done < w->count; done += REDUCTION_ELEMENTS) {
        const size_t count = w->count - done < REDUCTION_ELEMENTS ? w->count - done : REDUCTION_ELEMENTS;
        reduction_begin(&r, w->type, w->op);
        for (unsigned i = 0; i < c->ranks; i++) {
            const unsigned channel = board_to_all(c->board, i);
            if (!take(c, i, channel, w->number, start + done * each, part, count * each))
                return;
            reduction_add(&r, part, count, board_look(c->board, channel, w->number)->scale);
        }
        reduction_take(&r, (char *)w->to + done * each, count);
    }
}

static void collect(struct ncclComm *c, const struct work *w)
{
    const uint64_t bytes = part_bytes(w);
    const bool is_from_all = gets(w, c->rank) == ALL;
    for (unsigned i = 0; i < c->ranks; i++)
        if (is_from_all || i == w->root)
            (void)take(c, i, board_to_all(c->board, i), w->number, offers(w, i) == ALL ? c->rank * bytes : 0,
                       (char *)w->to + (is_from_all ? i * bytes : 0), bytes);
}

void work_run(struct ncclComm *c, const struct work *w)
{
    if (w->kind == WORK_RECEIVE) {
        const unsigned channel = board_sent(c->board, w->root, c->rank);
        (void)take(c, w->root, channel, w->number, 0, w->to, part_bytes(w));
        board_done(c->board, channel, w->number);
    }
    if (!is_joint(w) || gets(w, c->rank) == NOTHING)
        return;
    if (shapes[w->kind].reduces)
        reduce(c, w);
    else
        collect(c, w);
    for (unsigned i = 0; i < c->ranks; i++)
        if (offers(w, i) != NOTHING)
            board_done(c->board, board_to_all(c->board, i), w->number);
}
