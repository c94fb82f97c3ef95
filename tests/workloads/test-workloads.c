/* test-workloads.c - what holds for every training program, on the simulated device: test-workloads PROGRAM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char *program;
static char stats_file[] = "/tmp/test-workloads-XXXXXX";

/* One run of the program: what it printed, both streams together, and how it ended. */
struct run {
    char output[65536];
    int status;
};

/* `settings` are environment variables for the simulated device, `options` the program's. */
static void run_program(const char *settings, const char *options, struct run *ret_run)
{
    char command[4096];
    snprintf(command, sizeof command, "%s SIMGPU_ORDER=strict SIMGPU_STATS=%s '%s' %s 2>&1", settings, stats_file, program,
             options);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    size_t length = fread(ret_run->output, 1, sizeof ret_run->output - 1, from);
    ret_run->output[length] = 0;
    int status = pclose(from);
    ret_run->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void run_well(const char *options, struct run *ret_run)
{
    run_program("", options, ret_run);
    if (ret_run->status != 0)
        fail_msg("%s ended with %d: %s", options, ret_run->status, ret_run->output);
}

/* A figure that the simulated device counted in the last run. */
static long counted(const char *key)
{
    char text[8192], quoted[64];
    FILE *file = fopen(stats_file, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    snprintf(quoted, sizeof quoted, "\n  \"%s\": ", key);
    const char *at = strstr(text, quoted);
    if (!at)
        fail_msg("no %s among the figures", key);
    return strtol(at + strlen(quoted), NULL, 10);
}

/* The n-th loss, from 1; 0 counts from the end. */
static double loss_of(const struct run *run, int number)
{
    double loss = -1;
    const char *at = run->output;
    for (int i = 1; (at = strstr(at, "step ")) != NULL; at++)
        if ((at == run->output || at[-1] == '\n') && sscanf(at, "step %*d loss %lf", &loss) == 1 && i++ == number)
            break;
    assert_true(loss >= 0);
    return loss;
}

/* Copies the line of the output that begins so into `line`; "" when there is none. */
static const char *line_of(const struct run *run, const char *begin, char line[256])
{
    const char *at = strstr(run->output, begin);
    snprintf(line, 256, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return line;
}

static void assert_same_bits(const struct run *a, const struct run *b)
{
    char one[256], other[256];
    const char *end = strstr(a->output, "parameters ");
    assert_non_null(end);
    assert_memory_equal(a->output, b->output, (size_t)(end - a->output)); /* all losses */
    assert_string_equal(line_of(a, "parameters ", one), line_of(b, "parameters ", other));
}

static void every_program_learns_and_leaves_nothing_behind(void **state)
{
    static const char *const zero[] = {
        "ordering_errors",           "faults",          "live_allocations_at_exit", "live_handles_at_exit",
        "live_reservations_at_exit", "streams_at_exit", "events_at_exit",           "host_bytes_at_exit"};
    struct run run;
    run_well("", &run);
    if (loss_of(&run, 0) >= 0.8 * loss_of(&run, 1))
        fail_msg("the loss fell from %g to %g only", loss_of(&run, 1), loss_of(&run, 0));
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (counted(zero[i]) != 0)
            fail_msg("%s is %ld", zero[i], counted(zero[i]));
}

static void the_default_size_suits_budget_tests(void **state)
{
    struct run run;
    char line[256];
    run_well("--steps 2", &run);
    long peak = strtol(line_of(&run, "peak_bytes ", line) + strlen("peak_bytes "), NULL, 10);
    assert_in_range(peak, 24 << 20, 64 << 20);
    assert_true(counted("peak_mapped_bytes") >= peak);
}

static void gradients_agree_with_finite_differences(void **state)
{
    struct run run;
    run_well("--check", &run);
    assert_non_null(strstr(run.output, " 0 wrong"));
    assert_null(strstr(run.output, "\nWRONG"));
}

static void the_same_seed_gives_the_same_bits_and_another_seed_does_not(void **state)
{
    struct run first, again, other;
    char one[256], two[256];
    run_well("--size tiny --seed 7", &first);
    run_well("--size tiny --seed 7", &again);
    run_well("--size tiny --seed 8", &other);
    assert_same_bits(&first, &again);
    assert_string_not_equal(line_of(&first, "parameters ", one), line_of(&other, "parameters ", two));
}

static void bits_do_not_depend_on_allocation_or_streams(void **state)
{
    static const char *const ways[] = {"--alloc plain", "--streams 2", "--streams 3", "--streams 4",
                                       "--streams 4 --alloc plain"};
    struct run usual, run;
    run_well("--size tiny", &usual);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char options[128];
        snprintf(options, sizeof options, "--size tiny %s", ways[i]);
        run_well(options, &run);
        assert_same_bits(&usual, &run);
        assert_int_equal(counted("ordering_errors"), 0);
    }
}

static void evaluation_does_not_change_training(void **state)
{
    struct run usual, evaluated;
    char one[256], two[256];
    run_well("--size tiny", &usual);
    run_well("--size tiny --evaluate-every 2 --streams 2", &evaluated);
    assert_non_null(strstr(evaluated.output, "\nevaluate step 4 loss "));
    assert_null(strstr(evaluated.output, "evaluate step 3"));
    assert_string_equal(line_of(&usual, "parameters ", one), line_of(&evaluated, "parameters ", two));
}

static void batches_may_be_accumulated_and_differ_in_size(void **state)
{
    static const char *const ways[] = {"--accumulate 3 --streams 4", "--short-last --streams 3",
                                       "--batch-schedule 5,3,8 --streams 2"};
    struct run usual, run;
    char one[256], two[256];
    run_well("--size tiny", &usual);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char options[128];
        snprintf(options, sizeof options, "--size tiny %s", ways[i]);
        run_well(options, &run);
        assert_string_not_equal(line_of(&usual, "parameters ", one), line_of(&run, "parameters ", two));
        assert_int_equal(counted("ordering_errors"), 0);
    }
}

static void noise_changes_no_result_and_comes_when_it_is_asked_for(void **state)
{
    struct run usual, noisy, again;
    run_well("--size tiny --steps 8", &usual);
    long launches = counted("launches");
    run_well("--size tiny --steps 8 --noise 9", &noisy); /* never in eight steps */
    assert_int_equal(counted("launches"), launches);
    run_well("--size tiny --steps 8 --noise 2", &noisy);
    const long with_noise = counted("launches");
    assert_in_range(with_noise - launches, 4 * 2, 4 * 5);
    assert_same_bits(&usual, &noisy);
    run_well("--size tiny --steps 8 --noise 2", &again);
    assert_string_equal(noisy.output, again.output); /* times too: the same noise at the same places */
}

static bool program_is(const char *name)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, name) == 0;
}

static void dropout_is_drawn_anew_in_each_pass_and_the_same_in_each_run(void **state)
{
    struct run usual, none, dropped, again, evaluated;
    char one[256], two[256];
    run_program("", "--size tiny --dropout 0.2", &dropped);
    if (!program_is("gpt")) {
        assert_int_equal(dropped.status, 2);
        assert_non_null(strstr(dropped.output, "--dropout means nothing"));
        return;
    }
    assert_int_equal(dropped.status, 0);
    run_well("--size tiny", &usual);
    run_well("--size tiny --dropout 0", &none);
    assert_same_bits(&usual, &none);
    assert_string_not_equal(line_of(&usual, "parameters ", one), line_of(&dropped, "parameters ", two));
    run_well("--size tiny --dropout 0.2 --streams 4 --alloc plain", &again);
    assert_same_bits(&dropped, &again);
    run_well("--size tiny --dropout 0.2 --evaluate-every 2", &evaluated);
    assert_string_equal(line_of(&evaluated, "parameters ", one), line_of(&dropped, "parameters ", two));
    run_well("--dropout 0.2", &dropped);
    assert_true(loss_of(&dropped, 0) < 0.8 * loss_of(&dropped, 1));
    run_well("--check --dropout 0.3", &dropped);
    assert_non_null(strstr(dropped.output, "ok dropout"));
    assert_non_null(strstr(dropped.output, " 0 wrong"));
}

static void activations_in_place_give_the_same_bits_in_fewer_tensors(void **state)
{
    struct run usual, in_place;
    run_well("--size tiny --streams 3", &usual);
    const long allocations = counted("allocations");
    run_program("", "--size tiny --streams 3 --in-place", &in_place);
    if (program_is("lstm")) {
        assert_int_equal(in_place.status, 2);
        assert_non_null(strstr(in_place.output, "--in-place means nothing"));
        return;
    }
    assert_int_equal(in_place.status, 0);
    if (program_is("mlp")) /* what comes back goes around each layer as well */
        assert_int_equal(counted("allocations"), allocations);
    else
        assert_true(counted("allocations") < allocations);
    assert_int_equal(counted("ordering_errors"), 0);
    assert_same_bits(&usual, &in_place);
}

static void a_fused_optimizer_gives_the_same_bits_with_fewer_kernels(void **state)
{
    struct run usual, fused;
    run_well("--size tiny --streams 4", &usual);
    const long launches = counted("launches");
    run_well("--size tiny --streams 4 --fused", &fused);
    assert_true(counted("launches") < launches);
    assert_int_equal(counted("ordering_errors"), 0);
    assert_same_bits(&usual, &fused);
}

/* Each step's time holds what lies between it and the next one, an evaluation too. */
static void times_of_all_steps_are_printed_on_request(void **state)
{
    struct run run;
    char line[256];
    double total, without[4], with[4];
    run_well("--size tiny --steps 4", &run);
    assert_null(strstr(run.output, "step_ms_each"));
    run_well("--size tiny --steps 4 --step-times", &run);
    const char *form = "step_ms_each %lf %lf %lf %lf %lf";
    assert_int_equal(
        sscanf(line_of(&run, "step_ms_each", line), form, &without[0], &without[1], &without[2], &without[3], &total), 4);
    assert_int_equal(sscanf(line_of(&run, "step_ms ", line), "step_ms %lf", &total), 1);
    assert_true(without[3] > 0 && without[2] >= without[3] && without[2] + without[3] >= 2 * total - 0.002);
    run_well("--size tiny --steps 4 --step-times --evaluate-every 3", &run);
    assert_int_equal(sscanf(line_of(&run, "step_ms_each", line), form, &with[0], &with[1], &with[2], &with[3], &total), 4);
    assert_true(with[2] > 1.1 * without[2] && with[1] < 1.1 * without[1]);
}

/* The first wait is COMPUTE's for the input: with the wait gone, the device sees a kernel race the copy. */
static void a_missing_wait_is_noticed(void **state)
{
    struct run run;
    run_program("SIMGPU_SABOTAGE=drop-wait:1", "--size tiny --streams 2", &run);
    assert_int_equal(run.status, 3);
    assert_true(counted("ordering_errors") > 0);
    assert_non_null(strstr(run.output, "ordering error"));
}

static void a_failed_call_is_named_and_ends_the_program(void **state)
{
    struct run run;
    run_program("SIMGPU_FAIL=cuMemAllocAsync:9=CUDA_ERROR_OUT_OF_MEMORY", "--size tiny", &run);
    assert_int_equal(run.status, 3);
    assert_non_null(strstr(run.output, "device.cu:"));
    assert_non_null(strstr(run.output, "cudaMallocAsync"));
    assert_non_null(strstr(run.output, "cudaErrorMemoryAllocation"));
}

static void bad_options_are_refused(void **state)
{
    static const char *const bad[] = {"--size huge",         "--steps 0",
                                      "--steps 3x",          "--streams 5",
                                      "--alloc magic",       "--batch -1",
                                      "--accumulate 0",      "--batch-schedule 4,,4",
                                      "--unknown",           "argument",
                                      "--device none",       "--layers",
                                      "--batch-schedule ''", "--short-last --batch-schedule 4",
                                      "--noise 0",           "--dropout 1",
                                      "--dropout -0.1",      "--dropout much"};
    struct run run;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        run_program("", bad[i], &run);
        if (run.status != 2)
            fail_msg("%s: ended with %d", bad[i], run.status);
        assert_non_null(strstr(run.output, "--help"));
    }
    run_program("", "--data /nowhere", &run);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.output, "/nowhere: No such file"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_learns_and_leaves_nothing_behind),
        cmocka_unit_test(the_default_size_suits_budget_tests),
        cmocka_unit_test(gradients_agree_with_finite_differences),
        cmocka_unit_test(the_same_seed_gives_the_same_bits_and_another_seed_does_not),
        cmocka_unit_test(bits_do_not_depend_on_allocation_or_streams),
        cmocka_unit_test(evaluation_does_not_change_training),
        cmocka_unit_test(batches_may_be_accumulated_and_differ_in_size),
        cmocka_unit_test(noise_changes_no_result_and_comes_when_it_is_asked_for),
        cmocka_unit_test(dropout_is_drawn_anew_in_each_pass_and_the_same_in_each_run),
        cmocka_unit_test(activations_in_place_give_the_same_bits_in_fewer_tensors),
        cmocka_unit_test(a_fused_optimizer_gives_the_same_bits_with_fewer_kernels),
        cmocka_unit_test(times_of_all_steps_are_printed_on_request),
        cmocka_unit_test(a_missing_wait_is_noticed),
        cmocka_unit_test(a_failed_call_is_named_and_ends_the_program),
        cmocka_unit_test(bad_options_are_refused),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: %s PROGRAM\n", argv[0]);
        return 2;
    }
    program = argv[1];
    int file = mkstemp(stats_file);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(stats_file);
    return failed;
}
