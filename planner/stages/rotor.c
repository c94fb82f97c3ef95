/* rotor.c - fills the table of times for sub-chains and memory, and follows it to schedules. */
#include "stages/rotor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "grow.h"

struct spw_rotor {
    const struct spw_rotor_stage *stages;
    uint32_t count, slots;
    uint64_t slot_bytes;
    double *table;   /* time of stages s .. t within m slots: at (pair(s, t), m) */
    double *walk_us; /* of stages 0 .. i - 1 */
    uint64_t *left;  /* bytes left by stages 0 .. i - 1 */
};

void spw_rotor_actions_finish(struct spw_rotor_actions *actions)
{
    free(actions->list);
    *actions = (struct spw_rotor_actions){0};
}

int spw_rotor_actions_add(struct spw_rotor_actions *actions, enum spw_rotor_act act, uint32_t stage, uint32_t option)
{
    if (SPW_GROW(actions->list, actions->room, actions->count + 1) < 0)
        return -ENOMEM;
    actions->list[actions->count++] = (struct spw_rotor_action){act, stage, option};
    return 0;
}

/* ---- the table ---- */

static double *row(const struct spw_rotor *r, uint32_t s, uint32_t t)
{
    return r->table + ((size_t)t * (t + 1) / 2 + s) * ((size_t)r->slots + 1);
}

/* Returns the time within m slots. m < 0: nothing fits. Nothing to do takes no time. */
static double time_of(const struct spw_rotor *r, uint32_t s, uint32_t t, int64_t m)
{
    if (m < 0)
        return INFINITY;
    return s > t ? 0 : row(r, s, t)[m];
}

static int64_t slots_of(const struct spw_rotor *r, uint64_t bytes)
{
    return (int64_t)((bytes + r->slot_bytes - 1) / r->slot_bytes);
}

/* Returns d_(t+1), the input of stage t's backward. */
static uint64_t gradient_into(const struct spw_rotor *r, uint32_t t)
{
    return t + 1 < r->count ? r->stages[t + 1].gradient_bytes : 0;
}

/* Returns the bytes of stage i's input that are not in that of stage s, which stays. */
static uint64_t input_beside(const struct spw_rotor *r, uint32_t i, uint32_t s)
{
    const struct spw_rotor_stage *stage = &r->stages[i];
    return stage->input_since ? stage->input_since[s] : stage->input_bytes;
}

/* Returns the least slots for running stage s forward and backward in this way, with stages s+1 .. t in between. */
static int64_t slots_to_save(const struct spw_rotor *r, uint32_t s, uint32_t t, const struct spw_rotor_option *option)
{
    const uint64_t forward = gradient_into(r, t) + option->record_bytes + option->forward_extra_bytes;
    const uint64_t backward =
        gradient_into(r, s) + option->record_bytes + option->backward_extra_bytes + (r->left[t + 1] - r->left[s + 1]);
    return slots_of(r, forward > backward ? forward : backward);
}

/* Returns the bytes for running stage k without a record, as part of a walk from s. */
static uint64_t bytes_to_walk(const struct spw_rotor *r, uint32_t s, uint32_t k)
{
    const struct spw_rotor_stage *stage = &r->stages[k];
    const uint64_t output = k + 1 < r->count ? input_beside(r, k + 1, k) : 0;
    return (k == s ? 0 : input_beside(r, k, s)) + output + stage->walk_extra_bytes;
}

static void fill_saving(struct spw_rotor *r, uint32_t s, uint32_t t, double *times)
{
    for (uint32_t i = 0; i < r->stages[s].option_count; i++) {
        const struct spw_rotor_option *option = &r->stages[s].options[i];
        const int64_t least = slots_to_save(r, s, t, option), record = slots_of(r, option->record_bytes);
        const double us = option->forward_us + option->backward_us;
        for (int64_t m = least; m <= r->slots; m++)
            times[m] = fmin(times[m], us + time_of(r, s + 1, t, m - record));
    }
}

/* Makes stage j's input the checkpoint: first stages j .. t, then s .. j - 1 again from their input. */
static void fill_walking(struct spw_rotor *r, uint32_t s, uint32_t t, double *times)
{
    uint64_t most = 0;
    for (uint32_t j = s + 1; j <= t; j++) {
        const uint64_t walk = bytes_to_walk(r, s, j - 1);
        most = walk > most ? walk : most;
        const int64_t kept = slots_of(r, input_beside(r, j, s)), left = slots_of(r, r->left[t + 1] - r->left[j]);
        int64_t m = slots_of(r, gradient_into(r, t) + most);
        m = m > kept ? m : kept;
        m = m > left ? m : left;
        const double us = r->walk_us[j] - r->walk_us[s], *behind = row(r, j, t), *before = row(r, s, j - 1);
        for (; m <= r->slots; m++) {
            const double all_us = us + behind[m - kept] + before[m - left];
            times[m] = all_us < times[m] ? all_us : times[m];
        }
    }
}

static void fill(struct spw_rotor *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        r->walk_us[i + 1] = r->walk_us[i] + r->stages[i].walk_us;
        r->left[i + 1] = r->left[i] + r->stages[i].left_bytes;
    }
    for (uint32_t length = 0; length < r->count; length++) {
        for (uint32_t s = 0; s + length < r->count; s++) {
            double *times = row(r, s, s + length);
            for (uint32_t m = 0; m <= r->slots; m++)
                times[m] = INFINITY;
            fill_saving(r, s, s + length, times);
            fill_walking(r, s, s + length, times);
        }
    }
}

int spw_rotor_create(const struct spw_rotor_stage *stages, uint32_t count, uint64_t bytes, uint32_t slots,
                     struct spw_rotor **ret_rotor)
{
    struct spw_rotor *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    *r = (struct spw_rotor){.stages = stages, .count = count, .slots = slots};
    r->slot_bytes = bytes / slots + (bytes % slots > 0);
    r->slot_bytes = r->slot_bytes ? r->slot_bytes : 1;
    r->table = malloc((((size_t)count * (count + 1) / 2) * ((size_t)slots + 1) + 1) * sizeof *r->table);
    r->walk_us = calloc((size_t)count + 1, sizeof *r->walk_us);
    r->left = calloc((size_t)count + 1, sizeof *r->left);
    if (!r->table || !r->walk_us || !r->left) {
        spw_rotor_destroy(r);
        return -ENOMEM;
    }
    fill(r);
    *ret_rotor = r;
    return 0;
}

void spw_rotor_destroy(struct spw_rotor *rotor)
{
    if (!rotor)
        return;
    free(rotor->table);
    free(rotor->walk_us);
    free(rotor->left);
    free(rotor);
}

static int64_t slots_in(const struct spw_rotor *r, uint64_t bytes)
{
    const uint64_t slots = bytes / r->slot_bytes;
    return slots < r->slots ? (int64_t)slots : r->slots;
}

double spw_rotor_time(const struct spw_rotor *rotor, uint32_t first, uint32_t last, uint64_t bytes)
{
    return time_of(rotor, first, last, slots_in(rotor, bytes));
}

/* ---- the schedule ---- */

static int append(const struct spw_rotor *r, uint32_t s, uint32_t t, int64_t m, struct spw_rotor_actions *actions);

/* Appends: keep stage s, walk to j, everything from j, then the stages before. */
static int append_walking(const struct spw_rotor *r, uint32_t s, uint32_t t, int64_t m, uint32_t j,
                          struct spw_rotor_actions *actions)
{
    int e = spw_rotor_actions_add(actions, SPW_ROTOR_KEEP, s, 0);
    for (uint32_t k = s + 1; k < j && e == 0; k++)
        e = spw_rotor_actions_add(actions, SPW_ROTOR_WALK, k, 0);
    if (e == 0)
        e = append(r, j, t, m - slots_of(r, input_beside(r, j, s)), actions);
    if (e == 0)
        e = spw_rotor_actions_add(actions, SPW_ROTOR_FORGET, j, 0);
    return e == 0 ? append(r, s, j - 1, m - slots_of(r, r->left[t + 1] - r->left[j]), actions) : e;
}

static int append_saving(const struct spw_rotor *r, uint32_t s, uint32_t t, int64_t m, uint32_t option,
                         struct spw_rotor_actions *actions)
{
    int e = spw_rotor_actions_add(actions, SPW_ROTOR_SAVE, s, option);
    if (e == 0 && s < t)
        e = append(r, s + 1, t, m - slots_of(r, r->stages[s].options[option].record_bytes), actions);
    if (e == 0 && s < t)
        e = spw_rotor_actions_add(actions, SPW_ROTOR_FORGET, s + 1, 0);
    return e == 0 ? spw_rotor_actions_add(actions, SPW_ROTOR_BACK, s, option) : e;
}

/* Finds the choice from which the table's value came: the same sums give the same numbers. */
static int append(const struct spw_rotor *r, uint32_t s, uint32_t t, int64_t m, struct spw_rotor_actions *actions)
{
    const double wanted = time_of(r, s, t, m);
    if (isinf(wanted))
        return -ENOSPC;
    for (uint32_t i = 0; i < r->stages[s].option_count; i++) {
        const struct spw_rotor_option *option = &r->stages[s].options[i];
        const double us = option->forward_us + option->backward_us;
        if (m >= slots_to_save(r, s, t, option) &&
            us + time_of(r, s + 1, t, m - slots_of(r, option->record_bytes)) == wanted)
            return append_saving(r, s, t, m, i, actions);
    }
    uint64_t most = 0;
    for (uint32_t j = s + 1; j <= t; j++) {
        const uint64_t walk = bytes_to_walk(r, s, j - 1);
        most = walk > most ? walk : most;
        if (m < slots_of(r, gradient_into(r, t) + most))
            return -ENOSPC;
        const double behind = time_of(r, j, t, m - slots_of(r, input_beside(r, j, s)));
        const double before = time_of(r, s, j - 1, m - slots_of(r, r->left[t + 1] - r->left[j]));
        if (r->walk_us[j] - r->walk_us[s] + behind + before == wanted)
            return append_walking(r, s, t, m, j, actions);
    }
    return -ENOSPC;
}

int spw_rotor_append(const struct spw_rotor *rotor, uint32_t first, uint32_t last, uint64_t bytes,
                     struct spw_rotor_actions *actions)
{
    return append(rotor, first, last, slots_in(rotor, bytes), actions);
}
