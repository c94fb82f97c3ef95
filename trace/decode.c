/* decode.c - decodes records by the table of fields; decode_op.c decodes operations. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

void spw_decoder_begin(struct spw_decoder *decoder, const struct spw_frame_head *head, const uint8_t *raw)
{
    const uint8_t *times = raw + (head->raw_bytes - head->times_bytes);
    decoder->records = (struct spw_column){raw, times};
    decoder->times = (struct spw_column){times, raw + head->raw_bytes};
    memset(decoder->slots, 0, sizeof decoder->slots);
    decoder->slots[SPW_SLOT_OP] = head->first_op;
    decoder->slots[SPW_SLOT_ALLOC] = head->next_alloc;
    decoder->slots[SPW_SLOT_TIME] = head->time_ns;
    decoder->shape_count = decoder->touch_count = 0;
}

void spw_decoder_finish(struct spw_decoder *decoder)
{
    free(decoder->once);
    decoder->once = NULL;
    decoder->once_room = 0;
}

bool spw_decoder_is_at_end(const struct spw_decoder *decoder)
{
    return decoder->records.at == decoder->records.end && decoder->times.at == decoder->times.end;
}

bool spw_get_long(struct spw_column *cursor, uint64_t *ret_value)
{
    uint64_t value = 0;
    const uint8_t *at = cursor->at;
    for (unsigned shift = 0; shift < 64 && at < cursor->end; shift += 7) {
        const uint64_t bits = *at & 0x7f;
        if (bits << shift >> shift != bits)
            return false;
        value |= bits << shift;
        if (*at++ < 0x80) {
            cursor->at = at;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* Decodes a count, which may exceed neither its limit nor the bytes that are left. */
static bool get_count(struct spw_column *cursor, uint32_t most, uint32_t *ret_count)
{
    uint64_t count;
    if (!spw_get(cursor, &count) || count > most || count > (size_t)(cursor->end - cursor->at))
        return false;
    *ret_count = (uint32_t)count;
    return true;
}

/* Decodes a text. The limits of a kind's texts add up to no more than decoder->text holds. */
static bool get_text(struct spw_decoder *decoder, uint32_t most, const char **ret_text, uint32_t *ret_bytes)
{
    struct spw_column *cursor = &decoder->records;
    char *copy = decoder->text + decoder->text_used;
    if (!get_count(cursor, most, ret_bytes))
        return false;
    memcpy(copy, cursor->at, *ret_bytes);
    copy[*ret_bytes] = '\0';
    cursor->at += *ret_bytes;
    decoder->text_used += *ret_bytes + 1;
    *ret_text = copy;
    return true;
}

static bool get_codes(struct spw_decoder *decoder, const struct spw_field *field, uint32_t *ret_count)
{
    if (!get_count(&decoder->records, field->most, ret_count))
        return false;
    for (uint32_t i = 0; i < *ret_count; i++) {
        if (!spw_get_difference(&decoder->records, &decoder->slots[field->slot]))
            return false;
        decoder->codes[i] = decoder->slots[field->slot];
    }
    return true;
}

static bool get_u32(struct spw_decoder *decoder, void *ret_value)
{
    uint32_t value;
    return spw_get_u32(&decoder->records, &value) && (memcpy(ret_value, &value, sizeof value), true);
}

static bool get_s32(struct spw_decoder *decoder, void *ret_value)
{
    uint64_t number;
    if (!spw_get(&decoder->records, &number) || number > UINT32_MAX)
        return false;
    const int32_t value = (int32_t)(int64_t)spw_unzigzag(number);
    memcpy(ret_value, &value, sizeof value);
    return true;
}

static bool get_small(struct spw_decoder *decoder, const struct spw_field *field, void *ret_value)
{
    uint8_t byte;
    if (!spw_get_byte(&decoder->records, &byte))
        return false;
    if (field->type == SPW_FIELD_FLAG) {
        const bool flag = byte;
        memcpy(ret_value, &flag, sizeof flag);
        return byte <= 1;
    }
    const uint32_t value = byte;
    memcpy(ret_value, &value, sizeof value);
    return byte < field->most;
}

static bool get_u64(struct spw_column *cursor, void *ret_value)
{
    uint64_t value;
    return spw_get(cursor, &value) && (memcpy(ret_value, &value, sizeof value), true);
}

static bool get_from_slot(struct spw_decoder *decoder, struct spw_column *cursor, const struct spw_field *field,
                          void *ret_value)
{
    uint64_t value = decoder->slots[field->slot];
    if (!spw_get_difference(cursor, &value))
        return false;
    if (field->type != SPW_FIELD_FROM)
        decoder->slots[field->slot] = value + (field->type == SPW_FIELD_NEXT);
    memcpy(ret_value, &value, sizeof value);
    return true;
}

/* Decodes a list: its count and a pointer to it. */
static bool get_list(struct spw_decoder *decoder, const struct spw_field *field, void *ret_pointer, void *ret_count)
{
    uint32_t count;
    const char *text = NULL;
    const void *pointer = decoder->codes;
    if (field->type == SPW_FIELD_CODES ? !get_codes(decoder, field, &count) : !get_text(decoder, field->most, &text, &count))
        return false;
    if (field->type == SPW_FIELD_TEXT && memchr(text, '\0', count))
        return false;
    if (text)
        pointer = text;
    memcpy(ret_pointer, &pointer, sizeof pointer);
    if (ret_count)
        memcpy(ret_count, &count, sizeof count);
    return true;
}

static bool get_field(struct spw_decoder *decoder, const struct spw_field *field, struct spw_record *record)
{
    uint8_t *value = (uint8_t *)record + field->offset;
    switch ((enum spw_field_type)field->type) {
    case SPW_FIELD_U32:
        return get_u32(decoder, value);
    case SPW_FIELD_S32:
        return get_s32(decoder, value);
    case SPW_FIELD_U64:
        return get_u64(&decoder->records, value);
    case SPW_FIELD_SPAN:
        return get_u64(&decoder->times, value);
    case SPW_FIELD_FLAG:
    case SPW_FIELD_ENUM:
        return get_small(decoder, field, value);
    case SPW_FIELD_TEXT:
        return get_list(decoder, field, value, NULL);
    case SPW_FIELD_BYTES:
    case SPW_FIELD_CODES:
        return get_list(decoder, field, value, (uint8_t *)record + field->count_offset);
    case SPW_FIELD_FROM:
    case SPW_FIELD_LAST:
    case SPW_FIELD_NEXT:
        return get_from_slot(decoder, &decoder->records, field, value);
    case SPW_FIELD_TIME:
        return get_from_slot(decoder, &decoder->times, field, value);
    case SPW_FIELD_TYPES:
        break;
    }
    return false;
}

bool spw_decode(struct spw_decoder *decoder, struct spw_record *ret_record)
{
    uint8_t tag;
    if (!spw_get_byte(&decoder->records, &tag))
        return false;
    ret_record->kind = tag & SPW_TAG_KIND;
    if (ret_record->kind == SPW_RECORD_OP)
        return spw_decode_op(decoder, tag, &ret_record->op);
    if (tag >= SPW_RECORD_KINDS)
        return false;
    const struct spw_kind_fields *kind = &spw_kinds[tag];
    decoder->text_used = 0;
    for (unsigned i = 0; i < kind->count; i++)
        if (!get_field(decoder, &kind->fields[i], ret_record))
            return false;
    return true;
}
