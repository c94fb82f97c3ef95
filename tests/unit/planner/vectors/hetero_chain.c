/* hetero_chain.c - the optimum of hetero_chain.json for each chain and memory, and schedules that are legal and take so
 * long. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "stages/rotor.h"
#include "vectors.h"

enum { MOST_LAYERS = 64 };

struct layers {
    uint32_t count; /* the loss is one behind the last */
    int64_t x[MOST_LAYERS + 2], xb[MOST_LAYERS + 2], ft[MOST_LAYERS + 1], bt[MOST_LAYERS + 1], fo[MOST_LAYERS + 1],
        bo[MOST_LAYERS + 1];
    struct spw_rotor_stage stages[MOST_LAYERS + 1];
    struct spw_rotor_option options[MOST_LAYERS + 1];
};

static void read_list(json_t *chain, const char *key, int64_t *list, size_t most)
{
    json_t *array = json_object_get(chain, key);
    assert_in_range(json_array_size(array), 1, most);
    for (size_t i = 0; i < json_array_size(array); i++)
        list[i] = vectors_integer_at(array, i);
}

static void read_layers(json_t *chain, struct layers *l)
{
    *l = (struct layers){.count = (uint32_t)vectors_integer(chain, "L")};
    assert_in_range(l->count, 1, MOST_LAYERS);
    read_list(chain, "x", l->x, l->count + 1);
    read_list(chain, "xb", l->xb, l->count + 1);
    read_list(chain, "ft", l->ft, l->count);
    read_list(chain, "bt", l->bt, l->count + 1);
    read_list(chain, "fo", l->fo, l->count);
    read_list(chain, "bo", l->bo, l->count + 1);
    for (uint32_t i = 0; i <= l->count; i++) { /* ft, fo and xb are 0 for the loss */
        l->options[i] = (struct spw_rotor_option){.forward_us = (double)l->ft[i],
                                                  .backward_us = (double)l->bt[i],
                                                  .record_bytes = (uint64_t)(i < l->count ? l->xb[i + 1] : 0),
                                                  .forward_extra_bytes = (uint64_t)l->fo[i],
                                                  .backward_extra_bytes = (uint64_t)l->bo[i]};
        l->stages[i] = (struct spw_rotor_stage){.walk_us = (double)l->ft[i],
                                                .input_bytes = (uint64_t)l->x[i],
                                                .gradient_bytes = (uint64_t)l->x[i],
                                                .walk_extra_bytes = (uint64_t)l->fo[i],
                                                .options = &l->options[i],
                                                .option_count = 1};
    }
}

/* ---- the model, as its README says it ---- */

struct machine {
    const struct layers *l;
    bool a[MOST_LAYERS + 2], record[MOST_LAYERS + 2]; /* a_i, abar_i */
    uint32_t backward;                                /* the next one: its gradient d_(backward + 1) is stored */
    int64_t time, most;
};

static int64_t stored(const struct machine *m)
{
    int64_t sum = m->backward < m->l->count ? m->l->x[m->backward + 1] : 0;
    for (uint32_t i = 0; i <= m->l->count; i++)
        sum += (m->a[i] ? m->l->x[i] : 0) + (m->record[i] ? m->l->xb[i] : 0);
    return sum;
}

static void need(struct machine *m, int64_t extra)
{
    m->most = stored(m) + extra > m->most ? stored(m) + extra : m->most;
}

static void carry_out(struct machine *m, const struct spw_rotor_action *action)
{
    const uint32_t i = action->stage, loss = m->l->count;
    assert_in_range(i, 0, loss);
    if (action->act == SPW_ROTOR_FORGET) {
        assert_true(i > 0);
        m->a[i] = false;
        return;
    }
    assert_true(m->a[i] || m->record[i]);
    if (action->act == SPW_ROTOR_BACK) {
        assert_int_equal(i, m->backward);
        assert_true(i == loss || m->record[i + 1]);
        need(m, m->l->bo[i]);
        m->time += m->l->bt[i];
        if (i < loss)
            m->record[i + 1] = false;
        m->backward--;
        return;
    }
    if (i == loss)
        return; /* the loss has no forward */
    m->time += m->l->ft[i];
    need(m, m->l->fo[i] + (action->act == SPW_ROTOR_SAVE ? m->l->xb[i + 1] : m->l->x[i + 1]));
    *(action->act == SPW_ROTOR_SAVE ? &m->record[i + 1] : &m->a[i + 1]) = true;
    if (action->act == SPW_ROTOR_WALK && i > 0)
        m->a[i] = false;
}

static void run(const struct layers *l, const struct spw_rotor_actions *actions, int64_t memory, int64_t makespan)
{
    struct machine m = {.l = l, .a = {true}, .backward = l->count};
    for (size_t i = 0; i < actions->count; i++)
        carry_out(&m, &actions->list[i]);
    assert_int_equal(m.backward, UINT32_MAX);
    assert_int_equal(m.time, makespan);
    assert_true(m.most <= memory);
}

static void compare(struct layers *l, int64_t memory, json_t *makespan)
{
    struct spw_rotor *rotor;
    const uint64_t bytes = memory > l->x[0] ? (uint64_t)(memory - l->x[0]) : 0;
    assert_int_equal(spw_rotor_create(l->stages, l->count + 1, bytes, bytes ? (uint32_t)bytes : 1, &rotor), 0);
    const double us = spw_rotor_time(rotor, 0, l->count, bytes);
    struct spw_rotor_actions actions = {0};
    const int r = spw_rotor_append(rotor, 0, l->count, bytes, &actions);
    if (json_is_null(makespan)) {
        assert_true(isinf(us));
        assert_int_equal(r, -ENOSPC);
    } else {
        assert_true(us == (double)json_integer_value(makespan));
        assert_int_equal(r, 0);
        run(l, &actions, memory, json_integer_value(makespan));
    }
    spw_rotor_actions_finish(&actions);
    spw_rotor_destroy(rotor);
}

void rotor_finds_the_persistent_optimum(void **state)
{
    json_t *vectors = vectors_load("hetero_chain.json"), *chain, *limit;
    size_t index, place, compared = 0;
    static struct layers layers;
    json_array_foreach(json_object_get(vectors, "chains"), index, chain)
    {
        read_layers(chain, &layers);
        json_array_foreach(json_object_get(chain, "limits"), place, limit)
        {
            compare(&layers, vectors_integer(limit, "M"), json_object_get(limit, "persistent"));
            compared++;
        }
    }
    assert_true(compared > 0);
    json_decref(vectors);
}
