/* host-world.h - a world for a pool of host memory that counts what it is asked for, checks it, and refuses it on request.
 *
 * Whatever depends on `host_world` has the pool's own bookkeeping go through it too: mmap(), munmap(), calloc(), realloc()
 * and mbind(), by way of the linker. */
#ifndef SPILLWAY_TESTS_UNIT_HOST_WORLD_H
#define SPILLWAY_TESTS_UNIT_HOST_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hostpool.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

struct piece { /* of memory */
    char *address;
    size_t bytes;
};

struct pieces {
    struct piece at[512];
    size_t count;
};
bool pieces_hold(const struct pieces *pieces, const char *address, size_t bytes); /* one of them has it all */

enum call { MAP, UNMAP, PIN, UNPIN, ALLOC, FREE, AVAILABLE, BOOKKEEPING, CALLS };

struct world {
    struct pieces mapped, pinned, allocated;
    int calls[CALLS];
    int all_calls;
    int fail_first, fail_last; /* of all_calls, counted from 1; those in between answer no */
    bool refuses[CALLS];
    size_t bookkeeping_bytes; /* mapped by the pool itself */
    bool refuses_policies;    /* mbind answers policy_errno, and what it was asked for is noted */
    int policy_errno, policy;
    unsigned long policy_nodes;
    int64_t available; /* what the world has; less what is mapped and allocated is left */
};
extern struct world world;
extern const struct spw_host_ops world_ops; /* their context is &world */

/* Around each test: an empty world with 1 TiB; at the end nothing that the pool asked for may be left, but what it could not
 * unpin. */
int world_begin(void **state);
int world_end(void **state);
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_begin, world_end)

/* Each fails the test where it is otherwise. */
struct spw_hostpool *pool_of(size_t limit_bytes);
char *pool_taken(struct spw_hostpool *pool, size_t bytes);
void pool_refuses(struct spw_hostpool *pool, size_t bytes, const char *refusal);
extern const char by_budget[], by_machine[], by_system[]; /* refusals */
/* The pool agrees with itself, and with the world on what it holds and has pinned. */
void pool_check(const struct spw_hostpool *pool);
#endif
