/* encode.c - encodes records by the table of fields; encode_op.c encodes operations. */
#include "encode.h"

#include <errno.h>
#include <string.h>

void spw_encoder_begin(struct spw_encoder *encoder)
{
    encoder->records_at = encoder->records;
    encoder->times_at = encoder->times;
    for (unsigned slot = SPW_SLOT_TIME + 1; slot < SPW_SLOTS; slot++)
        encoder->slots[slot] = 0;
    if (encoder->shape_count)
        memset(encoder->table, 0, sizeof encoder->table);
    encoder->shape_count = encoder->touch_count = encoder->previous = 0;
}

uint8_t *spw_put_long(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static uint32_t read_u32(const void *field)
{
    uint32_t value;
    memcpy(&value, field, sizeof value);
    return value;
}

static uint64_t read_u64(const void *field)
{
    uint64_t value;
    memcpy(&value, field, sizeof value);
    return value;
}

static const void *read_pointer(const void *field)
{
    const void *value;
    memcpy(&value, field, sizeof value);
    return value;
}

/* Returns the end of the field, or NULL if it is too long. */
static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t count, size_t most)
{
    if (count > most)
        return NULL;
    at = spw_put_varint(at, count);
    if (count)
        memcpy(at, bytes, count);
    return at + count;
}

static uint8_t *put_codes(struct spw_encoder *encoder, uint8_t *at, const uint64_t *codes, uint32_t count,
                          const struct spw_field *field)
{
    if (count > field->most)
        return NULL;
    at = spw_put_varint(at, count);
    for (uint32_t i = 0; i < count; i++) {
        at = spw_put_varint(at, spw_zigzag(codes[i] - encoder->slots[field->slot]));
        encoder->slots[field->slot] = codes[i];
    }
    return at;
}

static uint8_t *put_difference(struct spw_encoder *encoder, uint8_t *at, uint64_t value, const struct spw_field *field)
{
    at = spw_put_varint(at, spw_zigzag(value - encoder->slots[field->slot]));
    if (field->type != SPW_FIELD_FROM)
        encoder->slots[field->slot] = value + (field->type == SPW_FIELD_NEXT);
    return at;
}

static uint8_t *put_field(struct spw_encoder *encoder, uint8_t *at, const struct spw_record *record,
                          const struct spw_field *field)
{
    const uint8_t *value = (const uint8_t *)record + field->offset;
    const uint8_t *counter = (const uint8_t *)record + field->count_offset;
    const char *text;
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_U32:
        return spw_put_varint(at, read_u32(value));
    case SPW_FIELD_U64:
        return spw_put_varint(at, read_u64(value));
    case SPW_FIELD_S32:
        return spw_put_varint(at, spw_zigzag((uint64_t)(int64_t)(int32_t)read_u32(value)));
    case SPW_FIELD_FLAG:
        return *at = *value != 0, at + 1;
    case SPW_FIELD_ENUM:
        return *at = *value, read_u32(value) < field->most ? at + 1 : NULL;
    case SPW_FIELD_TEXT:
        text = read_pointer(value);
        return put_bytes(at, text, text ? strnlen(text, (size_t)field->most + 1) : 0, field->most);
    case SPW_FIELD_BYTES:
        return put_bytes(at, read_pointer(value), read_u32(counter), field->most);
    case SPW_FIELD_CODES:
        return put_codes(encoder, at, read_pointer(value), read_u32(counter), field);
    case SPW_FIELD_FROM:
    case SPW_FIELD_LAST:
    case SPW_FIELD_NEXT:
        return put_difference(encoder, at, read_u64(value), field);
    case SPW_FIELD_TIME:
        return spw_put_time(encoder, (enum spw_field_slot)field->slot, read_u64(value)), at;
    case SPW_FIELD_SPAN:
        return encoder->times_at = spw_put_varint(encoder->times_at, read_u64(value)), at;
    case SPW_FIELD_TYPES:
        break;
    }
    return NULL;
}

static __attribute__((noinline)) int encode_fields(struct spw_encoder *encoder, const struct spw_record *record)
{
    if (record->kind >= SPW_RECORD_KINDS)
        return -EINVAL;
    const struct spw_kind_fields *kind = &spw_kinds[record->kind];
    uint8_t *at = encoder->records_at;
    *at++ = (uint8_t)record->kind;
    for (unsigned i = 0; i < kind->count && at; i++)
        at = put_field(encoder, at, record, &kind->fields[i]);
    if (!at)
        return -EINVAL;
    encoder->records_at = at;
    return 0;
}

int spw_encode(struct spw_encoder *encoder, const struct spw_record *record)
{
    return record->kind == SPW_RECORD_OP ? spw_encode_op(encoder, &record->op) : encode_fields(encoder, record);
}
