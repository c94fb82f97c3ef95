/* model_run.c - the pass over all records: which process ran, how much was allocated, which iterations there are. */
#include "model_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "kernel_names.h"
#include "live.h"

enum { FINDERS = 2, SPARE_IDS = 1 << 16, MAX_REFUSALS = 4096 }; /* finders: by all that tells operations apart, by kernels */

struct pass {
    struct model *model;
    struct model_run *run;
    struct live live;
    struct model_finder finders[FINDERS];
    uint64_t *live_bytes; /* by index of the device */
    uint64_t all_live_bytes;
    size_t device_room, function_room, module_room, site_room, stream_room, live_room, timed_room, refusal_room;
    uint64_t records; /* so far */
};

/* ---- definitions ---- */

/* Ids are dense: each has a record that defines it, before those of larger ids. So memory is used in proportion to the
 * records that the file contains, and not to a number in it. Some records may be lost. */
static bool is_plausible(const struct pass *p, uint32_t id)
{
    return id < p->records + SPARE_IDS;
}

static char *copy_text(const char *text)
{
    return strdup(text ? text : "");
}

static int take_process(struct model *m, const struct spw_record_process *p)
{
    if (m->command)
        return 0;
    m->pid = p->pid;
    m->rank = p->rank;
    m->started_unix_ns = p->started_unix_ns;
    m->mode = copy_text(p->mode);
    m->version = copy_text(p->version);
    m->command = copy_text(p->command);
    m->host = copy_text(p->host);
    return m->mode && m->version && m->command && m->host ? 0 : -ENOMEM;
}

static struct model_device *device_of(struct pass *p, uint32_t ordinal)
{
    struct model *m = p->model;
    for (uint32_t i = 0; i < m->device_count; i++)
        if (m->devices[i].ordinal == ordinal)
            return &m->devices[i];
    if (m->device_count >= 1024 || SPW_GROW(m->devices, p->device_room, m->device_count + 1) < 0)
        return NULL;
    struct model_device *d = &m->devices[m->device_count++];
    d->ordinal = ordinal;
    d->name = copy_text("");
    return d;
}

static int take_device(struct pass *p, const struct spw_record_device *r)
{
    struct model_device *d = device_of(p, r->device);
    if (!d)
        return -ENOMEM;
    free(d->name);
    d->name = copy_text(r->name);
    d->total_bytes = r->total_bytes;
    d->free_bytes = r->free_bytes;
    d->budget_bytes = r->budget_bytes;
    return d->name ? 0 : -ENOMEM;
}

/* A damaged trace may contain any number. Implausible values count as unknown. */
static int take_machine(struct pass *p, const struct spw_record_machine *r)
{
    enum { MOST_GRANULE_BYTES = 1 << 30, MOST_MOVE_NS = 1000000000, MILLION = 1000000 };
    struct model_device *d = device_of(p, r->device);
    if (!d)
        return -ENOMEM;
    d->machine = *r;
    if (r->granule_bytes > MOST_GRANULE_BYTES)
        d->machine.granule_bytes = 0;
    if (r->small_bytes > MOST_GRANULE_BYTES)
        d->machine.small_bytes = 0;
    if (r->move_ns > MOST_MOVE_NS)
        d->machine.move_ns = 0;
    if (r->duplex_ppm > MILLION)
        d->machine.duplex_ppm = 0;
    return 0;
}

static int take_function(struct pass *p, const struct spw_record_function *r)
{
    struct model *m = p->model;
    if (!is_plausible(p, r->id))
        return 0;
    int e = SPW_GROW(m->functions, p->function_room, r->id + 1);
    if (e < 0 || m->functions[r->id].name)
        return e;
    if (m->function_count <= r->id)
        m->function_count = r->id + 1;
    m->functions[r->id] =
        (struct model_function){.name = copy_text(r->name), .readable = kernel_readable_name(r->name), .parsed = r->parsed};
    e = m->functions[r->id].name && m->functions[r->id].readable ? 0 : -ENOMEM;
    for (int by = 0; by < FINDERS && e == 0; by++)
        e = spw_follow_function(p->finders[by].follow, r->id, r->name);
    return e;
}

static int take_module(struct pass *p, const struct spw_record_module *r)
{
    struct model *m = p->model;
    if (!is_plausible(p, r->id))
        return 0;
    int e = SPW_GROW(m->modules, p->module_room, r->id + 1);
    if (e < 0 || m->modules[r->id].path)
        return e;
    if (m->module_count <= r->id)
        m->module_count = r->id + 1;
    struct model_module *module = &m->modules[r->id];
    *module = (struct model_module){.path = copy_text(r->path),
                                    .start = r->start,
                                    .end = r->end,
                                    .file_offset = r->file_offset,
                                    .build_id_bytes = r->build_id_bytes};
    if (r->build_id_bytes)
        memcpy(module->build_id, r->build_id, r->build_id_bytes);
    return module->path ? 0 : -ENOMEM;
}

static int take_site(struct pass *p, const struct spw_record_site *r)
{
    struct model *m = p->model;
    if (!is_plausible(p, r->id))
        return 0;
    int e = SPW_GROW(m->sites, p->site_room, r->id + 1);
    if (e < 0 || m->sites[r->id].frames)
        return e;
    if (m->site_count <= r->id)
        m->site_count = r->id + 1;
    struct model_site *s = &m->sites[r->id];
    s->frames = calloc(r->count + 1, sizeof(*s->frames));
    if (!s->frames)
        return -ENOMEM;
    s->count = r->count;
    if (r->count)
        memcpy(s->frames, r->frames, r->count * sizeof(*s->frames));
    return 0;
}

static int take_stream(struct pass *p, const struct spw_record_stream *r)
{
    struct model *m = p->model;
    if (!is_plausible(p, r->id))
        return 0;
    int e = SPW_GROW(m->streams, p->stream_room, r->id + 1);
    if (e < 0)
        return e;
    if (m->stream_count <= r->id)
        m->stream_count = r->id + 1;
    m->streams[r->id] =
        (struct model_stream){.device = r->device, .flags = r->flags, .legacy = r->legacy, .per_thread = r->per_thread};
    return 0;
}

/* A device's list starts again with its first entry. */
static void forget_refusals(struct model *m, uint32_t device)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->refusal_count; i++)
        if (m->refusals[i].device == device)
            model_refusal_clear(&m->refusals[i]);
        else
            m->refusals[kept++] = m->refusals[i];
    m->refusal_count = kept;
}

void model_refusal_clear(struct model_refusal *refusal)
{
    free(refusal->readable);
    free(refusal->kernel);
    free(refusal->reason);
    free(refusal->text);
}

static int take_refusal(struct pass *p, const struct spw_record_refusal *r)
{
    struct model *m = p->model;
    if (r->index == 0)
        forget_refusals(m, r->device);
    if (m->refusal_count == MAX_REFUSALS)
        return 0;
    if (SPW_GROW(m->refusals, p->refusal_room, m->refusal_count + 1) < 0)
        return -ENOMEM;
    struct model_refusal *it = &m->refusals[m->refusal_count++];
    *it = (struct model_refusal){.device = r->device,
                                 .kernel = copy_text(r->kernel),
                                 .readable = kernel_readable_name(r->kernel),
                                 .reason = copy_text(r->reason),
                                 .text = copy_text(r->text),
                                 .operations = r->operations,
                                 .bytes = r->bytes};
    return it->kernel && it->readable && it->reason && it->text ? 0 : -ENOMEM;
}

/* ---- memory ---- */

static void now(struct pass *p, uint64_t time_ns)
{
    if (p->model->duration_ns < time_ns)
        p->model->duration_ns = time_ns;
}

static int count_bytes(struct pass *p, uint32_t ordinal, uint64_t bytes, bool more)
{
    struct model_device *d = device_of(p, ordinal);
    if (!d)
        return -ENOMEM;
    size_t index = (size_t)(d - p->model->devices);
    int r = SPW_GROW(p->live_bytes, p->live_room, index + 1);
    if (r < 0)
        return r;
    p->live_bytes[index] += more ? bytes : -bytes;
    p->all_live_bytes += more ? bytes : -bytes;
    if (more && d->peak_bytes < p->live_bytes[index] && p->live_bytes[index] >> 62 == 0) {
        d->peak_bytes = p->live_bytes[index];
        d->peak_op = p->model->ops;
    }
    return 0;
}

static int take_alloc(struct pass *p, const struct spw_record_alloc *a)
{
    now(p, a->time_ns);
    p->model->allocs++;
    if (a->site && a->site < p->model->site_count) {
        p->model->sites[a->site].allocations++;
        p->model->sites[a->site].bytes += a->bytes;
    }
    int r = live_add(&p->live, a);
    if (r == 0 && live_is_of_device(a->kind))
        r = count_bytes(p, a->device, a->bytes, true);
    for (int by = 0; by < FINDERS && r == 0; by++)
        r = spw_follow_alloc(p->finders[by].follow, a);
    return r;
}

static int take_free(struct pass *p, const struct spw_record_free *f)
{
    struct live_entry *e = live_find(&p->live, f->id);
    now(p, f->time_ns);
    p->model->frees++;
    if (!e)
        return 0;
    int r = live_is_of_device(e->kind) ? count_bytes(p, e->device, e->bytes, false) : 0;
    live_remove(&p->live, f->id);
    for (int by = 0; by < FINDERS && r == 0; by++)
        r = spw_follow_free(p->finders[by].follow, f->id);
    return r;
}

/* ---- operations ---- */

static int find_iteration(struct pass *p, uint64_t number, const struct spw_record_op *op)
{
    struct spw_iteration_touch touches[SPW_FOLLOW_TOUCHES];
    int r = 0;
    if (op->captured) /* it is not executed now, and does not affect the path */
        return 0;
    for (uint32_t i = 0; i < op->touch_count && i < SPW_FOLLOW_TOUCHES; i++) {
        const struct spw_touch *t = &op->touches[i];
        struct live_entry *e = live_find(&p->live, t->alloc);
        touches[i] = (struct spw_iteration_touch){.alloc = t->alloc, .bytes = e ? e->bytes : 0, .offset = t->offset};
    }
    for (int by = 0; by < FINDERS && r == 0; by++)
        r = model_finder_op(&p->finders[by], number, op, touches, p->all_live_bytes);
    return r;
}

static int take_op(struct pass *p, const struct spw_record_op *op)
{
    struct model *m = p->model;
    now(p, op->time_ns);
    m->op_count[op->kind]++;
    m->op_bytes[op->kind] += op->bytes;
    if (op->kind == SPW_OP_LAUNCH && op->function < m->function_count)
        m->functions[op->function].launches++;
    return find_iteration(p, m->ops++, op);
}

static int take_duration(struct pass *p, const struct spw_record_duration *d)
{
    size_t byte = d->op / 8;
    if (d->op >= p->model->ops)
        return 0; /* it belongs to a lost operation */
    int r = SPW_GROW(p->run->timed, p->timed_room, byte + 1);
    if (r == 0)
        p->run->timed[byte] |= (uint8_t)(1 << d->op % 8);
    p->run->timed_bytes = p->timed_room;
    return r;
}

bool model_run_is_timed(const struct model_run *run, uint64_t op)
{
    return op / 8 < run->timed_bytes && run->timed[op / 8] >> op % 8 & 1;
}

/* ---- all of it ---- */

static int take(struct pass *p, const struct spw_record *r)
{
    struct model *m = p->model;
    switch (r->kind) {
    case SPW_RECORD_PROCESS:
        return take_process(m, &r->process);
    case SPW_RECORD_DEVICE:
        return take_device(p, &r->device);
    case SPW_RECORD_MACHINE:
        return take_machine(p, &r->machine);
    case SPW_RECORD_MODULE:
        return take_module(p, &r->module);
    case SPW_RECORD_SITE:
        return take_site(p, &r->site);
    case SPW_RECORD_FUNCTION:
        return take_function(p, &r->function);
    case SPW_RECORD_STREAM:
        return take_stream(p, &r->stream);
    case SPW_RECORD_ALLOC:
        return take_alloc(p, &r->alloc);
    case SPW_RECORD_FREE:
        return take_free(p, &r->free);
    case SPW_RECORD_OP:
        return take_op(p, &r->op);
    case SPW_RECORD_DURATION:
        return take_duration(p, &r->duration);
    case SPW_RECORD_MARK:
        for (int by = 0; by < FINDERS; by++)
            spw_follow_mark(p->finders[by].follow, &r->mark);
        return 0;
    case SPW_RECORD_WAIT:
        now(p, r->wait.time_ns + r->wait.duration_ns);
        m->waits++;
        m->waited_ns += r->wait.duration_ns;
        return 0;
    case SPW_RECORD_LOST:
        m->lost += r->lost.records;
        return 0;
    case SPW_RECORD_REFUSAL:
        return take_refusal(p, &r->refusal);
    case SPW_RECORD_END:
        m->ended = true;
        now(p, r->end.time_ns);
        return 0;
    default: /* nothing about the run */
        return 0;
    }
}

static int finish(struct pass *p)
{
    p->model->sizes_change = model_finder_choose(&p->finders[0], &p->finders[1], p->run);
    for (uint32_t i = 0; i < p->model->device_count && i < p->live_room; i++)
        p->model->devices[i].live_bytes_at_end = p->live_bytes[i];
    return model_shapes(p->model, p->run);
}

int model_run_read(struct spw_trace_reader *reader, struct model *model, struct model_run *ret_run, bool partial,
                   struct spw_trace_problem *ret_problem, void (*progress)(void *context, uint64_t bytes), void *context)
{
    struct pass p = {.model = model, .run = ret_run};
    const struct spw_record *record;
    bool damaged = false;
    *ret_run = (struct model_run){0};
    int r = model_finder_init(&p.finders[0], SPW_FOLLOW_BY_ALL);
    if (r == 0)
        r = model_finder_init(&p.finders[1], SPW_FOLLOW_BY_KERNELS);
    for (uint64_t n = 0; r == 0; n++) {
        struct spw_trace_problem problem;
        int more = spw_trace_next(reader, &record, &problem);
        if (more == 0)
            break;
        if (more > 0)
            r = take(&p, record), p.records++;
        else if (!damaged)
            *ret_problem = problem; /* the first problem is reported */
        damaged |= more < 0;
        if (damaged && !partial)
            break;
        if (progress && n % 65536 == 0)
            progress(context, spw_trace_position_bytes(reader));
    }
    if (r == 0)
        r = finish(&p);
    for (int by = 0; by < FINDERS; by++)
        model_finder_finish(&p.finders[by]);
    live_clear(&p.live);
    free(p.live_bytes);
    return r < 0 ? r : damaged ? -EBADMSG : 0;
}

void model_run_free(struct model_run *run)
{
    free(run->spans);
    free(run->timed);
}
