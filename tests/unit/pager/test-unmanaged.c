/* test-unmanaged.c - memory of the driver's own lowers what the budget leaves, for as long as it exists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"
#include "fake-device.h"
#include "unmanaged.h"
#include "log.h"
#include "mover.h"

enum { GRANULE = 4096, BUDGET = 100 * GRANULE };

static struct spw_device *device;

static int begin(void **state)
{
    CUcontext context;
    spw_unmanaged_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    fake_start(GRANULE, 64 << 20, BUDGET, 16 << 20);
    device = spw_device_current(&context);
    return device ? 0 : -1;
}

static uint64_t left(void)
{
    return device->handles.budget_bytes;
}

static void an_allocation_counts_until_it_is_freed(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, 10 * GRANULE, "a call"), 0);
    spw_unmanaged_allocated(0x1000, device, 10 * GRANULE);
    assert_int_equal(left(), BUDGET - 10 * GRANULE);
    spw_unmanaged_freed(0x2000, spw_billed_last); /* nothing of ours */
    assert_int_equal(left(), BUDGET - 10 * GRANULE);
    spw_unmanaged_freed(0x1000, spw_billed_last);
    assert_int_equal(left(), BUDGET);
    spw_unmanaged_freed(0x1000, spw_billed_last);
    assert_int_equal(left(), BUDGET);
}

static void more_than_the_budget_is_refused_and_not_counted(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, BUDGET + GRANULE, "a call"), -ENOMEM);
    assert_int_equal(left(), BUDGET);
}

/* What the program's own file for messages got. */
static void read_log(FILE *file, char *text, size_t room)
{
    rewind(file);
    size_t length = fread(text, 1, room - 1, file);
    text[length] = 0;
}

static void a_refusal_names_the_call_its_bytes_and_the_budget_that_would_do(void **state)
{
    char name[] = "/tmp/test-foreign-XXXXXX", text[2048];
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "r");
    spw_log_setup(SPW_LOG_WARN, name);
    assert_int_equal(spw_unmanaged_take(device, 10 * GRANULE, "a call"), 0);
    assert_int_equal(spw_unmanaged_take(device, 92 * GRANULE, "another call"), -ENOMEM);
    read_log(file, text, sizeof(text));
    assert_non_null(strstr(text, "another call takes 376832 bytes"));
    assert_non_null(strstr(text, "smallest budget that would do: 417792 bytes"));
    assert_int_equal(spw_unmanaged_take(device, UINT64_MAX, "a third"), -ENOMEM);
    read_log(file, text, sizeof(text));
    assert_non_null(strstr(text, "smallest budget that would do: 18446744073709551615 bytes"));
    size_t length = strlen(text);
    assert_int_equal(spw_unmanaged_take(device, UINT64_MAX, "a third"), -ENOMEM);
    read_log(file, text, sizeof(text));
    assert_int_equal(strlen(text), length); /* a program that tries again and again is told about once */
    spw_log_setup(SPW_LOG_WARN, NULL);
    fclose(file);
    unlink(name);
}

static void what_the_driver_refused_is_given_back(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, GRANULE, "a call"), 0);
    spw_unmanaged_give(device, GRANULE);
    assert_int_equal(left(), BUDGET);
}

/* Releasing the handle of mapped memory frees nothing: the last unmapping does. */
static void released_memory_counts_while_it_is_mapped(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, 4 * GRANULE, "a call"), 0);
    spw_unmanaged_made(7, device, 4 * GRANULE);
    spw_unmanaged_mapped(7, 0x100000, 4 * GRANULE);
    spw_unmanaged_mapped(7, 0x200000, 4 * GRANULE); /* the same memory at a second address */
    spw_unmanaged_released(7, spw_billed_last);
    assert_int_equal(left(), BUDGET - 4 * GRANULE);
    spw_unmanaged_unmapped(0x100000, 4 * GRANULE);
    assert_int_equal(left(), BUDGET - 4 * GRANULE);
    spw_unmanaged_unmapped(0x200000, 4 * GRANULE);
    assert_int_equal(left(), BUDGET);
}

/* A handle may be had again from an address, also when the first holder has let go, and counts as often as it is held. */
static void retained_memory_counts_until_the_last_holder_lets_go(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, GRANULE, "a call"), 0);
    spw_unmanaged_made(7, device, GRANULE);
    spw_unmanaged_mapped(7, 0x100000, GRANULE);
    spw_unmanaged_released(7, spw_billed_last);
    spw_unmanaged_retained(7);
    spw_unmanaged_retained(7);
    spw_unmanaged_unmapped(0x100000, GRANULE);
    spw_unmanaged_released(7, spw_billed_last);
    assert_int_equal(left(), BUDGET - GRANULE);
    spw_unmanaged_released(7, spw_billed_last);
    assert_int_equal(left(), BUDGET);
    spw_unmanaged_retained(8); /* nobody's */
}

static void unmapped_memory_counts_until_its_handle_is_released(void **state)
{
    assert_int_equal(spw_unmanaged_take(device, GRANULE, "a call"), 0);
    spw_unmanaged_made(7, device, GRANULE);
    spw_unmanaged_mapped(7, 0x100000, GRANULE);
    spw_unmanaged_unmapped(0x100000, GRANULE);
    assert_int_equal(left(), BUDGET - GRANULE);
    spw_unmanaged_released(7, spw_billed_last);
    assert_int_equal(left(), BUDGET);
}

static void one_unmapping_may_cover_neighbours(void **state)
{
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(spw_unmanaged_take(device, GRANULE, "a call"), 0);
        spw_unmanaged_made(7 + i, device, GRANULE);
        spw_unmanaged_mapped(7 + i, 0x100000 + i * GRANULE, GRANULE);
        spw_unmanaged_released(7 + i, spw_billed_last);
    }
    spw_unmanaged_unmapped(0x100000, 3 * GRANULE);
    assert_int_equal(left(), BUDGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_allocation_counts_until_it_is_freed, begin),
        cmocka_unit_test_setup(more_than_the_budget_is_refused_and_not_counted, begin),
        cmocka_unit_test_setup(a_refusal_names_the_call_its_bytes_and_the_budget_that_would_do, begin),
        cmocka_unit_test_setup(what_the_driver_refused_is_given_back, begin),
        cmocka_unit_test_setup(released_memory_counts_while_it_is_mapped, begin),
        cmocka_unit_test_setup(retained_memory_counts_until_the_last_holder_lets_go, begin),
        cmocka_unit_test_setup(unmapped_memory_counts_until_its_handle_is_released, begin),
        cmocka_unit_test_setup(one_unmapping_may_cover_neighbours, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
