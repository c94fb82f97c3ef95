/* test-switches.c - the frameworks' switches are set where the user has not decided. */
#include "switches.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void clear(void)
{
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
    unsetenv("PYTORCH_ALLOC_CONF");
    unsetenv("XLA_PYTHON_CLIENT_ALLOCATOR");
    unsetenv("XLA_PYTHON_CLIENT_PREALLOCATE");
    unsetenv("TF_GPU_ALLOCATOR");
    unsetenv("NCCL_LOCAL_REGISTER");
    unsetenv("NCCL_GRAPH_REGISTER");
}

static void all_are_set_for_a_user_who_has_set_none(void **state)
{
    clear();
    spw_switches_set();
    assert_string_equal(getenv("PYTORCH_CUDA_ALLOC_CONF"), "backend:cudaMallocAsync");
    assert_string_equal(getenv("PYTORCH_ALLOC_CONF"), "backend:cudaMallocAsync");
    assert_string_equal(getenv("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
    assert_string_equal(getenv("XLA_PYTHON_CLIENT_PREALLOCATE"), "false");
    assert_string_equal(getenv("TF_GPU_ALLOCATOR"), "cuda_malloc_async");
    assert_string_equal(getenv("NCCL_LOCAL_REGISTER"), "0");
    assert_string_equal(getenv("NCCL_GRAPH_REGISTER"), "0");
}

static void setting_them_twice_changes_nothing(void **state)
{
    clear();
    spw_switches_set();
    spw_switches_set();
    assert_string_equal(getenv("PYTORCH_ALLOC_CONF"), "backend:cudaMallocAsync");
}

/* The two names of PyTorch's setting are one decision. */
static void either_name_of_pytorchs_setting_decides(void **state)
{
    clear();
    setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:64", 1);
    spw_switches_set();
    assert_null(getenv("PYTORCH_CUDA_ALLOC_CONF"));
    assert_string_equal(getenv("PYTORCH_ALLOC_CONF"), "max_split_size_mb:64");
    clear();
    setenv("PYTORCH_CUDA_ALLOC_CONF", "", 1);
    spw_switches_set();
    assert_null(getenv("PYTORCH_ALLOC_CONF"));
    assert_string_equal(getenv("PYTORCH_CUDA_ALLOC_CONF"), "");
}

static void expandable_segments_are_a_conflict(void **state)
{
    clear();
    assert_null(spw_switches_conflict());
    spw_switches_set();
    assert_null(spw_switches_conflict());
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False", 1);
    assert_null(spw_switches_conflict());
    setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64,expandable_segments:True", 1);
    assert_string_equal(spw_switches_conflict(), "PYTORCH_CUDA_ALLOC_CONF");
}

static bool is_fine(const char *name, const char *value)
{
    for (size_t i = 0; i < spw_switch_count; i++)
        if (!strcmp(spw_switch_table[i].name, name))
            return spw_switch_is_fine(&spw_switch_table[i], value);
    fail_msg("no switch %s", name);
    return false;
}

static void a_value_is_fine_when_one_of_its_options_shows_each_tensor(void **state)
{
    for (size_t i = 0; i < spw_switch_count; i++)
        assert_true(spw_switch_is_fine(&spw_switch_table[i], spw_switch_table[i].value));
    assert_true(is_fine("PYTORCH_ALLOC_CONF", "max_split_size_mb:64,backend:cudaMallocAsync"));
    assert_false(is_fine("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsyncs,backend:cudaMalloc"));
    assert_false(is_fine("PYTORCH_ALLOC_CONF", ""));
    assert_true(is_fine("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"));
    assert_true(is_fine("XLA_PYTHON_CLIENT_PREALLOCATE", "0"));
    assert_false(is_fine("XLA_PYTHON_CLIENT_PREALLOCATE", "true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_set_for_a_user_who_has_set_none),
        cmocka_unit_test(setting_them_twice_changes_nothing),
        cmocka_unit_test(either_name_of_pytorchs_setting_decides),
        cmocka_unit_test(expandable_segments_are_a_conflict),
        cmocka_unit_test(a_value_is_fine_when_one_of_its_options_shows_each_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
