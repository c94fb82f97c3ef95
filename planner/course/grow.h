/* grow.h - arrays that double. */
#ifndef SPILLWAY_PLANNER_GROW_H
#define SPILLWAY_PLANNER_GROW_H
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for `count` elements in *array; 0, or -ENOMEM, then it is as it was. Indices stay below SPW_NO_INDEX. */
static inline int spw_grow(void **array, uint32_t *room, uint32_t count, size_t element)
{
    if (count <= *room)
        return 0;
    if (count > UINT32_MAX / 4)
        return -ENOMEM;
    const uint32_t wanted = count + count / 2 + 16;
    void *larger = realloc(*array, wanted * element);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *room = wanted;
    return 0;
}
#define SPW_GROW(array, room, count) spw_grow((void **)&(array), &(room), (count), sizeof *(array))
#endif
