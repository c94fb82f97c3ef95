/* scalar_args.c - reads the image of a kept launch word by word: tensors by their place, and everything else as it stands.
 */
#include "scalar_args.h"

#include <stdlib.h>
#include <string.h>

/* The tensor that the word leads to, by its place among those touched, from 1 on; 0: to none. */
static uint32_t tensor_of(const struct spw_recorded_op *recorded_op, uint64_t word)
{
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (word - recorded_op->touches[i].address < recorded_op->touches[i].bytes)
            return i + 1;
    return 0;
}

/* The numbers in order, at most one for each four bytes. Without room for them they are only counted. */
static void look_at(const struct spw_recorded_op *recorded_op, uint32_t at_most, struct spw_scalar_args *given)
{
    uint32_t geometry[SPW_CALL_ARGS_GEOMETRY];
    size_t bytes;
    const unsigned char *image = spw_call_args_image(recorded_op->submission, geometry, &bytes);
    given->count = given->places = 0;
    for (unsigned i = 0; i < SPW_CALL_ARGS_GEOMETRY; i++, given->count++)
        if (given->count < at_most)
            given->list[given->count] = geometry[i];
    for (size_t at = 0; at < bytes; given->count++) {
        uint64_t word = 0;
        uint32_t number = 0;
        if (at + sizeof(word) <= bytes)
            memcpy(&word, image + at, sizeof(word));
        const uint32_t tensor = word ? tensor_of(recorded_op, word) : 0;
        memcpy(&number, image + at, bytes - at < sizeof(number) ? bytes - at : sizeof(number));
        if (given->count < at_most)
            given->list[given->count] = tensor ? tensor : number;
        if (tensor)
            given->places = (given->places ^ (at + 1)) * UINT64_C(0x9e3779b97f4a7c15);
        at += tensor ? sizeof(word) : sizeof(number);
    }
}

bool spw_scalar_args_take(struct spw_scalar_args *numbers, const struct spw_recorded_op *recorded_op)
{
    *numbers = (struct spw_scalar_args){0};
    look_at(recorded_op, 0, numbers);
    numbers->list = calloc((size_t)numbers->count + 1, 2 * sizeof(*numbers->list));
    if (numbers->list)
        look_at(recorded_op, numbers->count, numbers);
    return numbers->list;
}

void spw_scalar_args_finish(struct spw_scalar_args *numbers)
{
    free(numbers->list);
    *numbers = (struct spw_scalar_args){0};
}

bool spw_scalar_args_are_of_a_sort(const struct spw_scalar_args *a, const struct spw_scalar_args *b)
{
    return a->list && b->list && a->places == b->places && a->count == b->count;
}

bool spw_scalar_args_cover(const struct spw_scalar_args *known, const struct spw_scalar_args *given)
{
    if (!spw_scalar_args_are_of_a_sort(known, given))
        return false;
    for (uint32_t i = 0; i < known->count; i++)
        if (given->list[i] != known->list[i] && !known->list[known->count + i])
            return false;
    return true;
}

void spw_scalar_args_allow(struct spw_scalar_args *known, const struct spw_scalar_args *given)
{
    for (uint32_t i = 0; i < known->count; i++)
        known->list[known->count + i] |= given->list[i] != known->list[i];
}

static bool is_among(const struct spw_scalar_args *known, unsigned count, const struct spw_scalar_args *given,
                     uint32_t place)
{
    for (unsigned k = 0; k < count; k++)
        if (spw_scalar_args_are_of_a_sort(&known[k], given) && known[k].list[place] == given->list[place])
            return true;
    return false;
}

bool spw_scalar_args_are_among(const struct spw_scalar_args *known, unsigned count, const struct spw_scalar_args *given)
{
    for (uint32_t i = 0; i < given->count; i++)
        if (!is_among(known, count, given, i))
            return false;
    return true;
}
