/* test-architectures.c - which cubins some device of the machine takes, and that nothing is left out where one does not say
 * what it is. */
#include "architectures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "driver.h"
#include "unlocked.h"

enum { DEVICES = 3 };

static struct {
    int count, capability[DEVICES];
    const char *refused; /* the call */
    int asked;
} machine;

static CUresult answer(const char *call)
{
    return machine.refused && strcmp(machine.refused, call) == 0 ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

static CUresult count(int *ret_count)
{
    machine.asked++;
    *ret_count = machine.count;
    return answer("count");
}

static CUresult get(CUdevice *ret_device, int ordinal)
{
    *ret_device = 10 + ordinal;
    return answer("get");
}

static CUresult attribute(int *ret_value, CUdevice_attribute which, CUdevice device)
{
    const bool is_major = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    assert_in_range(device, 10, 10 + DEVICES - 1);
    assert_true(is_major || which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    const int capability = machine.capability[device - 10];
    *ret_value = is_major ? capability / 10 : capability % 10;
    return answer(is_major ? "major" : "minor");
}

static int begin(void **state)
{
    (void)state;
    memset(&machine, 0, sizeof(machine));
    spw_driver.cuDeviceGetCount = count;
    spw_driver.cuDeviceGet = get;
    spw_driver.cuDeviceGetAttribute = attribute;
    spw_architectures_reset();
    return 0;
}

static void a_device_takes_what_is_for_its_major_number_and_no_later_minor_one(void **state)
{
    (void)state;
    machine.count = 2;
    machine.capability[0] = 86;
    machine.capability[1] = 120;
    const bool *taken = spw_architectures_locked();
    assert_non_null(taken);
    for (int i = 0; i < SPW_ARCHITECTURES; i++)
        assert_int_equal(taken[i], (i >= 80 && i <= 86) || i == 120);
    assert_ptr_equal(spw_architectures_locked(), taken);
    assert_int_equal(machine.asked, 1);
}

static void where_a_device_does_not_say_nothing_is_known(void **state)
{
    static const char *const calls[] = {"count", "get", "major", "minor"};
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        (void)begin(state);
        machine.count = 1;
        machine.capability[0] = 90;
        machine.refused = calls[i];
        assert_null(spw_architectures_locked());
    }
    (void)begin(state);
    assert_null(spw_architectures_locked()); /* there is none */
    (void)begin(state);
    machine.count = 1;
    machine.capability[0] = SPW_ARCHITECTURES;
    assert_null(spw_architectures_locked());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_takes_what_is_for_its_major_number_and_no_later_minor_one, begin),
        cmocka_unit_test_setup(where_a_device_does_not_say_nothing_is_known, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
