/* test-switches.c - the frameworks' switches are set where the user has not decided. */
#include "switches.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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
    unsetenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
    unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
    unsetenv("NCCL_LOCAL_REGISTER");
    unsetenv("TORCH_DIST_USE_NCCL2");
    unsetenv("NCCL_GRAPH_REGISTER");
    unsetenv("XLA_FLAGS");
    unsetenv("SPILLWAY_BUDGET");
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
    assert_string_equal(getenv("TORCH_DIST_USE_NCCL2"), "0");
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

static char told[8][1024];
static int told_count;

static void note(const char *line)
{
    snprintf(told[told_count++], sizeof(told[0]), "%s", line);
}

/* What is told once our switches are set; all else is unset but for this. */
static int conflicts_with(const char *name, const char *value)
{
    clear();
    setenv(name, value, 1);
    spw_switches_set();
    told_count = 0;
    spw_switches_tell_conflicts(note);
    return told_count;
}

static void a_conflict_is_told_in_one_line_that_names_what_happens_and_what_to_set(void **state)
{
    const struct {
        const char *name, *value, *happens, *set;
    } wrong[] = {
        {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "stays on the device", "backend:cudaMallocAsync"},
        {"PYTORCH_ALLOC_CONF", "max_split_size_mb:64,expandable_segments:True", "stays on the device",
         "backend:cudaMallocAsync"},
        {"PYTORCH_ALLOC_CONF", "backend:native", "pieces of large blocks", "backend:cudaMallocAsync"},
        {"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", "pieces of large blocks", "backend:cudaMallocAsync"},
        {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False", "pieces of large blocks", "backend:cudaMallocAsync"},
        {"XLA_PYTHON_CLIENT_PREALLOCATE", "true", "most of the device", "false"},
        {"XLA_PYTHON_CLIENT_ALLOCATOR", "bfc", "pieces of large blocks", "cuda_async"},
        {"TF_GPU_ALLOCATOR", "cuda_malloc", "pieces of large blocks", "cuda_malloc_async"},
        {"NCCL_GRAPH_REGISTER", "1", "another tensor", "0"},
        {"TORCH_DIST_USE_NCCL2", "1", "cannot list its blocks", "0"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char begin[256], end[256];
        snprintf(begin, sizeof(begin), "%s=%s: ", wrong[i].name, wrong[i].value);
        snprintf(end, sizeof(end), "; set it to %s or unset it", wrong[i].set);
        assert_int_equal(conflicts_with(wrong[i].name, wrong[i].value), 1);
        assert_memory_equal(told[0], begin, strlen(begin));
        assert_non_null(strstr(told[0], wrong[i].happens));
        assert_string_equal(strstr(told[0], "; set it"), end);
    }
}

static void what_shows_each_tensor_is_no_conflict(void **state)
{
    assert_int_equal(conflicts_with("PYTORCH_ALLOC_CONF", "expandable_segments:True,backend:cudaMallocAsync"), 0);
    assert_int_equal(conflicts_with("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"), 0);
    assert_int_equal(conflicts_with("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"), 0);
    assert_int_equal(conflicts_with("XLA_PYTHON_CLIENT_PREALLOCATE", "false"), 0);
    assert_int_equal(conflicts_with("TF_GPU_ALLOCATOR", "cuda_malloc_async"), 0);
    assert_int_equal(conflicts_with("TF_FORCE_GPU_ALLOW_GROWTH", "false"), 0);
}

/* PyTorch's own allocator lists its blocks, and so may be used with either way to NCCL. */
static void with_pytorchs_own_allocator_its_way_to_nccl_stays(void **state)
{
    clear();
    setenv("PYTORCH_ALLOC_CONF", "backend:native", 1);
    spw_switches_set();
    assert_null(getenv("TORCH_DIST_USE_NCCL2"));
    setenv("TORCH_DIST_USE_NCCL2", "1", 1);
    for (size_t i = 0; i < spw_switch_count; i++)
        if (!strcmp(spw_switch_table[i].name, "TORCH_DIST_USE_NCCL2"))
            assert_null(spw_switch_conflict(&spw_switch_table[i], "1"));
}

/* PyTorch's own allocator reads it, ours does not: it counts where the user has decided for the former. */
static void no_caching_is_a_conflict_of_pytorchs_own_allocator_only(void **state)
{
    assert_int_equal(conflicts_with("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"), 0);
    setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:native", 1);
    unsetenv("PYTORCH_ALLOC_CONF");
    spw_switches_tell_conflicts(note);
    assert_int_equal(told_count, 1);
    assert_memory_equal(told[0], "PYTORCH_NO_CUDA_MEMORY_CACHING=1: ", strlen("PYTORCH_NO_CUDA_MEMORY_CACHING=1: "));
    assert_non_null(strstr(told[0], "waits for the device"));
    assert_string_equal(strstr(told[0], "; unset"), "; unset it");
    setenv("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", 1);
    told_count = 0;
    spw_switches_tell_conflicts(note);
    assert_int_equal(told_count, 0);
    unsetenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
}

/* What XLA_FLAGS is with a budget; NULL: not set. */
static const char *flags_from(const char *flags)
{
    clear();
    setenv("SPILLWAY_BUDGET", "1GiB", 1);
    if (flags)
        setenv("XLA_FLAGS", flags, 1);
    spw_switches_set();
    spw_switches_set();
    return getenv("XLA_FLAGS");
}

static void xla_makes_no_graphs_within_a_budget(void **state)
{
    assert_string_equal(flags_from(NULL), "--xla_gpu_enable_command_buffer=");
    assert_string_equal(flags_from("--xla_a=1 --xla_b"), "--xla_a=1 --xla_b --xla_gpu_enable_command_buffer=");
    assert_string_equal(flags_from(" --xla_a"), " --xla_a --xla_gpu_enable_command_buffer=");
}

static void flags_that_say_or_are_something_else_are_let_be(void **state)
{
    static const char *const own[] = {"--xla_a --xla_gpu_enable_command_buffer=FUSION",
                                      "--xla_gpu_enable_command_buffer= --xla_a", "", " ", "/a/file"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        assert_string_equal(flags_from(own[i]), own[i]);
    clear();
    spw_switches_set();
    assert_null(getenv("XLA_FLAGS")); /* no budget */
}

static void graphs_that_the_user_wants_are_a_conflict_within_a_budget(void **state)
{
    assert_int_equal(conflicts_with("XLA_FLAGS", "--xla_gpu_enable_command_buffer=FUSION"), 0);
    setenv("SPILLWAY_BUDGET", "1GiB", 1);
    spw_switches_tell_conflicts(note);
    assert_int_equal(told_count, 1);
    assert_non_null(strstr(told[0], "XLA_FLAGS has --xla_gpu_enable_command_buffer=...: "));
    assert_non_null(strstr(told[0], "stays on the device"));
    setenv("XLA_FLAGS", "--xla_gpu_enable_command_buffer=FUSION --xla_gpu_enable_command_buffer= --xla_a", 1);
    spw_switches_tell_conflicts(note);
    assert_int_equal(told_count, 1);
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
        assert_true(!spw_switch_table[i].value || spw_switch_is_fine(&spw_switch_table[i], spw_switch_table[i].value));
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
        cmocka_unit_test(a_conflict_is_told_in_one_line_that_names_what_happens_and_what_to_set),
        cmocka_unit_test(what_shows_each_tensor_is_no_conflict),
        cmocka_unit_test(with_pytorchs_own_allocator_its_way_to_nccl_stays),
        cmocka_unit_test(no_caching_is_a_conflict_of_pytorchs_own_allocator_only),
        cmocka_unit_test(a_value_is_fine_when_one_of_its_options_shows_each_tensor),
        cmocka_unit_test(xla_makes_no_graphs_within_a_budget),
        cmocka_unit_test(flags_that_say_or_are_something_else_are_let_be),
        cmocka_unit_test(graphs_that_the_user_wants_are_a_conflict_within_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
