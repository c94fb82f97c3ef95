/* model_iteration.c - reads the operations of one iteration, the tensors that are alive in it, and their uses. */
#include "model_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "grow.h"
#include "live.h"

struct pass {
    struct model *model;
    uint64_t first, end; /* operations of the iteration */
    uint64_t next;       /* number of the next operation */
    struct live live;
    uint32_t *touched; /* by tensor: its latest entry in model->touches */
    size_t op_room, tensor_room, touch_room, touched_room, wait_room;
    uint64_t live_bytes; /* of all devices */
    uint32_t allocated;  /* in the iteration so far */
    uint64_t origin_ns;  /* device time of the first start */
    bool origin_known;
};

/* Returns true from the end of the operation before the first one on: later allocations belong to the iteration. */
static bool inside(const struct pass *p)
{
    return p->next >= p->first && p->next < p->end;
}

/* ---- tensors ---- */

static int add_tensor(struct pass *p, struct live_entry *e, uint32_t before)
{
    struct model *m = p->model;
    int r = SPW_GROW(m->tensors, p->tensor_room, m->tensor_count + 1);
    if (r < 0)
        return r;
    e->tensor = m->tensor_count++;
    m->tensors[e->tensor] = (struct model_tensor){.alloc = e->id,
                                                  .bytes = e->bytes,
                                                  .address = e->address,
                                                  .device = e->device,
                                                  .kind = (enum spw_alloc_kind)e->kind,
                                                  .site = e->site && e->site < m->site_count ? e->site : MODEL_NONE,
                                                  .alloc_before = before,
                                                  .free_after = MODEL_NONE,
                                                  .ordinal = MODEL_NONE,
                                                  .category = MODEL_OTHER,
                                                  .first_use = MODEL_NONE,
                                                  .last_use = MODEL_NONE,
                                                  .first_write = MODEL_NONE,
                                                  .idle_from = MODEL_NONE,
                                                  .idle_to = MODEL_NONE,
                                                  .certain_writes = true};
    return 0;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = (*(struct live_entry *const *)a)->id, y = (*(struct live_entry *const *)b)->id;
    return x < y ? -1 : x > y;
}

/* Begins the iteration after the last operation of the previous one: the allocations alive at this point exist before the
 * first operation. They are added in order of allocation, so that the same trace always gives the same model. */
static int begin(struct pass *p)
{
    struct live_entry **list = calloc(p->live.count + 1, sizeof(struct live_entry *));
    size_t n = 0;
    int r = list ? 0 : -ENOMEM;
    for (size_t i = 0; list && i < p->live.room; i++)
        if (live_is_entry(&p->live.places[i]))
            list[n++] = &p->live.places[i];
    if (list)
        qsort(list, n, sizeof(struct live_entry *), by_id);
    for (size_t i = 0; i < n && r == 0; i++) {
        p->live_bytes += live_is_of_device(list[i]->kind) ? list[i]->bytes : 0;
        r = add_tensor(p, list[i], 0);
    }
    free(list);
    return r;
}

static uint32_t here(const struct pass *p)
{
    return (uint32_t)(p->next - p->first);
}

static int take_alloc(struct pass *p, const struct spw_record_alloc *a)
{
    int r = live_add(&p->live, a);
    struct live_entry *e = r == 0 && inside(p) ? live_find(&p->live, a->id) : NULL;
    if (!e)
        return r;
    p->live_bytes += live_is_of_device(e->kind) ? e->bytes : 0;
    r = add_tensor(p, e, here(p));
    if (r == 0)
        p->model->tensors[e->tensor].ordinal = p->allocated++;
    return r;
}

static void take_free(struct pass *p, const struct spw_record_free *f)
{
    struct live_entry *e = live_find(&p->live, f->id);
    if (!e)
        return;
    /* Frees between the last operation and the next iteration's first belong to this iteration. */
    if (e->tensor != MODEL_NONE && p->next > p->first && p->next <= p->end)
        p->model->tensors[e->tensor].free_after = here(p) - 1;
    else if (e->tensor != MODEL_NONE && p->next == p->first)
        p->model->tensors[e->tensor].gone = true; /* before the first operation: the previous iteration's end */
    if (inside(p) && live_is_of_device(e->kind))
        p->live_bytes -= e->bytes;
    live_remove(&p->live, f->id);
}

/* ---- operations ---- */

static int touch(struct pass *p, struct model_op *op, uint32_t index, const struct spw_touch *t)
{
    const uint32_t access = t->access & SPW_ACCESS_BOTH;
    struct model *m = p->model;
    struct live_entry *e = live_find(&p->live, t->alloc);
    if (!e || e->tensor == MODEL_NONE)
        return 0;
    struct model_tensor *tensor = &m->tensors[e->tensor];
    if (tensor->last_use == index && p->touched) { /* already by this operation */
        m->touches[p->touched[e->tensor]].access |= access;
        m->touches[p->touched[e->tensor]].believed |= (t->access & SPW_ACCESS_BELIEVED) != 0;
        return 0;
    }
    int r = SPW_GROW(m->touches, p->touch_room, m->touch_count + 1);
    if (r == 0)
        r = SPW_GROW(p->touched, p->touched_room, (size_t)e->tensor + 1);
    if (r < 0)
        return r;
    p->touched[e->tensor] = m->touch_count;
    m->touches[m->touch_count++] =
        (struct model_touch){e->tensor, t->offset, t->bytes, access, (t->access & SPW_ACCESS_BELIEVED) != 0};
    op->touch_count++;
    tensor->use_count++;
    if (tensor->first_use == MODEL_NONE)
        tensor->first_use = index;
    tensor->last_use = index;
    if (access & SPW_ACCESS_WRITE && tensor->first_write == MODEL_NONE)
        tensor->first_write = index;
    if (op->kind == SPW_OP_LAUNCH || op->kind == SPW_OP_GRAPH)
        tensor->certain_writes = false;
    return 0;
}

static int take_op(struct pass *p, const struct spw_record_op *op)
{
    struct model *m = p->model;
    if (!inside(p))
        return ++p->next == p->first ? begin(p) : 0;
    int r = SPW_GROW(m->iteration, p->op_room, m->iteration_count + 1);
    if (r < 0)
        return r;
    uint32_t index = m->iteration_count++;
    struct model_op *o = &m->iteration[index];
    *o = (struct model_op){.kind = op->kind,
                           .function =
                               op->kind == SPW_OP_LAUNCH && op->function < m->function_count ? op->function : MODEL_NONE,
                           .stream = op->stream < m->stream_count ? op->stream : 0,
                           .number = p->next,
                           .time_ns = op->time_ns,
                           .bytes = op->bytes,
                           .grid = {op->grid[0], op->grid[1], op->grid[2]},
                           .block = {op->block[0], op->block[1], op->block[2]},
                           .shared_bytes = op->shared_bytes,
                           .captured = op->captured,
                           .synchronous = op->synchronous,
                           .everything = op->everything,
                           .first_touch = m->touch_count,
                           .live_bytes = p->live_bytes};
    for (uint32_t i = 0; i < op->touch_count && r == 0; i++)
        r = touch(p, o, index, &op->touches[i]);
    p->next++;
    return r;
}

static void take_duration(struct pass *p, const struct spw_record_duration *d)
{
    if (d->op < p->first || d->op >= p->end || d->op - p->first >= p->model->iteration_count)
        return;
    struct model_op *o = &p->model->iteration[d->op - p->first];
    o->timed = true;
    o->start_ns = d->start_ns;
    o->duration_ns = d->duration_ns;
    if (!p->origin_known || d->start_ns < p->origin_ns)
        p->origin_ns = d->start_ns;
    p->origin_known = true;
}

static int take_wait(struct pass *p, const struct spw_record_wait *w)
{
    struct model *m = p->model;
    if (!inside(p) && p->next != p->end)
        return 0;
    int r = SPW_GROW(m->iteration_waits, p->wait_room, m->iteration_wait_count + 1);
    if (r == 0)
        m->iteration_waits[m->iteration_wait_count++] =
            (struct model_wait){.kind = w->kind, .before = here(p), .time_ns = w->time_ns, .duration_ns = w->duration_ns};
    return r;
}

static int take(struct pass *p, const struct spw_record *r)
{
    switch (r->kind) {
    case SPW_RECORD_ALLOC:
        return take_alloc(p, &r->alloc);
    case SPW_RECORD_FREE:
        take_free(p, &r->free);
        return 0;
    case SPW_RECORD_OP:
        return take_op(p, &r->op);
    case SPW_RECORD_DURATION:
        take_duration(p, &r->duration);
        return 0;
    case SPW_RECORD_WAIT:
        return take_wait(p, &r->wait);
    default:
        return 0;
    }
}

/* ---- derived values ---- */

static void find_idle(struct model *m, uint32_t tensor, uint32_t from, uint32_t to, uint64_t ns)
{
    struct model_tensor *t = &m->tensors[tensor];
    if (t->idle_from != MODEL_NONE && ns <= t->longest_idle_ns)
        return;
    t->longest_idle_ns = ns;
    t->idle_from = from;
    t->idle_to = to;
}

static uint64_t start_of(const struct model *m, uint32_t op)
{
    return m->timed ? m->iteration[op].start_ns : m->iteration[op].time_ns - m->iteration[0].time_ns;
}

static uint64_t end_of(const struct model *m, uint32_t op)
{
    return start_of(m, op) + (m->timed ? m->iteration[op].duration_ns : 0);
}

/* Finds the longest stretch without use of each tensor. A tensor that lives on is also idle from its last use to the next
 * iteration's first. */
static int find_idles(struct model *m)
{
    uint32_t *last = calloc(m->tensor_count + 1, sizeof(*last));
    if (!last)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->tensor_count; i++)
        last[i] = MODEL_NONE;
    for (uint32_t i = 0; i < m->iteration_count; i++)
        for (uint32_t k = 0; k < m->iteration[i].touch_count; k++) {
            uint32_t t = m->touches[m->iteration[i].first_touch + k].tensor;
            uint64_t since = last[t] == MODEL_NONE ? 0 : end_of(m, last[t]), start = start_of(m, i);
            if (last[t] != MODEL_NONE)
                find_idle(m, t, last[t], i, start > since ? start - since : 0);
            last[t] = i;
        }
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        struct model_tensor *t = &m->tensors[i];
        if (!t->persistent || t->first_use == MODEL_NONE)
            continue;
        uint64_t since = end_of(m, t->last_use), around = m->iteration_ns > since ? m->iteration_ns - since : 0;
        find_idle(m, i, t->last_use, t->first_use, around + start_of(m, t->first_use));
    }
    free(last);
    return 0;
}

static void time_iteration(struct pass *p)
{
    struct model *m = p->model;
    m->timed = m->iteration_count > 0;
    for (uint32_t i = 0; i < m->iteration_count; i++)
        m->timed &= m->iteration[i].timed || m->iteration[i].captured;
    for (uint32_t i = 0; i < m->iteration_count; i++) {
        struct model_op *o = &m->iteration[i];
        if (o->timed)
            o->start_ns -= p->origin_ns;
        else if (m->timed && i) /* captured: it takes no time here */
            o->start_ns = o[-1].start_ns + o[-1].duration_ns;
        if (m->timed && o->start_ns + o->duration_ns > m->iteration_ns)
            m->iteration_ns = o->start_ns + o->duration_ns;
        if (o->timed && o->kind != SPW_OP_COPY_H2D && o->kind != SPW_OP_COPY_D2H)
            m->compute_ns += o->duration_ns;
        if (m->peak_bytes < o->live_bytes) {
            m->peak_bytes = o->live_bytes;
            m->peak_at = i;
        }
    }
    if (!m->timed && m->iteration_count)
        m->iteration_ns = m->shape_count ? m->shapes[m->shape].time_ns
                                         : m->iteration[m->iteration_count - 1].time_ns - m->iteration[0].time_ns;
}

/* Removes tensors that were allocated and freed with no operation in between, or freed before the first one: they are not
 * part of the iteration. */
static void drop_empty(struct model *m)
{
    uint32_t *moved = calloc(m->tensor_count + 1, sizeof(*moved)), kept = 0;
    for (uint32_t i = 0; moved && i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        bool empty = t->gone || (t->free_after != MODEL_NONE && t->alloc_before > t->free_after);
        moved[i] = kept;
        if (!empty)
            m->tensors[kept++] = *t;
    }
    for (uint32_t i = 0; moved && i < m->touch_count; i++)
        m->touches[i].tensor = moved[m->touches[i].tensor];
    if (moved)
        m->tensor_count = kept;
    free(moved);
}

static int finish(struct pass *p)
{
    struct model *m = p->model;
    if (m->iteration_count == 0)
        return 0;
    drop_empty(m);
    time_iteration(p);
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        struct model_tensor *t = &m->tensors[i];
        bool stays = t->free_after == MODEL_NONE;
        t->persistent = stays && t->ordinal == MODEL_NONE;
        t->lives_on = stays && !t->persistent;
        if (stays)
            t->free_after = m->iteration_count - 1;
        if (t->persistent && live_is_of_device(t->kind))
            m->persistent_bytes += t->bytes;
    }
    int r = model_share_time(m->iteration, m->iteration_count);
    if (r == 0)
        r = find_idles(m);
    return r == 0 ? model_guess(m) : r;
}

int model_iteration_read(struct spw_trace_reader *reader, struct model *model, uint64_t first, uint64_t end,
                         void (*progress)(void *context, uint64_t bytes), void *context)
{
    struct pass p = {.model = model, .first = first, .end = end};
    const struct spw_record *record;
    struct spw_trace_problem ignored;
    int r = 0, more = 1;
    for (uint64_t n = 0; r == 0 && more != 0; n++) {
        more = spw_trace_next(reader, &record, &ignored);
        if (more > 0)
            r = take(&p, record);
        if (progress && n % 65536 == 0)
            progress(context, spw_trace_position_bytes(reader));
    }
    live_clear(&p.live);
    free(p.touched);
    return r == 0 ? finish(&p) : r;
}
