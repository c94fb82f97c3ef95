/* parts.c - chooses which part of a stage's record to keep where all of it takes too much: what is expensive to make again.
 *
 * A price, in time per byte, divides the records of the whole chain: what costs less is made again. A few prices give
 * each stage a small menu from which dynamic programs choose. */
#include <errno.h>
#include <stdlib.h>

#include "stages/linear_parts.h"

/* Shares of all recorded bytes that are made again, the cheapest first: one part for each. */
static const double shares[SPW_PARTS_MOST] = {0.3, 0.55, 0.8};

struct record {
    double price; /* in us per byte, of the operation that made it */
    uint64_t bytes;
};

struct work {
    struct spw_chain *chain;
    const struct spw_chain_tensor *tensors;
    bool *kept, *needed, *fixed; /* for each tensor; fixed: in the stage's input */
    size_t listed;
};

static int compare(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->price != b->price)
        return a->price < b->price ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static double price_of(const struct work *w, uint32_t tensor)
{
    const struct spw_graph *graph = w->chain->graph;
    const uint64_t bytes = graph->tensors[tensor].bytes;
    return bytes ? graph->ops[w->tensors[tensor].made].us / (double)bytes : 0;
}

static int find_prices(const struct work *w, double *prices)
{
    const struct spw_chain *chain = w->chain;
    size_t count = 0;
    for (uint32_t s = 0; s < chain->count; s++)
        count += chain->stages[s].record_count;
    struct record *records = calloc(count + 1, sizeof *records);
    if (!records)
        return -ENOMEM;
    double total = 0;
    count = 0;
    for (uint32_t s = 0; s < chain->count; s++) {
        for (uint32_t i = 0; i < chain->stages[s].record_count; i++) {
            const uint32_t tensor = chain->listed[chain->stages[s].first_record + i];
            records[count++] = (struct record){price_of(w, tensor), chain->graph->tensors[tensor].bytes};
            total += (double)chain->graph->tensors[tensor].bytes;
        }
    }
    qsort(records, count, sizeof *records, compare);
    double passed = 0;
    for (size_t i = 0, n = 0; i < count && n < SPW_PARTS_MOST; i++) {
        passed += (double)records[i].bytes;
        while (n < SPW_PARTS_MOST && (passed >= shares[n] * total || i + 1 == count))
            prices[n++] = records[i].price;
    }
    free(records);
    return 0;
}

/* ---- what it takes to make the rest ---- */

/* Handles one operation; they are visited from the last to the first. Returns its time if it runs again, or -1: a kept
 * tensor was in the way, and is no longer kept. */
static double pass_back(struct work *w, const struct spw_graph_op *o)
{
    const struct spw_chain *chain = w->chain;
    const struct spw_touched_tensor *touched = &chain->graph->touched[o->first_read];
    bool again = false;
    for (uint32_t i = o->read_count; i < o->read_count + o->write_count; i++)
        again |= !touched[i].side && w->needed[touched[i].tensor];
    if (!again)
        return 0;
    for (uint32_t i = o->read_count; i < o->read_count + o->write_count; i++) {
        if (!touched[i].side && !touched[i].in_place)
            w->needed[touched[i].tensor] = false;
    }
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
        const uint32_t tensor = touched[i].tensor;
        if (touched[i].side || !spw_chain_moves(chain, tensor))
            continue;
        const bool there = w->kept[tensor] || w->fixed[tensor];
        if (there && touched[i].version != chain->version[tensor] && !(i >= o->read_count && touched[i].in_place)) {
            w->fixed[tensor] = w->kept[tensor] = false;
            return -1;
        }
        if (i < o->read_count && !there)
            w->needed[tensor] = true;
    }
    return o->us;
}

static void mark(bool *marks, const uint32_t *tensors, uint32_t count, bool value)
{
    for (uint32_t i = 0; i < count; i++)
        marks[tensors[i]] = value;
}

/* Returns the time to make what the record contains and the part does not; < 0: it cannot be made from what is kept. */
static double again_us(struct work *w, const struct spw_stage *s)
{
    const struct spw_chain *chain = w->chain;
    const uint32_t *record = chain->listed + s->first_record;
    double us = -1;
    for (uint32_t tries = 0; us < 0 && tries <= s->record_count + s->input_count; tries++) {
        for (uint32_t op = s->first_op; op < s->end_op; op++) {
            const struct spw_graph_op *o = &chain->graph->ops[op];
            for (uint32_t i = 0; i < o->read_count + o->write_count; i++)
                w->needed[chain->graph->touched[o->first_read + i].tensor] = false;
        }
        for (uint32_t i = 0; i < s->record_count; i++)
            w->needed[record[i]] = !w->kept[record[i]];
        us = 0;
        for (uint32_t op = s->end_op; op-- > s->first_op && us >= 0;) {
            const double passed = pass_back(w, &chain->graph->ops[op]);
            us = passed < 0 ? -1 : us + passed;
        }
    }
    for (uint32_t op = s->first_op; op < s->end_op; op++) {
        const struct spw_graph_op *o = &chain->graph->ops[op];
        for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
            bool *needed = &w->needed[chain->graph->touched[o->first_read + i].tensor];
            us = *needed ? -1 : us;
            *needed = false;
        }
    }
    return us;
}

/* ---- the parts ---- */

/* Adds the part that keeps what costs more than the price, and what the next stage needs anyway, unless it is no smaller
 * than what the stage has already. */
static void add_part(struct work *w, struct spw_stage *s, double price)
{
    struct spw_chain *chain = w->chain;
    const struct spw_stage *next = s + 1 < chain->stages + chain->count ? s + 1 : NULL;
    const uint32_t *record = chain->listed + s->first_record;
    for (uint32_t i = 0; i < s->record_count; i++)
        w->kept[record[i]] = price_of(w, record[i]) > price;
    if (next)
        mark(w->needed, chain->listed + next->first_input, next->input_count, true);
    for (uint32_t i = 0; i < s->record_count; i++)
        w->kept[record[i]] |= w->needed[record[i]];
    if (next)
        mark(w->needed, chain->listed + next->first_input, next->input_count, false);
    mark(w->fixed, chain->listed + s->first_input, s->input_count, true);
    struct spw_part part = {.first = (uint32_t)w->listed, .again_us = again_us(w, s)};
    for (uint32_t i = 0; i < s->record_count; i++) {
        if (!w->kept[record[i]])
            continue;
        chain->part_listed[w->listed + part.count++] = record[i];
        part.bytes += chain->graph->tensors[record[i]].bytes;
    }
    for (uint32_t i = 0; next && i < next->input_count; i++) {
        const uint32_t tensor = chain->listed[next->first_input + i];
        if (!w->kept[tensor] && w->tensors[tensor].made >= s->first_op)
            part.bytes += chain->graph->tensors[tensor].bytes;
    }
    mark(w->fixed, chain->listed + s->first_input, s->input_count, false);
    mark(w->kept, record, s->record_count, false);
    const uint64_t before = s->part_count ? chain->parts[s->first_part + s->part_count - 1].bytes : s->record_bytes;
    if (part.again_us < 0 || part.bytes >= before)
        return;
    chain->parts[s->first_part + s->part_count++] = part;
    w->listed += part.count;
}

static int make_rooms(struct work *w)
{
    struct spw_chain *chain = w->chain;
    const size_t tensors = (size_t)chain->graph->tensor_count + 1;
    size_t records = 1;
    for (uint32_t s = 0; s < chain->count; s++) {
        chain->stages[s].first_part = s * SPW_PARTS_MOST;
        records += SPW_PARTS_MOST * (size_t)chain->stages[s].record_count;
    }
    chain->parts = calloc((size_t)chain->count * SPW_PARTS_MOST + 1, sizeof *chain->parts);
    chain->part_listed = calloc(records, sizeof *chain->part_listed);
    w->kept = calloc(3 * tensors, sizeof *w->kept);
    if (!chain->parts || !chain->part_listed || !w->kept)
        return -ENOMEM;
    w->needed = w->kept + tensors;
    w->fixed = w->needed + tensors;
    return 0;
}

int spw_chain_find_parts(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    struct work w = {.chain = chain, .tensors = tensors};
    double prices[SPW_PARTS_MOST] = {0};
    int r = make_rooms(&w);
    if (r == 0)
        r = find_prices(&w, prices);
    for (uint32_t s = 0; s < chain->count && r == 0; s++) {
        for (uint32_t i = 0; i < SPW_PARTS_MOST; i++)
            add_part(&w, &chain->stages[s], prices[i]);
    }
    free(w.kept);
    return r;
}
