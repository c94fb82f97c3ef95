/* grow.h - arrays that grow by doubling. */
#ifndef SPILLWAY_TOOLS_GROW_H
#define SPILLWAY_TOOLS_GROW_H
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Room for `count` elements of `size` bytes in the array at *array, whose room is *room; new ones are zeroes. 0 or -ENOMEM.
 */
static inline int grow(void *array, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return 0;
    size_t more = *room ? *room : 16;
    while (more < count)
        more *= 2;
    void *bigger = reallocarray(*(void **)array, more, size);
    if (!bigger)
        return -ENOMEM;
    memset((char *)bigger + *room * size, 0, (more - *room) * size);
    *(void **)array = bigger;
    *room = more;
    return 0;
}
#endif
