/* read-all.c - reads bytes as a trace, uses all of every record, and stops the process when something is not as promised. */
#include "read-all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fields.h"
#include "reader.h"

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "the reader breaks its promise: %s\n", what);
    abort();
}

static uint64_t add(uint64_t sum, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t use_op(uint64_t sum, const struct spw_record_op *op)
{
    require(op->kind < SPW_OP_KINDS, "the kind of an operation is known");
    require(op->touch_count <= SPW_RECORD_TOUCHES, "an operation touches no more than is allowed");
    for (uint32_t i = 0; i < op->touch_count; i++) {
        const struct spw_touch *touch = &op->touches[i];
        require(spw_access_is_one(touch->access), "an access is one");
        sum = add(sum, touch, offsetof(struct spw_touch, access) + sizeof touch->access);
    }
    sum = add(sum, &op->kind, 4);
    sum = add(sum, &op->stream, 4);
    sum = add(sum, &op->time_ns, 8);
    sum = add(sum, &op->function, 32);
    return add(sum, &op->bytes, 8);
}

/* A text, or a list of so many bytes. */
static uint64_t use_pointer(uint64_t sum, const uint8_t *in, const struct spw_field *field, const uint8_t *counter)
{
    const void *pointer;
    uint32_t count;
    memcpy(&pointer, in, sizeof pointer);
    require(pointer != NULL, "a text or list is there");
    if (field->type == SPW_FIELD_TEXT) {
        require(strlen(pointer) <= SPW_RECORD_TEXT, "a text is no longer than is allowed");
        return add(sum, pointer, strlen(pointer));
    }
    memcpy(&count, counter, sizeof count);
    require(count <= field->most, "a list is no longer than is allowed");
    return add(sum, pointer, count * (field->type == SPW_FIELD_CODES ? 8u : 1u));
}

static uint64_t use_field(uint64_t sum, const struct spw_record *record, const struct spw_field *field)
{
    const uint8_t *in = (const uint8_t *)record + field->offset;
    uint32_t word;
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_TEXT:
    case SPW_FIELD_BYTES:
    case SPW_FIELD_CODES:
        return use_pointer(sum, in, field, (const uint8_t *)record + field->count_offset);
    case SPW_FIELD_FLAG:
        require(*in <= 1, "a flag is 0 or 1");
        return add(sum, in, 1);
    case SPW_FIELD_ENUM:
        memcpy(&word, in, sizeof word);
        require(word < field->most, "a kind is known");
        return add(sum, in, 4);
    case SPW_FIELD_U32:
    case SPW_FIELD_S32:
        return add(sum, in, 4);
    default:
        return add(sum, in, 8);
    }
}

static uint64_t use(uint64_t sum, const struct spw_record *record)
{
    require(record->kind < SPW_RECORD_KINDS, "the kind of a record is known");
    if (record->kind == SPW_RECORD_OP)
        return use_op(sum, &record->op);
    const struct spw_kind_fields *kind = &spw_kinds[record->kind];
    for (unsigned i = 0; i < kind->count; i++)
        sum = use_field(sum, record, &kind->fields[i]);
    return sum;
}

static void check_problem(const struct spw_trace_problem *problem, size_t bytes)
{
    require(problem->offset <= bytes, "a problem lies within the file");
    require(problem->reason[0] && memchr(problem->reason, '\0', sizeof problem->reason), "a problem has a reason");
}

static struct read_all read_records(struct spw_trace_reader *reader, size_t bytes)
{
    struct read_all all = {0};
    struct spw_trace_problem problem = {0};
    const struct spw_record *record;
    uint64_t ops = 0;
    int r;
    while ((r = spw_trace_next(reader, &record, &problem)) != 0) {
        require(r == 1 || r == -EBADMSG, "next() answers 1, 0 or -EBADMSG");
        require(spw_trace_ops(reader) >= ops, "operations are numbered upwards");
        require(spw_trace_position_bytes(reader) <= bytes, "the position lies within the file");
        ops = spw_trace_ops(reader);
        if (r == 1) {
            all.sum = use(all.sum, record);
            all.records++;
        } else {
            check_problem(&problem, bytes);
            all.problems++;
            require(all.problems <= bytes, "each problem is told once");
            problem = (struct spw_trace_problem){0};
        }
    }
    require(spw_trace_next(reader, &record, &problem) == 0, "the end stays the end");
    return all;
}

struct read_all read_all(const uint8_t *data, size_t bytes)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("trace", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
        abort();
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem = {0};
    const int r = spw_trace_open(path, &reader, &problem);
    if (r < 0) {
        require(r == -EBADMSG, "a file that can be read is a trace or none");
        check_problem(&problem, bytes);
        return (struct read_all){.problems = 1};
    }
    const struct read_all all = read_records(reader, bytes);
    spw_trace_close(reader);
    return all;
}
