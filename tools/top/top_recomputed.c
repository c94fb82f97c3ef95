/* top_recomputed.c - shows what a process recomputes instead of copying it, and which kernels it cannot replay, as lines
 * and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_names.h"
#include "shown.h"
#include "top.h"
#include "verdicts.h"

#define I(x) ((json_int_t)(x))

static bool is_verdict(uint32_t verdict)
{
    return verdict < SPW_REPLAY_VERDICT_COUNT;
}

/* ---- JSON ---- */

json_t *top_recomputed_json(const struct spw_status_page *p)
{
    const struct spw_status_recomputed *r = &p->recomputed;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}}",
        "dropped", I(r->dropped), "dropped_bytes", I(r->dropped_bytes), "by_plan", I(r->by_plan), "by_plan_bytes",
        I(r->by_plan_bytes), "on_demand", I(r->on_demand), "rescued", I(r->rescued), "operations", I(r->operations),
        "failed", I(r->failed), "verified", "equal", I(r->equal), "mismatches", I(r->mismatches), "unanswered",
        I(r->unanswered), "repaired", I(r->repaired), "lost", I(r->lost), "proofs", "proven", I(r->proven), "refuted",
        I(r->refuted), "unproven", I(r->unproven), "records", "bytes", I(r->kept_bytes), "peak_bytes", I(r->kept_bytes_peak),
        "limit_bytes", I(r->kept_bytes_limit));
}

json_t *top_refusals_json(const struct spw_status_page *p)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < p->refusal_count; i++) {
        const struct spw_status_refusal *r = &p->refusals[i];
        (void)json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:s, s:I, s:I}", "device", I(r->device), "kernel", shown_string(r->kernel), "reason",
                      is_verdict(r->verdict) ? spw_replay_verdict_name((enum spw_replay_verdict)r->verdict) : "unknown",
                      "operations", I(r->operations), "bytes", I(r->bytes)));
    }
    return list;
}

/* ---- lines ---- */

bool top_recomputes(const struct spw_status_page *p)
{
    return p->recomputed.dropped + p->recomputed.proven + p->recomputed.refuted + p->recomputed.kept_bytes_peak > 0;
}

const char *top_recomputed(const struct spw_status_page *p, char *line)
{
    const struct spw_status_recomputed *r = &p->recomputed;
    char a[32], b[32];
    snprintf(line, TOP_LINE,
             "%" PRIu64 " tensors dropped (%s); %" PRIu64 " made again by plan (%s), %" PRIu64 " on demand, %" PRIu64
             " rescued, %" PRIu64 " failed",
             r->dropped, shown_bytes(r->dropped_bytes, a), r->by_plan, shown_bytes(r->by_plan_bytes, b), r->on_demand,
             r->rescued, r->failed);
    return line;
}

const char *top_verified(const struct spw_status_page *p, char *line)
{
    const struct spw_status_recomputed *r = &p->recomputed;
    char wrong[128] = ", all as before";
    if (r->mismatches)
        snprintf(wrong, sizeof(wrong), ", %" PRIu64 " OTHER THAN BEFORE: %" PRIu64 " restored, %" PRIu64 " lost",
                 r->mismatches, r->repaired, r->lost);
    snprintf(line, TOP_LINE, "%" PRIu64 " compared%s", r->equal + r->mismatches, r->equal + r->mismatches ? wrong : "");
    return line;
}

const char *top_proven(const struct spw_status_page *p, char *line)
{
    const struct spw_status_recomputed *r = &p->recomputed;
    snprintf(line, TOP_LINE,
             "%" PRIu64 " tensors left as their copies were still good, %" PRIu64 " had changed, %" PRIu64
             " copied without proof",
             r->proven, r->refuted, r->unproven);
    return line;
}

const char *top_records(const struct spw_status_page *p, char *line)
{
    char a[32], b[32], c[32];
    snprintf(line, TOP_LINE, "%s of operations, at most %s so far, of %s", shown_bytes(p->recomputed.kept_bytes, a),
             shown_bytes(p->recomputed.kept_bytes_peak, b), shown_bytes(p->recomputed.kept_bytes_limit, c));
    return line;
}

const char *top_refusal(const struct spw_status_refusal *r, char *line)
{
    char bytes[32], kernel[SPW_STATUS_KERNEL];
    snprintf(kernel, sizeof(kernel), "%.*s", SPW_STATUS_KERNEL - 1, r->kernel);
    char *readable = kernel_readable_name(kernel), *name = readable ? kernel_short_name(readable) : NULL;
    snprintf(line, TOP_LINE, "%s in %" PRIu32 " operations of %.*s: %s", shown_bytes(r->bytes, bytes), r->operations, 80,
             name ? name : kernel,
             is_verdict(r->verdict) ? spw_replay_verdict_text((enum spw_replay_verdict)r->verdict)
                                    : "for an unknown reason");
    free(name);
    free(readable);
    return line;
}

void top_recomputed_text(const struct spw_status_page *p, FILE *to)
{
    char line[TOP_LINE];
    if (top_recomputes(p)) {
        fprintf(to, "recomputed  %s\n", top_recomputed(p, line));
        fprintf(to, "verified    %s\n", top_verified(p, line));
        fprintf(to, "unchanged   %s\n", top_proven(p, line));
        fprintf(to, "records     %s\n", top_records(p, line));
    }
    for (uint32_t i = 0; i < p->refusal_count; i++)
        fprintf(to, "%s%s\n", i ? "            " : "not again   ", top_refusal(&p->refusals[i], line));
    if (p->refusals_left_out)
        fprintf(to, "            and %" PRIu32 " others\n", p->refusals_left_out);
}
