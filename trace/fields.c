/* fields.c - the table of the fields of each kind of record, in the order of the bytes.
 *
 * Fields that a writer may refuse come before those that change a slot, so that a refused record has no effect. */
#include "fields.h"

#define FIELD(kind, member, how, ...) \
    { \
        .name = #member, .type = SPW_FIELD_##how, .offset = offsetof(struct spw_record, kind.member), __VA_ARGS__ \
    }
#define LIST(kind, member, how, counted, limit, ...) \
    { \
        .name = #member, .type = SPW_FIELD_##how, .offset = offsetof(struct spw_record, kind.member), \
        .count_offset = offsetof(struct spw_record, kind.counted), .most = (limit), __VA_ARGS__ \
    }
#define TEXT(kind, member) FIELD(kind, member, TEXT, .most = SPW_RECORD_TEXT)

static const struct spw_field process[] = {
    TEXT(process, mode),
    TEXT(process, version),
    TEXT(process, command),
    TEXT(process, host),
    FIELD(process, pid, U32),
    FIELD(process, rank, U32),
    FIELD(process, started_unix_ns, U64),
};
static const struct spw_field device[] = {
    TEXT(device, name),
    FIELD(device, device, U32),
    FIELD(device, total_bytes, U64),
    FIELD(device, free_bytes, U64),
    FIELD(device, budget_bytes, U64),
};
static const struct spw_field module[] = {
    TEXT(module, path),      LIST(module, build_id, BYTES, build_id_bytes, SPW_BUILD_ID),
    FIELD(module, id, U32),  FIELD(module, start, U64),
    FIELD(module, end, U64), FIELD(module, file_offset, U64),
};
static const struct spw_field site[] = {
    LIST(site, frames, CODES, count, SPW_RECORD_FRAMES, .slot = SPW_SLOT_CODE),
    FIELD(site, id, U32),
};
static const struct spw_field function[] = {
    TEXT(function, name),
    FIELD(function, id, U32),
    FIELD(function, parsed, FLAG),
};
static const struct spw_field stream[] = {
    FIELD(stream, id, U32),       FIELD(stream, device, U32),  FIELD(stream, flags, U32),
    FIELD(stream, priority, S32), FIELD(stream, legacy, FLAG), FIELD(stream, per_thread, FLAG),
};
static const struct spw_field alloc[] = {
    FIELD(alloc, kind, ENUM, .most = SPW_ALLOC_KINDS),
    FIELD(alloc, id, NEXT, .slot = SPW_SLOT_ALLOC),
    FIELD(alloc, device, U32),
    FIELD(alloc, address, LAST, .slot = SPW_SLOT_ADDRESS),
    FIELD(alloc, bytes, U64),
    FIELD(alloc, stream, U32),
    FIELD(alloc, site, U32),
    FIELD(alloc, time_ns, TIME, .slot = SPW_SLOT_TIME),
};
static const struct spw_field freed[] = {
    FIELD(free, id, FROM, .slot = SPW_SLOT_ALLOC),
    FIELD(free, stream, U32),
    FIELD(free, time_ns, TIME, .slot = SPW_SLOT_TIME),
};
static const struct spw_field event[] = {
    FIELD(event, event, U32),
    FIELD(event, stream, U32),
    FIELD(event, wait, FLAG),
};
static const struct spw_field wait[] = {
    FIELD(wait, kind, ENUM, .most = SPW_WAIT_KINDS),
    FIELD(wait, what, U32),
    FIELD(wait, time_ns, TIME, .slot = SPW_SLOT_TIME),
    FIELD(wait, duration_ns, SPAN),
};
static const struct spw_field duration[] = {
    FIELD(duration, op, NEXT, .slot = SPW_SLOT_TIMED_OP),
    FIELD(duration, start_ns, TIME, .slot = SPW_SLOT_DEVICE),
    FIELD(duration, duration_ns, SPAN),
};
static const struct spw_field mark[] = {
    FIELD(mark, kind, ENUM, .most = SPW_MARK_KINDS),
    FIELD(mark, op, FROM, .slot = SPW_SLOT_OP),
    FIELD(mark, length, U64),
    FIELD(mark, shape, U32),
};
static const struct spw_field counters[] = {
    FIELD(counters, time_ns, TIME, .slot = SPW_SLOT_TIME),
    FIELD(counters, device, U32),
    FIELD(counters, mapped_bytes, U64),
    FIELD(counters, host_bytes, U64),
    FIELD(counters, out_bytes, U64),
    FIELD(counters, in_bytes, U64),
    FIELD(counters, dropped_bytes, U64),
    FIELD(counters, stalled_ns, U64),
};
static const struct spw_field lost[] = {
    FIELD(lost, records, U64),
};
static const struct spw_field end[] = {
    FIELD(end, time_ns, TIME, .slot = SPW_SLOT_TIME),
    FIELD(end, ops, U64),
    FIELD(end, allocs, U64),
};
static const struct spw_field refusal[] = {
    TEXT(refusal, kernel),      TEXT(refusal, reason),           TEXT(refusal, text),        FIELD(refusal, device, U32),
    FIELD(refusal, index, U32), FIELD(refusal, operations, U32), FIELD(refusal, bytes, U64),
};

static const struct spw_field machine[] = {
    FIELD(machine, device, U32),          FIELD(machine, duplex_ppm, U32),    FIELD(machine, d2h_bytes_per_s, U64),
    FIELD(machine, h2d_bytes_per_s, U64), FIELD(machine, granule_bytes, U64), FIELD(machine, small_bytes, U64),
    FIELD(machine, move_ns, U64),
};

#define KIND(named, list) \
    { \
        .name = named, .fields = (list), .count = sizeof(list) / sizeof((list)[0]) \
    }

const struct spw_kind_fields spw_kinds[SPW_RECORD_KINDS] = {
    [SPW_RECORD_PROCESS] = KIND("process", process),
    [SPW_RECORD_DEVICE] = KIND("device", device),
    [SPW_RECORD_MODULE] = KIND("module", module),
    [SPW_RECORD_SITE] = KIND("site", site),
    [SPW_RECORD_FUNCTION] = KIND("function", function),
    [SPW_RECORD_STREAM] = KIND("stream", stream),
    [SPW_RECORD_ALLOC] = KIND("alloc", alloc),
    [SPW_RECORD_FREE] = KIND("free", freed),
    [SPW_RECORD_OP] = {.name = "op"},
    [SPW_RECORD_EVENT] = KIND("event", event),
    [SPW_RECORD_WAIT] = KIND("wait", wait),
    [SPW_RECORD_DURATION] = KIND("duration", duration),
    [SPW_RECORD_MARK] = KIND("mark", mark),
    [SPW_RECORD_COUNTERS] = KIND("counters", counters),
    [SPW_RECORD_LOST] = KIND("lost", lost),
    [SPW_RECORD_END] = KIND("end", end),
    [SPW_RECORD_REFUSAL] = KIND("refusal", refusal),
    [SPW_RECORD_MACHINE] = KIND("machine", machine),
};
