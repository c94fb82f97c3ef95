/* failing-memory.c - stands between a test and the allocator, by way of the linker. */
#include "failing-memory.h"

#include <stddef.h>

enum { NEVER = -1 };
static _Atomic long calls_left = NEVER, blocks; /* threads of what is tested allocate as well */
static bool fails_on, has_failed;

static bool fails(void)
{
    if (calls_left != 0) {
        calls_left -= calls_left > 0;
        return false;
    }
    if (!fails_on)
        calls_left = NEVER;
    has_failed = true;
    return true;
}

void memory_fails_after(long calls)
{
    calls_left = calls;
    fails_on = true;
    has_failed = false;
}

void memory_fails_once_after(long calls)
{
    memory_fails_after(calls);
    fails_on = false;
}

bool memory_is_back(void)
{
    calls_left = NEVER;
    return has_failed;
}

long memory_blocks(void)
{
    return blocks;
}

/* ---- what the linker puts in place of the allocator ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_reallocarray(void *block, size_t count, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_reallocarray(void *block, size_t count, size_t bytes);
void __wrap_free(void *block);

void *__wrap_malloc(size_t bytes)
{
    void *block = fails() ? NULL : __real_malloc(bytes);
    blocks += block != NULL;
    return block;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    void *block = fails() ? NULL : __real_calloc(count, bytes);
    blocks += block != NULL;
    return block;
}

void *__wrap_realloc(void *block, size_t bytes)
{
    void *resized = fails() ? NULL : __real_realloc(block, bytes);
    blocks += resized && !block;
    return resized;
}

void *__wrap_reallocarray(void *block, size_t count, size_t bytes)
{
    void *resized = fails() ? NULL : __real_reallocarray(block, count, bytes);
    blocks += resized && !block;
    return resized;
}

void __wrap_free(void *block)
{
    blocks -= block != NULL;
    __real_free(block);
}
