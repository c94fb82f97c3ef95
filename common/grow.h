/* grow.h - arrays that grow: nothing else of the project makes an array larger.
 *
 * An array is a pointer, and its room: the number of elements that it has memory for. It begins as NULL with a room of 0,
 * and is freed with free() by its owner, who counts the elements in use. Where it grows, each new element is all zeroes.
 *
 * Both macros return 0, or -ENOMEM: there is no memory, or the bytes cannot be counted. The elements are then as they were.
 */
#ifndef SPILLWAY_COMMON_GROW_H
#define SPILLWAY_COMMON_GROW_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for `count` elements at least: half as many more, so that growing one by one costs little. `room` is a variable of 32
 * or 64 bits, without sign. It stays below half of what that can hold, and `count` below a quarter: the sum of two counts
 * does not wrap, and no index is SPW_NO_INDEX. */
#define SPW_GROW(array, room, count) spw_grow(&(array), &(room), sizeof(room), (count), sizeof *(array))

/* Room for `room` elements exactly, which is not 0 and no less than before, where `had` is the room until now: for several
 * arrays that share a room, which the caller changes once all of them have grown. */
#define SPW_RESIZE(array, had, room) spw_resize(&(array), (had), (room), sizeof *(array))

__attribute__((cold)) static inline int spw_resize(void *array, size_t had, size_t room, size_t element)
{
    char *old, *larger = NULL;
    size_t bytes;
    memcpy(&old, array, sizeof old); /* a pointer to whatever type */
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
