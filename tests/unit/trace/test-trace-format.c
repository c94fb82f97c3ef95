/* test-trace-format.c - docs/trace-format.md says what the code does: sizes, kinds, fields, codes.
 *
 * Each line here is made from the code's own tables and has to stand in the page, as it is. */
#include "fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char page[1 << 16];

static int read_page(void **state)
{
    FILE *file = fopen(PAGE, "r");
    const size_t n = file ? fread(page, 1, sizeof page - 1, file) : 0;
    if (file)
        fclose(file);
    page[n] = '\0';
    return n > 0 && n < sizeof page - 1 ? 0 : -1;
}

static void stands(const char *line)
{
    char whole[2048];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(page, whole))
        fail_msg("this line is missing in " PAGE ":\n%s", line);
}

static void number_stands(const char *name, unsigned long long value)
{
    char line[256];
    snprintf(line, sizeof line, "| %s | %llu |", name, value);
    stands(line);
}

static void every_size_and_limit_stands_in_the_page(void **state)
{
    number_stands("version", SPW_TRACE_VERSION);
    number_stands("bytes of the file's head", SPW_TRACE_HEAD_BYTES);
    number_stands("bytes of a frame's head", SPW_FRAME_HEAD_BYTES);
    number_stands("most raw bytes of a frame with several records", SPW_FRAME_MANY_BYTES);
    number_stands("most raw bytes of a frame with one record", SPW_FRAME_RAW_BYTES);
    number_stands("most packed bytes of a frame", SPW_FRAME_PACKED_BYTES);
    number_stands("shapes remembered in a frame", SPW_FRAME_SHAPES);
    number_stands("touches remembered in a frame", SPW_FRAME_TOUCHES);
    number_stands("touches of an operation", SPW_RECORD_TOUCHES);
    number_stands("bytes of a text", SPW_RECORD_TEXT);
    number_stands("return addresses of a site", SPW_RECORD_FRAMES);
    number_stands("bytes of a build id", SPW_BUILD_ID);
    number_stands("bits of the numbers of records and operations in a frame's head", SPW_NUMBER_BITS);
}

static void magic_stands(const char *name, const char *magic, size_t bytes)
{
    char line[256];
    int n = snprintf(line, sizeof line, "| %s |", name);
    for (size_t i = 0; i < bytes; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %02x", (uint8_t)magic[i]);
    snprintf(line + n, sizeof line - (size_t)n, " |");
    stands(line);
}

static void both_magics_stand_in_the_page(void **state)
{
    magic_stands("the file's", SPW_TRACE_MAGIC, 8);
    magic_stands("a frame's", SPW_FRAME_MAGIC, 4);
}

static const char *const types[SPW_FIELD_TYPES] = {"u32",   "u64",  "s32",  "flag", "enum", "text", "bytes",
                                                   "codes", "from", "last", "next", "time", "span"};
static const char *const slots[SPW_SLOTS] = {"op", "alloc", "time", "address", "code", "timed", "device"};

static int describe(char *out, size_t room, const struct spw_field *field)
{
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_ENUM:
        return snprintf(out, room, " %s: enum %u", field->name, field->most);
    case SPW_FIELD_CODES:
    case SPW_FIELD_FROM:
    case SPW_FIELD_LAST:
    case SPW_FIELD_NEXT:
    case SPW_FIELD_TIME:
        return snprintf(out, room, " %s: %s %s", field->name, types[field->type], slots[field->slot]);
    default:
        return snprintf(out, room, " %s: %s", field->name, types[field->type]);
    }
}

static void every_kind_of_record_stands_in_the_page_with_its_fields(void **state)
{
    for (unsigned kind = 0; kind < SPW_RECORD_KINDS; kind++) {
        char line[1024];
        const struct spw_kind_fields *fields = &spw_kinds[kind];
        int n = snprintf(line, sizeof line, "| %u | %s |", kind, fields->name);
        for (unsigned i = 0; i < fields->count; i++) {
            n += describe(line + n, sizeof line - (size_t)n, &fields->fields[i]);
            n += snprintf(line + n, sizeof line - (size_t)n, i + 1 < fields->count ? "," : "");
        }
        snprintf(line + n, sizeof line - (size_t)n, kind == SPW_RECORD_OP ? " see below |" : " |");
        stands(line);
    }
}

static void names_stand(const char *what, const char *const *names, unsigned count)
{
    char line[512];
    int n = snprintf(line, sizeof line, "| %s |", what);
    for (unsigned i = 0; i < count; i++) {
        assert_non_null(names[i]);
        n += snprintf(line + n, sizeof line - (size_t)n, " %u %s%s", i, names[i], i + 1 < count ? "," : " |");
    }
    stands(line);
}

static void every_value_of_an_enum_stands_in_the_page(void **state)
{
    static const char *const allocs[SPW_ALLOC_KINDS] = {
        [SPW_ALLOC_PLAIN] = "plain",     [SPW_ALLOC_ASYNC] = "stream-ordered", [SPW_ALLOC_MANAGED] = "managed",
        [SPW_ALLOC_VMM] = "mapped",      [SPW_ALLOC_GLOBAL] = "global",        [SPW_ALLOC_IMPORT] = "imported",
        [SPW_ALLOC_HOST] = "pinned host"};
    static const char *const ops[SPW_OP_KINDS] = {[SPW_OP_LAUNCH] = "launch",
                                                  [SPW_OP_GRAPH] = "graph",
                                                  [SPW_OP_COPY_H2D] = "copy to device",
                                                  [SPW_OP_COPY_D2H] = "copy to host",
                                                  [SPW_OP_COPY_D2D] = "copy on devices",
                                                  [SPW_OP_COPY_H2H] = "copy on host",
                                                  [SPW_OP_SET] = "set",
                                                  [SPW_OP_HOST_FUNCTION] = "host function",
                                                  [SPW_OP_VALUE] = "value"};
    static const char *const waits[SPW_WAIT_KINDS] = {
        [SPW_WAIT_CONTEXT] = "context", [SPW_WAIT_STREAM] = "stream", [SPW_WAIT_EVENT] = "event"};
    static const char *const marks[SPW_MARK_KINDS] = {[SPW_MARK_ITERATION] = "iteration",
                                                      [SPW_MARK_TIMING_BEGIN] = "timing begins",
                                                      [SPW_MARK_TIMING_END] = "timing ends",
                                                      [SPW_MARK_HINT] = "hint"};
    names_stand("kind of an alloc", allocs, SPW_ALLOC_KINDS);
    names_stand("kind of an op", ops, SPW_OP_KINDS);
    names_stand("kind of a wait", waits, SPW_WAIT_KINDS);
    names_stand("kind of a mark", marks, SPW_MARK_KINDS);
}

static void bits_stand(const char *name, unsigned value)
{
    char line[256];
    snprintf(line, sizeof line, "| %s | 0x%02x |", name, value);
    stands(line);
}

static void every_bit_and_code_of_an_operation_stands_in_the_page(void **state)
{
    bits_stand("tag: kind", SPW_TAG_KIND);
    bits_stand("tag: BYTES", SPW_TAG_BYTES);
    bits_stand("tag: NEW", SPW_TAG_NEW);
    bits_stand("tag: ONCE", SPW_TAG_ONCE);
    bits_stand("flags: captured", SPW_SHAPE_CAPTURED);
    bits_stand("flags: synchronous", SPW_SHAPE_SYNCHRONOUS);
    bits_stand("flags: everything", SPW_SHAPE_EVERYTHING);
    bits_stand("touch: OFFSET", SPW_TOUCH_OFFSET);
    bits_stand("touch: BYTES", SPW_TOUCH_BYTES);
    bits_stand("touch: ACCESS", SPW_TOUCH_ACCESS);
    number_stands("touch: bits below the way", SPW_TOUCH_SHIFT);
    number_stands("way: ALONG", SPW_TOUCH_ALONG);
    number_stands("way: AGAIN", SPW_TOUCH_AGAIN);
    number_stands("way: NEAR, and up", SPW_TOUCH_NEAR);
    number_stands("way: FAR", SPW_TOUCH_FAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_and_limit_stands_in_the_page),
        cmocka_unit_test(both_magics_stand_in_the_page),
        cmocka_unit_test(every_kind_of_record_stands_in_the_page_with_its_fields),
        cmocka_unit_test(every_value_of_an_enum_stands_in_the_page),
        cmocka_unit_test(every_bit_and_code_of_an_operation_stands_in_the_page),
    };
    return cmocka_run_group_tests_name("trace-format", tests, read_page, NULL);
}
