/* records.c - trace records made at random from a seed. */
#include "records.h"

#include <string.h>

#include "fields.h"

uint64_t random_number(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return random_number(seed) % limit;
}

/* A number of any length: each count of bits is as likely as any other. */
static uint64_t any_number(uint64_t *seed)
{
    const unsigned bits = (unsigned)below(seed, 65);
    return bits ? random_number(seed) >> (64 - bits) : 0;
}

static uint32_t any_u32(uint64_t *seed)
{
    return (uint32_t)any_number(seed);
}

/* Short mostly, and of any bytes but the one that ends it. */
static const char *any_text(uint64_t *seed, char *text)
{
    const size_t length = below(seed, 64) ? below(seed, 40) : below(seed, SPW_RECORD_TEXT + 1);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(1 + below(seed, 255));
    text[length] = '\0';
    return text;
}

static void make_field(struct made_record *made, uint64_t *seed, const struct spw_field *field, unsigned *texts)
{
    uint8_t *value = (uint8_t *)&made->record + field->offset, *counter = (uint8_t *)&made->record + field->count_offset;
    const uint64_t number = any_number(seed);
    const uint32_t word = (uint32_t)number, choice = field->most ? (uint32_t)below(seed, field->most) : 0;
    const void *pointer;
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_U32:
    case SPW_FIELD_S32:
        memcpy(value, &word, 4);
        return;
    case SPW_FIELD_FLAG:
        memcpy(value, &(bool){number & 1}, sizeof(bool));
        return;
    case SPW_FIELD_ENUM:
        memcpy(value, &choice, 4);
        return;
    case SPW_FIELD_TEXT:
        pointer = any_text(seed, made->text[(*texts)++]);
        memcpy(value, &pointer, sizeof pointer);
        return;
    case SPW_FIELD_BYTES:
    case SPW_FIELD_CODES:
        for (unsigned i = 0; i < SPW_RECORD_FRAMES; i++)
            made->codes[i] = any_number(seed);
        for (unsigned i = 0; i < sizeof made->build_id; i++)
            made->build_id[i] = (uint8_t)made->codes[i];
        pointer = field->type == SPW_FIELD_BYTES ? (void *)made->build_id : (void *)made->codes;
        memcpy(value, &pointer, sizeof pointer);
        memcpy(counter, &(uint32_t){choice + (number & 1)}, 4);
        return;
    default:
        memcpy(value, &number, 8);
    }
}

static void make_op(struct made_record *made, uint64_t *seed)
{
    struct spw_record_op *op = &made->record.op;
    const bool alike = below(seed, 4) != 0;
    uint64_t shape = alike ? below(seed, 50) : random_number(seed);
    op->kind = (enum spw_op_kind)below(&shape, SPW_OP_KINDS);
    op->stream = any_u32(&shape);
    op->captured = below(&shape, 2);
    op->synchronous = below(&shape, 2);
    op->everything = below(&shape, 2);
    op->function = any_u32(&shape);
    for (unsigned i = 0; i < 3; i++) {
        op->grid[i] = any_u32(&shape);
        op->block[i] = any_u32(&shape);
    }
    op->shared_bytes = any_u32(&shape);
    op->touch_count = (uint32_t)below(&shape, RECORDS_TOUCHES + 1);
    if (below(seed, 5000) == 0)
        op->touch_count = (uint32_t)below(seed, SPW_RECORD_TOUCHES + 1);
    op->time_ns = any_number(seed);
    op->bytes = alike && below(seed, 2) ? 4096 : any_number(seed);
    op->touches = made->touches;
    for (uint32_t i = 0; i < op->touch_count; i++)
        made->touches[i] =
            (struct spw_touch){.alloc = alike ? 100 + i + below(seed, 40) : any_number(seed),
                               .offset = below(seed, 4) ? 0 : any_number(seed),
                               .bytes = below(seed, 4) ? 0 : any_number(seed),
                               .access = (enum spw_access)(1 + below(seed, 3)) | (below(seed, 8) ? 0 : SPW_ACCESS_LOOSE)};
}

void make_record(struct made_record *made, uint64_t seed)
{
    unsigned texts = 0;
    memset(&made->record, 0, sizeof made->record);
    made->record.kind = below(&seed, 2) ? SPW_RECORD_OP : (enum spw_record_kind)below(&seed, SPW_RECORD_KINDS);
    if (made->record.kind == SPW_RECORD_OP) {
        make_op(made, &seed);
        return;
    }
    const struct spw_kind_fields *kind = &spw_kinds[made->record.kind];
    for (unsigned i = 0; i < kind->count; i++)
        make_field(made, &seed, &kind->fields[i], &texts);
}

static size_t size_of(const struct spw_field *field)
{
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_FLAG:
        return sizeof(bool);
    case SPW_FIELD_U32:
    case SPW_FIELD_S32:
    case SPW_FIELD_ENUM:
        return 4;
    default:
        return 8;
    }
}

static bool same_field(const struct spw_record *a, const struct spw_record *b, const struct spw_field *field)
{
    const uint8_t *in_a = (const uint8_t *)a + field->offset, *in_b = (const uint8_t *)b + field->offset;
    const void *pointer_a, *pointer_b;
    uint32_t count_a, count_b;
    if (field->type != SPW_FIELD_TEXT && field->type != SPW_FIELD_BYTES && field->type != SPW_FIELD_CODES)
        return memcmp(in_a, in_b, size_of(field)) == 0;
    memcpy(&pointer_a, in_a, sizeof pointer_a);
    memcpy(&pointer_b, in_b, sizeof pointer_b);
    if (field->type == SPW_FIELD_TEXT)
        return strcmp(pointer_a, pointer_b) == 0;
    memcpy(&count_a, (const uint8_t *)a + field->count_offset, 4);
    memcpy(&count_b, (const uint8_t *)b + field->count_offset, 4);
    return count_a == count_b && memcmp(pointer_a, pointer_b, count_a * (field->type == SPW_FIELD_CODES ? 8u : 1u)) == 0;
}

static const char *differing_op(const struct spw_record_op *a, const struct spw_record_op *b)
{
    if (a->kind != b->kind || a->stream != b->stream || a->function != b->function || a->shared_bytes != b->shared_bytes ||
        memcmp(a->grid, b->grid, sizeof a->grid) != 0 || memcmp(a->block, b->block, sizeof a->block) != 0)
        return "shape";
    if (a->captured != b->captured || a->synchronous != b->synchronous || a->everything != b->everything)
        return "flags";
    if (a->time_ns != b->time_ns)
        return "time";
    if (a->bytes != b->bytes)
        return "bytes";
    if (a->touch_count != b->touch_count)
        return "touch_count";
    for (uint32_t i = 0; i < a->touch_count; i++) {
        const struct spw_touch *x = &a->touches[i], *y = &b->touches[i];
        if (x->alloc != y->alloc || x->offset != y->offset || x->bytes != y->bytes || x->access != y->access)
            return "touches";
    }
    return NULL;
}

const char *differing_field(const struct spw_record *a, const struct spw_record *b)
{
    if (a->kind != b->kind)
        return "kind";
    if (a->kind == SPW_RECORD_OP)
        return differing_op(&a->op, &b->op);
    const struct spw_kind_fields *kind = &spw_kinds[a->kind];
    for (unsigned i = 0; i < kind->count; i++)
        if (!same_field(a, b, &kind->fields[i]))
            return kind->fields[i].name;
    return NULL;
}
