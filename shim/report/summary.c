/* summary.c - writes the line and the file at the end of the process. */
#include "summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_parts.h"
#include "bandwidth.h"
#include "counters.h"
#include "digest.h"
#include "engine.h"
#include "events.h"
#include "hostpool.h"
#include "kernel_profile.h"
#include "ledger.h"
#include "lock.h"
#include "names.h"
#include "residency.h"
#include "log.h"
#include "mover.h"
#include "pin.h"
#include "plan_follower.h"
#include "reclaim.h"
#include "seek.h"
#include "seek_device.h"
#include "spot_checks.h"
#include "settings.h"
#include "slab.h"
#include "summary_planned.h"
#include "verify.h"

#define U(x) ((unsigned long long)(x))

static pid_t armed;

void spw_summary_arm(void)
{
    armed = getpid();
}

/* ---- for people ---- */

static void tell_device(const struct spw_device *d)
{
    char peak[32], budget[32], live[32], out[32], in[32];
    spw_summary_human(d->handles.made_bytes_peak, peak, sizeof(peak));
    spw_summary_human(d->handles.budget_bytes + d->foreign_bytes, budget, sizeof(budget));
    spw_summary_human(d->live_bytes_peak, live, sizeof(live));
    if (spw_moved.out_count + spw_moved.in_count + spw_moved.dropped_count == 0)
        spw_warn("device %d: up to %s allocated, %s of the budget of %s used, nothing moved", d->ordinal, live, peak,
                 budget);
    else
        spw_warn("device %d: up to %s allocated within a budget of %s (%s used); moved %s to the host and %s back in %llu "
                 "operations",
                 d->ordinal, live, budget, peak, spw_summary_human(spw_moved.out_bytes, out, sizeof(out)),
                 spw_summary_human(spw_moved.in_bytes, in, sizeof(in)), U(spw_tick));
}

/* A single device's line has everything; with several devices, a line of its own has what is counted for them together. */
static void tell_planned(const struct spw_device *d, bool only)
{
    char peak[32], budget[32], live[32], planned[704], carried[320] = "";
    spw_summary_say_planned(d, planned, sizeof(planned));
    if (only)
        spw_summary_say_carried(carried, sizeof(carried));
    spw_warn("device %d: up to %s allocated within a budget of %s (%s used); %s%s%s", d->ordinal,
             spw_summary_human(d->live_bytes_peak, live, sizeof(live)),
             spw_summary_human(d->handles.budget_bytes + d->foreign_bytes, budget, sizeof(budget)),
             spw_summary_human(d->handles.made_bytes_peak, peak, sizeof(peak)), planned, only ? "; " : "", carried);
}

static void tell_verified(void)
{
    const struct spw_verified *v = &spw_verified;
    if (v->mismatch_count)
        spw_warn(
            "%llu of %llu tensors that were computed again and compared were other than before: %llu were restored, %llu "
            "could not be" SPW_SEE("other-bytes"),
            U(v->mismatch_count), U(v->equal_count + v->mismatch_count), U(v->repaired_count), U(v->lost_count));
    else if (v->equal_count)
        spw_info("all of %llu tensors that were computed again and compared were as before", U(v->equal_count));
}

static void tell_devices(void)
{
    unsigned devices = 0, planned = 0;
    char carried[320];
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        devices += spw_devices[i].ready;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_device *d = &spw_devices[i];
        if (!d->ready)
            continue;
        if (!spw_summary_is_planned(d)) {
            tell_device(d);
            continue;
        }
        tell_planned(d, devices == 1);
        planned++;
    }
    if (!planned || devices == 1)
        return;
    spw_summary_say_carried(carried, sizeof(carried));
    spw_warn("on all devices: %s", carried);
}

/* ---- for programs ---- */

static void write_device(FILE *f, const struct spw_device *d, const char *separator)
{
    fprintf(f,
            "%s\n    {\"ordinal\": %d, \"budget_bytes\": %llu, \"foreign_bytes\": %llu, \"physical_bytes\": %llu, "
            "\"physical_bytes_peak\": %llu, \"handles\": %llu, \"live_bytes\": %llu, \"live_bytes_peak\": %llu, "
            "\"live_allocations\": %llu, \"cached_bytes\": %llu, \"slab_bytes\": %llu, \"unmovable_bytes\": %llu, "
            "\"granularity_bytes\": %llu, \"small_bytes\": %llu, \"digest_bytes\": %llu,\n     ",
            separator, d->ordinal, U(d->handles.budget_bytes + d->foreign_bytes), U(d->foreign_bytes),
            U(d->handles.made_bytes), U(d->handles.made_bytes_peak), U(d->handles.made_count), U(d->live_bytes),
            U(d->live_bytes_peak), U(d->live_count), U(d->free_bytes), U(spw_slab_total_bytes_locked(d)),
            U(spw_reclaim_unmovable_bytes_locked(d)), U((uint64_t)1 << d->granule_shift), U(d->small_bytes),
            U(spw_digests_bytes_locked(d)));
    spw_summary_write_planned(f, d);
    fprintf(f, ",\n     ");
    spw_summary_write_refused(f, d);
    fprintf(f, "}");
}

static void write_moved(FILE *f)
{
    fprintf(f,
            "  \"moved\": {\"out_bytes\": %llu, \"in_bytes\": %llu, \"out_count\": %llu, \"in_count\": %llu, "
            "\"dropped_count\": %llu, \"map_count\": %llu, \"unmap_count\": %llu, \"host_refused_count\": %llu},\n",
            U(spw_moved.out_bytes), U(spw_moved.in_bytes), U(spw_moved.out_count), U(spw_moved.in_count),
            U(spw_moved.dropped_count), U(spw_moved.map_count), U(spw_moved.unmap_count), U(spw_moved.host_refused_count));
}

static void write_verified(FILE *f)
{
    const struct spw_verified *v = &spw_verified;
    fprintf(f,
            "  \"verified\": {\"equal_count\": %llu, \"mismatch_count\": %llu, \"unanswered_count\": %llu, "
            "\"repaired_count\": %llu, \"lost_count\": %llu, \"compared_bytes\": %llu},\n",
            U(v->equal_count), U(v->mismatch_count), U(v->unanswered_count), U(v->repaired_count), U(v->lost_count),
            U(v->compared_bytes));
}

static void write_profile(FILE *f)
{
    const struct spw_kernel_profile_counts *p = &spw_kernel_profile_counts;
    fprintf(f, "  \"profile\": {\"read_classes\": %llu, \"used_classes\": %llu, \"written_count\": %llu},\n", U(p->read),
            U(p->used), U(p->written));
}

static void write_spots(FILE *f)
{
    const struct spw_spot_check_counts *s = &spw_spot_check_counts;
    fprintf(f,
            "  \"sampled\": {\"asked_count\": %llu, \"equal_count\": %llu, \"unknown_count\": %llu, "
            "\"explained_count\": %llu, \"failed_count\": %llu},\n",
            U(s->asked_count), U(s->equal_count), U(s->unknown_count), U(s->explained_count), U(s->failed_count));
}

static void write_host(FILE *f)
{
    const struct spw_hostpool *pool = spw_host_memory_pool_locked();
    fprintf(f,
            "  \"host\": {\"limit_bytes\": %llu, \"held_bytes\": %llu, \"pinned_bytes\": %llu, \"used_bytes\": %llu, "
            "\"used_bytes_peak\": %llu},\n",
            U(spw_host_memory_limit_locked()), U(pool ? spw_hostpool_bytes_held(pool) : 0),
            U(pool ? spw_hostpool_bytes_pinned(pool) : 0), U(pool ? spw_hostpool_bytes_in_use(pool) : 0),
            U(pool ? spw_hostpool_bytes_in_use_peak(pool) : 0));
}

static void write_sought(FILE *f)
{
    const struct spw_sought *s = &spw_sought;
    fprintf(f,
            "  \"addresses\": {\"looks\": %llu, \"waits\": %llu, \"sweeps\": %llu, \"found\": %llu, "
            "\"host_bytes\": %llu},\n",
            U(s->looks), U(s->waits), U(s->sweeps), U(s->found), U(spw_seek_host_bytes_locked()));
}

/* Writes a text as a JSON string. */
static void write_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == '"' || *at == '\\')
            fprintf(f, "\\u%04x", *at);
        else
            fputc(*at, f);
    fputc('"', f);
}

struct named_list {
    FILE *file;
    const char *separator;
};

static void write_named(const struct spw_named *named, void *data)
{
    static const char *const where[] = {
        [SPW_RESIDENCY_EMPTY] = "nowhere",    [SPW_RESIDENCY_RESIDENT] = "device", [SPW_RESIDENCY_RESTORING] = "device",
        [SPW_RESIDENCY_EVICTING] = "leaving", [SPW_RESIDENCY_EVICTED] = "host",    [SPW_RESIDENCY_DROPPED] = "recomputed"};
    struct named_list *list = data;
    fprintf(list->file, "%s\n    {\"name\": ", list->separator);
    write_string(list->file, named->name);
    fprintf(list->file, ", \"device\": %d, \"bytes\": %llu, \"where\": \"%s\"}", named->device, U(named->bytes),
            named->block ? where[spw_block_residency(named->block)] : "device");
    list->separator = ",";
}

static void write_names(FILE *f)
{
    struct named_list list = {f, ""};
    fprintf(f, "  \"named\": [");
    spw_names_each_locked(write_named, &list);
    fprintf(f, "],\n");
}

static void write_json(FILE *f)
{
    static const char *const modes[] = {"swap", "trace", "off"};
    const char *why, *separator = "";
    fprintf(f, "{\n  \"format\": \"spillway-summary/1\", \"pid\": %d, \"mode\": \"%s\",\n  ", (int)armed,
            modes[spw_settings_get()->mode]);
    for (int k = 0; k < SPW_TALLY_COUNT; k++) {
        struct spw_tally t = spw_tally_of((enum spw_tally_kind)k);
        fprintf(f, "\"%s\": %llu, \"%s_bytes\": %llu, ", spw_tally_name((enum spw_tally_kind)k), t.calls,
                spw_tally_name((enum spw_tally_kind)k), t.bytes);
    }
    fprintf(f, "\n  \"escaped_lookups\": %u, \"streams_known\": %llu, \"events_held\": %llu, \"pinned_bytes\": %llu,\n",
            spw_escapes_count(), U(spw_streams_count_locked()), U(spw_events_held()), U(spw_pinned_bytes_locked(&why)));
    fprintf(f,
            "  \"operations\": %llu, \"slow_operations\": %llu, \"refused_operations\": %llu, \"served_from_cache\": %llu,\n"
            "  \"not_cached\": %llu, \"refused_allocations\": %llu, \"stalls\": %llu, \"stalled_ns\": %llu,\n",
            U(spw_tick), U(spw_engine_counts.slow_operations), U(spw_engine_counts.refused_operations),
            U(spw_alloc_counts.from_cache), U(spw_alloc_counts.not_cached), U(spw_alloc_counts.refused),
            U(spw_reclaim_stalls.count), U(spw_reclaim_stalls.ns));
    write_spots(f);
    write_sought(f);
    write_moved(f);
    fprintf(f, "  ");
    spw_summary_write_carried(f);
    fprintf(f, ",\n  ");
    spw_summary_write_replayed(f);
    fprintf(f, ",\n");
    write_verified(f);
    write_profile(f);
    write_host(f);
    write_names(f);
    fprintf(f, "  \"devices\": [");
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].ready) {
            write_device(f, &spw_devices[i], separator);
            separator = ",";
        }
    fprintf(f, "]\n}\n");
}

static void write_file(const char *path)
{
    FILE *f = fopen(path, "we");
    if (!f) {
        spw_warn("cannot write the summary to %s: %s" SPW_SEE("summary-not-written"), path, strerror(errno));
        return;
    }
    write_json(f);
    if (fclose(f) != 0)
        spw_warn("cannot write the summary to %s: %s" SPW_SEE("summary-not-written"), path, strerror(errno));
}

int spw_summary_text(char **ret_text, size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (!f)
        return -ENOMEM;
    spw_lock();
    write_json(f);
    spw_unlock();
    const bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) {
        free(text);
        return -ENOMEM;
    }
    *ret_text = text;
    *ret_length = length;
    return 0;
}

__attribute__((destructor)) static void tell(void)
{
    if (!armed || armed != getpid())
        return;
    spw_plan_follower_stop();
    if (!spw_try_lock())
        return; /* a thread was ended in the middle of something: the figures may be inconsistent */
    spw_kernel_profile_write_unlocking();
    tell_devices();
    tell_verified();
    if (spw_settings_get()->summary[0])
        write_file(spw_settings_get()->summary);
    spw_unlock();
}
