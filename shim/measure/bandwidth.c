/* bandwidth.c - keeps pairs of events around copies, and medians of the results. */
#include "bandwidth.h"

#include <string.h>

#include "ask.h"
#include "context.h"
#include "events.h"
#include "ledger.h"

enum {
    OUT = 0,
    IN = 1,
    PAIRS = 32,        /* in each direction */
    WINDOW = 9,        /* newest values that count */
    ENOUGH = 3,        /* values that suffice */
    LEARNING = 1024,   /* copies of a device after which measuring becomes rare in any case */
    EVERY = 512,       /* then, out of this many copies, */
    IN_A_ROW = 8,      /* this many are measured */
    LARGE = 4 << 20,   /* bytes; a copy of this size is always large enough */
    LARGE_PART = 4,    /* so is a copy of this part (1/4) of the largest one */
    UNSURE_BEHIND = 4, /* copies submitted after one that was not measured, which may still run beside it */
};

#define GUESS_BYTES_PER_US 12000.0 /* a PCIe 3.0 link of 16 lanes, which nearly every machine has */
#define GUESS_SHARE        0.75    /* about right for links of PCIe 4 and 5 */
#define LEAST_SHARE        0.25
#define ALONE              0.05 /* the largest overlap, as a part of the copy, that counts as none */
#define TOGETHER           0.5

enum state { IDLE, PENDING, DONE }; /* DONE: its times can be read, and are kept for copies that overlapped it */

struct spw_bandwidth_pair {
    struct spw_event_pair events;
    enum state state;
    uint8_t device, direction;
    bool unsure; /* another copy that was not measured may have run beside it */
    uint64_t bytes, order;
};

struct window { /* the newest values, in a ring */
    double value[WINDOW], weight[WINDOW];
    unsigned count, next;
};

/* The newest copies that ran beside others, in a ring. What they say depends on the speed of copies alone. */
struct beside {
    struct shared {
        int direction;
        double bytes, us, beside_us;
    } copies[WINDOW];
    unsigned count, next;
};

static struct device {
    CUcontext context; /* of the events */
    struct lane {
        struct spw_bandwidth_pair pairs[PAIRS];
        struct window alone, any; /* bytes per microsecond */
        uint64_t largest_bytes;
        uint64_t unmeasured_order; /* number of the last large copy that was not measured; 0: none */
    } lanes[2];
    struct beside beside;
    uint64_t copies;               /* large copies, in either direction */
    uint64_t doubted;              /* number of copies when the known speed was last doubted */
    struct spw_bandwidth believed; /* what was known then; else all zero */
} devices[SPW_MAX_DEVICES];

/* ---- medians ---- */

static void window_add(struct window *w, double value, double weight)
{
    w->value[w->next] = value;
    w->weight[w->next] = weight;
    w->next = (w->next + 1) % WINDOW;
    w->count += w->count < WINDOW;
}

/* Returns the value up to which half of the weight lies. */
static double window_median(const struct window *w)
{
    double total = 0, below = 0, median = 0;
    bool used[WINDOW] = {false};
    for (unsigned i = 0; i < w->count; i++)
        total += w->weight[i];
    for (unsigned n = 0; n < w->count && below < total / 2; n++) {
        unsigned least = WINDOW;
        for (unsigned i = 0; i < w->count; i++)
            if (!used[i] && (least == WINDOW || w->value[i] < w->value[least]))
                least = i;
        used[least] = true;
        below += w->weight[least];
        median = w->value[least];
    }
    return median;
}

static const struct window *best_window(const struct lane *lane)
{
    return lane->alone.count ? &lane->alone : &lane->any;
}

/* ---- what a measured copy says ---- */

/* Returns how long `p`, which took `us`, ran beside other measured copies of that direction. A copy that has not ended
 * counts as still running beside it. */
static double overlap_us(const struct spw_bandwidth_pair *p, double us, int direction)
{
    const struct lane *lane = &devices[p->device].lanes[direction];
    double sum = 0;
    for (int i = 0; i < PAIRS; i++) {
        const struct spw_bandwidth_pair *q = &lane->pairs[i];
        double from, to;
        if (q == p || q->state == IDLE || !spw_event_elapsed_us(p->events.begin, q->events.begin, &from))
            continue;
        if (!spw_event_elapsed_us(p->events.begin, q->events.end, &to) || to > us)
            to = us;
        if (from < 0)
            from = 0;
        sum += to > from ? to - from : 0;
    }
    return sum < us ? sum : us;
}

static void learn(const struct spw_bandwidth_pair *p)
{
    struct device *v = &devices[p->device];
    struct lane *lane = &v->lanes[p->direction];
    double us, bytes = (double)p->bytes;
    if (!spw_event_elapsed_us(p->events.begin, p->events.end, &us) || us <= 0)
        return;
    if (overlap_us(p, us, p->direction) > ALONE * us)
        return; /* they share the direction's bandwidth, or one waits for the other */
    double beside = overlap_us(p, us, !p->direction);
    window_add(&lane->any, bytes / us, bytes);
    if (p->unsure)
        return;
    if (beside <= ALONE * us) {
        window_add(&lane->alone, bytes / us, bytes);
    } else if (beside >= TOGETHER * us) {
        v->beside.copies[v->beside.next] = (struct shared){p->direction, bytes, us, beside};
        v->beside.next = (v->beside.next + 1) % WINDOW;
        v->beside.count += v->beside.count < WINDOW;
    }
}

/* Returns which fraction of the speed alone was left while another copy ran beside these. Empty if that speed is not
 * known. */
static struct window shares_of(const struct device *v)
{
    struct window shares = {0};
    for (unsigned i = 0; i < v->beside.count; i++) {
        const struct shared *c = &v->beside.copies[i];
        const struct window *alone = &v->lanes[c->direction].alone;
        const double speed = window_median(alone);
        const double share = speed > 0 ? (c->bytes - speed * (c->us - c->beside_us)) / c->beside_us / speed : 0;
        if (speed > 0)
            window_add(&shares, share > 1 ? 1 : share < LEAST_SHARE ? LEAST_SHARE : share, c->bytes);
    }
    return shares;
}

/* Returns the oldest pair of the lane in that state, or NULL. */
static struct spw_bandwidth_pair *oldest(struct lane *lane, enum state state)
{
    struct spw_bandwidth_pair *best = NULL;
    for (int i = 0; i < PAIRS; i++)
        if (lane->pairs[i].state == state && (!best || lane->pairs[i].order < best->order))
            best = &lane->pairs[i];
    return best;
}

/* In the order of their ends, as far as two streams have one: a complete copy may stand beside an incomplete one. */
static void harvest(struct device *v)
{
    for (int direction = OUT; direction <= IN; direction++) {
        struct spw_bandwidth_pair *p;
        while ((p = oldest(&v->lanes[direction], PENDING)) && SPW_ASK(cuEventQuery, p->events.end) != CUDA_ERROR_NOT_READY) {
            p->state = DONE;
            learn(p);
        }
    }
}

/* ---- around a copy ---- */

/* Returns an unused pair, or else the one whose result is oldest. */
static struct spw_bandwidth_pair *take_pair(struct device *v, int direction)
{
    struct lane *lane = &v->lanes[direction], *other = &v->lanes[!direction];
    struct spw_bandwidth_pair *p = oldest(lane, IDLE);
    if (p)
        return p;
    p = oldest(lane, DONE);
    for (int i = 0; p && i < PAIRS; i++)
        other->pairs[i].unsure |= other->pairs[i].state == PENDING; /* it may have overlapped the copy that is forgotten
                                                                     * here */
    return p;
}

static bool is_large(struct lane *lane, uint64_t bytes)
{
    if (lane->largest_bytes < bytes)
        lane->largest_bytes = bytes;
    return bytes >= LARGE || bytes >= lane->largest_bytes / LARGE_PART;
}

static bool knows_enough(const struct device *v)
{
    return v->lanes[OUT].alone.count == WINDOW && v->lanes[IN].alone.count == WINDOW && v->beside.count == WINDOW;
}

static bool is_time(const struct device *v)
{
    return v->copies % EVERY < IN_A_ROW || (v->copies - v->doubted < LEARNING && !knows_enough(v));
}

static void goes_unmeasured(struct device *v, int direction)
{
    struct lane *other = &v->lanes[!direction];
    v->lanes[direction].unmeasured_order = v->copies;
    for (int i = 0; i < PAIRS; i++)
        other->pairs[i].unsure |= other->pairs[i].state == PENDING;
}

struct spw_bandwidth_pair *spw_bandwidth_begin_locked(int device, bool out, uint64_t bytes, CUcontext context,
                                                      CUstream stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    int direction = out ? OUT : IN;
    if (!is_large(&v->lanes[direction], bytes))
        return NULL;
    v->copies++;
    if (!v->context)
        v->context = context;
    struct spw_bandwidth_pair *p = NULL;
    if (is_time(v) && v->context == context) {
        harvest(v);
        p = take_pair(v, direction);
    }
    if (!p || !spw_event_pair_make(&p->events) || SPW_ASK(cuEventRecord, p->events.begin, stream) != CUDA_SUCCESS) {
        if (p)
            p->state = IDLE;
        goes_unmeasured(v, direction);
        return NULL;
    }
    uint64_t before = v->lanes[!direction].unmeasured_order;
    *p = (struct spw_bandwidth_pair){.events = p->events,
                                     .device = (uint8_t)device,
                                     .direction = (uint8_t)direction,
                                     .unsure = before && v->copies <= before + UNSURE_BEHIND,
                                     .bytes = bytes,
                                     .order = v->copies};
    return p;
}

void spw_bandwidth_end_locked(struct spw_bandwidth_pair *p, CUstream stream, bool submitted)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!p)
        return;
    if (submitted && SPW_ASK(cuEventRecord, p->events.end, stream) == CUDA_SUCCESS)
        p->state = PENDING;
    else
        goes_unmeasured(&devices[p->device], p->direction);
}

/* ---- what is known ---- */

void spw_bandwidth_collect_locked(int device)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    if (!devices[device].context || spw_context_enter(&guard, devices[device].context) < 0)
        return;
    harvest(&devices[device]);
    spw_context_leave(&guard);
}

static bool is_measured(const struct device *v)
{
    return best_window(&v->lanes[OUT])->count >= ENOUGH && best_window(&v->lanes[IN])->count >= ENOUGH;
}

/* As measured; else as the other direction; else a guess. */
static double one_way(const struct device *v, int direction)
{
    const struct window *own = best_window(&v->lanes[direction]), *other = best_window(&v->lanes[!direction]);
    const struct window *w = own->count ? own : other;
    return w->count ? window_median(w) : GUESS_BYTES_PER_US;
}

double spw_bandwidth_one_way_locked(int device, bool out)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct device *v = &devices[device];
    if (v->believed.h2d_bytes_per_us > 0 && !is_measured(v))
        return out ? v->believed.d2h_bytes_per_us : v->believed.h2d_bytes_per_us;
    return one_way(v, out ? OUT : IN);
}

bool spw_bandwidth_locked(int device, struct spw_bandwidth *ret_bandwidth)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct device *v = &devices[device];
    const struct window shares = shares_of(v);
    const bool share = shares.count >= ENOUGH, is_believed = v->believed.h2d_bytes_per_us > 0;
    if (is_believed && !is_measured(v)) {
        *ret_bandwidth = v->believed;
        return true;
    }
    *ret_bandwidth = (struct spw_bandwidth){.d2h_bytes_per_us = one_way(v, OUT),
                                            .h2d_bytes_per_us = one_way(v, IN),
                                            .duplex_share = share         ? window_median(&shares)
                                                            : is_believed ? v->believed.duplex_share
                                                                          : GUESS_SHARE,
                                            .duplex_measured = share || v->believed.duplex_measured};
    return is_measured(v);
}

void spw_bandwidth_doubt_locked(int device)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    struct spw_bandwidth known;
    if (!spw_bandwidth_locked(device, &known))
        return; /* it is still being measured */
    v->believed = known;
    v->doubted = v->copies;
    for (int direction = OUT; direction <= IN; direction++)
        v->lanes[direction].alone = v->lanes[direction].any = (struct window){0};
    v->beside = (struct beside){0};
}

bool spw_bandwidth_in_doubt_locked(int device)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct device *v = &devices[device];
    return v->believed.h2d_bytes_per_us > 0 && !is_measured(v) && v->copies - v->doubted < LEARNING;
}

static void forget_events(struct device *v, bool destroy)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct spw_bandwidth_pair *p = &v->lanes[i / PAIRS].pairs[i % PAIRS];
        spw_event_pair_drop(&p->events, destroy);
        *p = (struct spw_bandwidth_pair){.state = IDLE};
    }
    v->context = NULL;
}

void spw_bandwidth_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (devices[i].context == context)
            forget_events(&devices[i], true);
}

void spw_bandwidth_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        forget_events(&devices[i], false);
    memset(devices, 0, sizeof(devices));
}
