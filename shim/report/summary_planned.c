/* summary_planned.c - writes the part of the summary about iterations by plan. */
#include "summary_planned.h"

#include "arrivals.h"
#include "bandwidth.h"
#include "transfers.h"
#include "plan_stats.h"
#include "clean_check.h"
#include "refusals.h"
#include "replay.h"
#include "reclaim.h"
#include "deferred_unmap.h"
#include "twins.h"

#define U(x) ((unsigned long long)(x))

bool spw_summary_is_planned(const struct spw_device *d)
{
    return spw_plan_stats[d->ordinal].planned_iterations > 0;
}

const char *spw_summary_human(uint64_t bytes, char *buffer, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    unsigned u = 0;
    for (; x >= 1024 && u < 4; u++)
        x /= 1024;
    snprintf(buffer, size, u && x < 100 ? "%.1f %s" : "%.0f %s", x, units[u]);
    return buffer;
}

static const char *human_time(double us, char *buffer, size_t size)
{
    if (us <= 0)
        snprintf(buffer, size, "an unknown time");
    else if (us < 1000)
        snprintf(buffer, size, "%.0f us", us);
    else if (us < 1e6)
        snprintf(buffer, size, "%.2f ms", us / 1e3);
    else
        snprintf(buffer, size, "%.2f s", us / 1e6);
    return buffer;
}

/* Says what can be run again, and what keeps most bytes from being dropped. */
static const char *say_refused(const struct spw_device *d, char *buffer, size_t size)
{
    const struct spw_refusals *r = d->refusals;
    uint64_t bytes = r ? r->left_out_bytes : 0;
    char human[32];
    buffer[0] = 0;
    for (uint32_t i = 0; r && i < r->count; i++)
        bytes += r->list[i].bytes;
    int n = r ? snprintf(buffer, size, "; %u of %u operations can be run again", r->replayable, r->operations) : 0;
    if (r && r->count && (size_t)n < size)
        snprintf(buffer + n, size - (size_t)n, ", %s cannot be dropped for others (most for %.80s: %s)",
                 spw_summary_human(bytes, human, sizeof(human)), r->list[0].readable,
                 spw_replay_verdict_text(r->list[0].verdict));
    return buffer;
}

void spw_summary_say_planned(const struct spw_device *d, char *buffer, size_t size)
{
    const struct spw_plan_stats *c = &spw_plan_stats[d->ordinal];
    const struct spw_plan_follower_step step = spw_plan_follower_step_locked(d);
    const struct spw_arrivals *a = &spw_arrivals[d->ordinal];
    char out[32], in[32], took[32], predicted[32], hidden[64] = "", prefetches[96] = "", refused[320];
    if (a->used_count)
        snprintf(prefetches, sizeof(prefetches), ", %.1f %% of %llu prefetches in time",
                 100 * (double)a->in_time_count / (double)a->used_count, U(a->used_count));
    if (step.hidden_share >= 0)
        snprintf(hidden, sizeof(hidden), ", %.0f %% of their time hidden", step.hidden_share * 100);
    snprintf(buffer, size,
             "%llu of %llu iterations by plan (%llu made, left %llu times): %s each, %s predicted; copies of %s to the host "
             "and %s back%s%s%s",
             U(c->planned_iterations), U(c->iterations), U(c->plans), U(c->lost),
             human_time(step.step_us, took, sizeof(took)), human_time(step.predicted_us, predicted, sizeof(predicted)),
             spw_summary_human(step.out_bytes, out, sizeof(out)), spw_summary_human(step.in_bytes, in, sizeof(in)), hidden,
             prefetches, say_refused(d, refused, sizeof(refused)));
}

void spw_summary_say_carried(char *buffer, size_t size)
{
    const struct spw_clean_check_counts *p = &spw_clean_check_counts;
    const struct spw_replayed *r = &spw_replayed;
    char proofs[96] = "", again[96] = "", bytes[32];
    if (p->proven_count || spw_launch_classes_refuted_count)
        snprintf(proofs, sizeof(proofs), "; %llu left without a copy as they were proven unchanged, %llu had changed",
                 U(p->proven_count), U(spw_launch_classes_refuted_count));
    if (spw_transfer_counts.dropped_count)
        snprintf(again, sizeof(again), "; %llu computed again by plan (%s) and %llu besides", U(r->count[SPW_REPLAY_PLAN]),
                 spw_summary_human(r->bytes[SPW_REPLAY_PLAN], bytes, sizeof(bytes)),
                 U(r->count[SPW_REPLAY_DEMAND] + r->count[SPW_REPLAY_RESCUE]));
    snprintf(buffer, size, "%llu stalls, %llu tensors missed and %llu kept after all%s%s", U(spw_reclaim_stalls.count),
             U(spw_transfer_counts.late_count), U(spw_transfer_counts.cancelled_count), proofs, again);
}

/* Writes a number of JSON; null if it is not known. */
static void write_known(FILE *f, const char *name, double value, bool known)
{
    if (known)
        fprintf(f, ", \"%s\": %.3f", name, value);
    else
        fprintf(f, ", \"%s\": null", name);
}

void spw_summary_write_planned(FILE *f, const struct spw_device *d)
{
    const struct spw_plan_stats *c = &spw_plan_stats[d->ordinal];
    const struct spw_plan_follower_step step = spw_plan_follower_step_locked(d);
    const struct spw_arrivals *a = &spw_arrivals[d->ordinal];
    struct spw_bandwidth b;
    bool measured = spw_bandwidth_locked(d->ordinal, &b);
    fprintf(f,
            "\"planned\": {\"iterations\": %llu, \"planned_iterations\": %llu, \"plans\": %llu, \"lost\": %llu, "
            "\"out_bytes\": %llu, \"in_bytes\": %llu",
            U(c->iterations), U(c->planned_iterations), U(c->plans), U(c->lost), U(step.out_bytes), U(step.in_bytes));
    fprintf(f, ", \"prefetches\": %llu, \"prefetches_in_time\": %llu, \"late_us\": %.3f", U(a->used_count),
            U(a->in_time_count), a->late_us);
    write_known(f, "predicted_us", step.predicted_us, step.predicted_us > 0);
    write_known(f, "bound_us", step.bound_us, step.bound_us > 0);
    write_known(f, "step_us", step.step_us, step.step_us > 0);
    write_known(f, "on_demand_us", step.on_demand_us, step.on_demand_us > 0);
    write_known(f, "ops_us", step.ops_us, step.ops_us > 0);
    write_known(f, "copies_us", step.copies_us, step.copies_us > 0);
    write_known(f, "hidden_share", step.hidden_share, step.hidden_share >= 0);
    fprintf(f, "}, \"bandwidth\": {\"measured\": %s", measured ? "true" : "false");
    write_known(f, "d2h_bytes_per_us", b.d2h_bytes_per_us, measured);
    write_known(f, "h2d_bytes_per_us", b.h2d_bytes_per_us, measured);
    write_known(f, "duplex_share", b.duplex_share, b.duplex_measured);
    fprintf(f, "}");
}

void spw_summary_write_replayed(FILE *f)
{
    static const char *const reasons[SPW_REPLAY_REASONS] = {"on_demand", "by_plan", "rescued"};
    const struct spw_replayed *r = &spw_replayed;
    fprintf(f, "\"replayed\": {\"dropped_count\": %llu, \"dropped_bytes\": %llu", U(spw_transfer_counts.dropped_count),
            U(spw_transfer_counts.dropped_bytes));
    for (int i = 0; i < SPW_REPLAY_REASONS; i++)
        fprintf(f, ", \"%s_count\": %llu, \"%s_bytes\": %llu", reasons[i], U(r->count[i]), reasons[i], U(r->bytes[i]));
    fprintf(f,
            ", \"operations\": %llu, \"postponed_count\": %llu, \"failed_count\": %llu, \"kept_operations\": %llu, "
            "\"kept_bytes_peak\": %llu, \"twin_count\": %llu, \"twin_image_bytes\": %llu}",
            U(r->submitted_count), U(r->postponed_count), U(r->failed_count), U(spw_recorded_op_counts.made),
            U(spw_recorded_op_counts.bytes_peak), U(spw_twin_counts.count), U(spw_twin_counts.image_bytes));
}

/* Names come from the program. */
static void write_text(FILE *f, const char *text)
{
    for (const char *c = text; *c; c++)
        fputc((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || (unsigned char)*c > '~' ? '?' : *c, f);
}

void spw_summary_write_refused(FILE *f, const struct spw_device *d)
{
    const struct spw_refusals *r = d->refusals;
    if (!r) {
        fprintf(f, "\"learned\": null");
        return;
    }
    fprintf(f, "\"learned\": {\"operations\": %u, \"replayable\": %u, \"refused_left_out\": %u, \"refused\": [",
            r->operations, r->replayable, r->left_out);
    for (uint32_t i = 0; i < r->count; i++) {
        fprintf(f, "%s\n      {\"kernel\": \"", i ? "," : "");
        write_text(f, r->list[i].kernel);
        fprintf(f, "\", \"reason\": \"%s\", \"operations\": %u, \"bytes\": %llu}",
                spw_replay_verdict_name(r->list[i].verdict), r->list[i].operations, U(r->list[i].bytes));
    }
    fprintf(f, "]}");
}

void spw_summary_write_carried(FILE *f)
{
    const struct spw_transfer_counts *c = &spw_transfer_counts;
    const struct spw_clean_check_counts *p = &spw_clean_check_counts;
    fprintf(f,
            "\"carried\": {\"left_count\": %llu, \"left_bytes\": %llu, \"restored_count\": %llu, \"restored_bytes\": %llu, "
            "\"restored_in_time\": %llu, \"late_count\": %llu, \"cancelled_count\": %llu, \"failed_count\": %llu, "
            "\"waits\": %llu, \"waited_ns\": %llu}",
            U(c->left_count), U(c->left_bytes), U(c->restored_count), U(c->restored_bytes), U(c->restored_in_time),
            U(c->late_count), U(c->cancelled_count), U(c->failed_count), U(c->waits), U(c->waited_ns));
    fprintf(f, ", \"changed_hands\": {\"count\": %llu, \"early_count\": %llu}", U(spw_unmap_counts.count),
            U(spw_unmap_counts.early_count));
    fprintf(f, ", \"proofs\": {\"proven_count\": %llu, \"refuted_count\": %llu, \"unproven_count\": %llu}",
            U(p->proven_count), U(spw_launch_classes_refuted_count), U(p->unproven_count));
}
