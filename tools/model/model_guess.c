/* model_guess.c - guesses the purpose of tensors and of parts of the iteration. */
#include <errno.h>
#include <stdlib.h>

#include "model_parts.h"

static const char *const names[MODEL_CATEGORIES] = {[MODEL_PARAMETER] = "parameter", [MODEL_GRADIENT] = "gradient",
                                                    [MODEL_OPTIMIZER] = "optimizer", [MODEL_ACTIVATION] = "activation",
                                                    [MODEL_WORKSPACE] = "workspace", [MODEL_INPUT] = "input",
                                                    [MODEL_OTHER] = "other"};

const char *model_category_name(enum model_category category)
{
    return names[category];
}

struct use {
    uint32_t last;
    uint64_t bytes;
};

static int by_last(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    return x->last < y->last ? -1 : x->last > y->last;
}

/* Finds where the update begins. The optimizer is the last to write tensors that live on and are used before the peak
 * (parameters), so the update begins where their last uses begin. A tenth of the bytes may have their last use earlier
 * (tables that are only read). */
static int find_update(const struct model *m, uint32_t *ret_begin)
{
    struct use *uses = calloc(m->tensor_count + 1, sizeof(*uses));
    uint64_t all = 0, sum = 0;
    uint32_t n = 0;
    if (!uses)
        return -ENOMEM;
    *ret_begin = m->iteration_count;
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (!t->persistent || t->first_use == MODEL_NONE || t->first_use > m->peak_at || t->last_use <= m->peak_at)
            continue;
        uses[n++] = (struct use){t->last_use, t->bytes};
        all += t->bytes;
    }
    qsort(uses, n, sizeof(*uses), by_last);
    for (uint32_t i = 0; i < n && *ret_begin == m->iteration_count; i++) {
        sum += uses[i].bytes;
        if (10 * sum > all)
            *ret_begin = uses[i].last;
    }
    free(uses);
    return 0;
}

static void make_phase(struct model *m, enum model_phase_kind kind, uint32_t first, uint32_t end)
{
    struct model_phase *p = &m->phases[kind];
    *p = (struct model_phase){.first = first, .end = end};
    for (uint32_t i = first; i < end; i++) {
        if (p->peak_bytes < m->iteration[i].live_bytes)
            p->peak_bytes = m->iteration[i].live_bytes;
        p->duration_ns += m->iteration[i].duration_ns;
    }
}

/* Returns true if the first operation that touches it fills it from the host. */
static bool is_input(const struct model *m, const struct model_tensor *t)
{
    return t->first_use != MODEL_NONE && m->iteration[t->first_use].kind == SPW_OP_COPY_H2D;
}

static enum model_category guess(const struct model *m, const struct model_tensor *t, uint32_t update)
{
    enum { NEAR = 2 };
    if (t->first_use == MODEL_NONE)
        return MODEL_OTHER;
    if (is_input(m, t))
        return MODEL_INPUT;
    bool in_update = t->last_use >= update;
    if (t->persistent && t->first_use <= m->peak_at)
        return in_update ? MODEL_PARAMETER : MODEL_OTHER;
    if (t->persistent && t->first_use >= update)
        return MODEL_OPTIMIZER;
    if (in_update && t->first_use < update)
        return MODEL_GRADIENT;
    if (t->last_use - t->first_use <= NEAR)
        return MODEL_WORKSPACE;
    return t->first_use <= m->peak_at && t->last_use > m->peak_at ? MODEL_ACTIVATION : MODEL_OTHER;
}

int model_guess(struct model *m)
{
    uint32_t update;
    int r = find_update(m, &update);
    if (r < 0)
        return r;
    uint32_t backward = m->peak_at < update ? m->peak_at : update;
    make_phase(m, MODEL_FORWARD, 0, backward);
    make_phase(m, MODEL_BACKWARD, backward, update);
    make_phase(m, MODEL_UPDATE, update, m->iteration_count);
    for (uint32_t i = 0; i < m->tensor_count; i++)
        m->tensors[i].category = guess(m, &m->tensors[i], update);
    return 0;
}
