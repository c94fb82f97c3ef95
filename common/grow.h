/* grow.h - arrays that grow: no other code of the project enlarges an array.
 *
 * An array is a pointer and its room, the number of elements that it has memory for. It begins as NULL with a room of 0,
 * and its owner counts the elements in use and frees it with free(). When it grows, the added elements are all zeroes.
 *
 * Both macros return 0, or -ENOMEM if there is no memory or the number of bytes overflows; the elements are then
 * unchanged. */
#ifndef SPILLWAY_COMMON_GROW_H
#define SPILLWAY_COMMON_GROW_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for at least `count` elements, and for half as many more when it grows, so that growing one by one is cheap.
 * `room` is an unsigned variable of 32 or 64 bits. It stays below half of its range, and `count` has to be below a
 * quarter: the sum of two counts does not wrap, and no index is SPW_NO_INDEX. */
#define SPW_GROW(array, room, count) spw_grow(&(array), &(room), sizeof(room), (count), sizeof *(array))

/* Makes room for exactly `room` elements, which may not be 0 or less than before. `had` is the previous room. For several
 * arrays that share a room, which the caller updates once all of them have grown. */
#define SPW_RESIZE(array, had, room) spw_resize(&(array), (had), (room), sizeof *(array))

__attribute__((cold)) static inline int spw_resize(void *array, size_t had, size_t room, size_t element)
{
    char *old, *larger = NULL;
    size_t bytes;
    memcpy(&old, array, sizeof old); /* a pointer to any type */
    if (!__builtin_mul_overflow(room, element, &bytes))
        larger = realloc(old, bytes);
    if (!larger)
        return -ENOMEM;
    memset(larger + had * element, 0, bytes - had * element);
    memcpy(array, &larger, sizeof larger);
    return 0;
}

static inline int spw_grow(void *array, void *room, size_t room_bytes, size_t count, size_t element)
{
    const bool is_small = room_bytes == sizeof(uint32_t);
    const size_t had = is_small ? *(uint32_t *)room : *(size_t *)room, wanted = count + count / 2 + 16;
    if (count <= had)
        return 0;
    if (count > (is_small ? UINT32_MAX : SIZE_MAX) / 4 || spw_resize(array, had, wanted, element) < 0)
        return -ENOMEM;
    if (is_small)
        *(uint32_t *)room = (uint32_t)wanted;
    else
        *(size_t *)room = wanted;
    return 0;
}
#endif
