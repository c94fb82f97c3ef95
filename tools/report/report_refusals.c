/* report_refusals.c - shows what a run within a budget found that it cannot recompute, as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "kernel_names.h"
#include "report.h"

enum { SHOWN = 12, NAME = 60 };

json_t *report_refusals_json(const struct model *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < m->refusal_count; i++) {
        const struct model_refusal *r = &m->refusals[i];
        (void)json_array_append_new(list, json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "device", (json_int_t)r->device,
                                                    "kernel", shown_string(r->readable), "reason", shown_string(r->reason),
                                                    "text", shown_string(r->text), "operations", (json_int_t)r->operations,
                                                    "bytes", (json_int_t)r->bytes));
    }
    return list;
}

void report_refusals_text(const struct model *m, FILE *to)
{
    char a[32];
    if (m->refusal_count)
        fprintf(to, "\nnot computed again, and what they made in an iteration that therefore cannot be dropped\n");
    for (uint32_t i = 0; i < m->refusal_count && i < SHOWN; i++) {
        const struct model_refusal *r = &m->refusals[i];
        char *name = kernel_short_name(r->readable);
        fprintf(to, "  %-10s  in %-6" PRIu32 " %.*s: %s\n", shown_bytes(r->bytes, a), r->operations, NAME,
                name ? name : r->readable, r->text);
        free(name);
    }
    if (m->refusal_count > SHOWN)
        fprintf(to, "  and %" PRIu32 " others\n", m->refusal_count - SHOWN);
}
