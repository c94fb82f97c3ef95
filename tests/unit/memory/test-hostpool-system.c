/* test-hostpool-system.c - memory as the system hands it to a pool: aligned, kept from children, bound to a node where that
 * is possible. */
#include "host-world.h"
#include "hostpool_system.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_system_maps_aligned_memory_that_children_do_not_have(void **state)
{
    struct spw_host_system system = {.numa_node = -1, .huge_pages = true};
#ifdef __SANITIZE_THREAD__
    skip(); /* which has a child look at all of the memory that the parent wrote */
#endif
    const size_t sizes[] = {4 * KIB, 2 * MIB - 4 * KIB, 2 * MIB, 6 * MIB + 4 * KIB};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *address = spw_host_system_map(&system, sizes[i]);
        assert_non_null(address);
        assert_int_equal((uintptr_t)address % (sizes[i] >= 2 * MIB ? 2 * MIB : 4 * KIB), 0);
        memset(address, 1, sizes[i]);
        pid_t child = fork();
        if (child == 0)
            _exit(msync(address, sizes[i], MS_ASYNC) < 0 && errno == ENOMEM ? 0 : 1);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        spw_host_system_unmap(&system, address, sizes[i]);
        assert_true(msync(address, sizes[i], MS_ASYNC) < 0 && errno == ENOMEM);
    }
    assert_null(spw_host_system_map(&system, SIZE_MAX - 4095));
    world.refuses[BOOKKEEPING] = true;
    assert_null(spw_host_system_map(&system, 4 * KIB));
}

static void memory_is_bound_to_a_node_where_that_is_possible(void **state)
{
    struct spw_host_system system = {.numa_node = 0};
    char *address = spw_host_system_map(&system, 4 * MIB);
    assert_non_null(address);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, 0), 0);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, -1), 0);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, 1024), -EINVAL);
    memset(address, 1, 4 * MIB);
    spw_host_system_unmap(&system, address, 4 * MIB);

    system.numa_node = 1000; /* no such node: the memory then lies anywhere */
    address = spw_host_system_map(&system, 4 * MIB);
    assert_non_null(address);
    memset(address, 1, 4 * MIB);
    spw_host_system_unmap(&system, address, 4 * MIB);
}

/* A sandbox without memory policies is no error; a node that doesn't exist is one. */
static void missing_memory_policies_are_no_error(void **state)
{
    char byte;
    world.refuses_policies = true;
    world.policy_errno = ENOSYS;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), 0);
    assert_int_equal(world.policy, 1); /* MPOL_PREFERRED */
    assert_int_equal(world.policy_nodes, 1 << 5);
    world.policy_errno = EPERM;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), 0);
    world.policy_errno = EINVAL;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), -EINVAL);
}

static void a_pool_on_the_system_works(void **state)
{
    struct spw_host_system system = {.numa_node = 0, .huge_pages = true};
    const struct spw_host_ops on_system = {
        .map = spw_host_system_map, .unmap = spw_host_system_unmap, .available = spw_host_system_available};
    struct spw_hostpool *pool;
    assert_true(spw_host_system_available(&system) > 0);
    assert_int_equal(spw_hostpool_create(&on_system, &system, 16 * MIB, &pool), 0);
    memset(pool_taken(pool, 3 * MIB), 1, 3 * MIB);
    assert_true(spw_hostpool_check(pool));
    spw_hostpool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(the_system_maps_aligned_memory_that_children_do_not_have),
        IN_A_WORLD(memory_is_bound_to_a_node_where_that_is_possible),
        IN_A_WORLD(missing_memory_policies_are_no_error),
        IN_A_WORLD(a_pool_on_the_system_works),
    };
    return cmocka_run_group_tests_name("hostpool-system", tests, NULL, NULL);
}
