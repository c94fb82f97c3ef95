/* test-chain-planners.c - planners for chains, on the graphs of well-known models and on chains made here: what they return
 * is valid, within the budget, and in time. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "graphs.h"
#include "planners/planners.h"
#include "iteration_file.h"
#include "random-graph.h"

/* A slow one, of a few tenths of a second for each plan, is asked about one in so many cases. */
static const struct {
    const char *name;
    uint32_t one_in;
} planners[] = {{"rotor", 1}, {"offload", 2}, {"pofo", 29}};
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 3
#else
#define SLOWER 1
#endif

enum { PLANNERS = sizeof planners / sizeof *planners };

/* Whether it is planner p's turn; the cases are counted over the whole program. */
static bool is_asked(size_t p)
{
    static uint32_t cases[PLANNERS];
    return cases[p]++ % planners[p].one_in == 0;
}

/* Of this process alone, whatever else the machine does. */
static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct spw_plan_request request_for(const struct spw_graph *graph, double share)
{
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = (uint64_t)((double)graph->peak_bytes * share),
                                     .host_bytes = UINT64_MAX,
                                     .may_copy = true,
                                     .may_replay = true,
                                     .machine = {.duplex = 1}};
}

/* Holds the plan against the checker; how many times the unlimited time it takes, or 0 where there is none. */
static double plan(const char *name, const struct spw_plan_request *request)
{
    const struct spw_planner *planner = spw_planner_find(name);
    assert_non_null(planner);
    struct spw_timing timing;
    const double began = now_s();
    const int r = graphs_plan(planner->make, request, &timing);
    const double took = now_s() - began;
    if (took > 10)
        fail_msg("%s took %.1f s for %u operations", name, took, request->graph->op_count);
    if (r < 0) {
        assert_true(r == -ENOSPC || r == -ENOTSUP);
        return 0;
    }
    assert_true(timing.peak_bytes <= request->device_bytes);
    assert_true(request->may_copy || timing.d2h_bytes + timing.h2d_bytes == 0);
    assert_true(request->may_replay || timing.replays == 0);
    return timing.time_us / request->graph->compute_us;
}

static struct iteration load(const char *path)
{
    struct iteration iteration;
    struct json_text text;
    struct json_problem problem;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(json_text_read(path, file, &text, &problem), 0);
    assert_int_equal(iteration_take(&text, &iteration, &problem), 0);
    fclose(file);
    return iteration;
}

/* With all of the peak nothing is done; below it whatever is returned is valid, by copies, replays, both or neither. */
static void plans_for_well_known_models_are_valid_at_every_budget(void **state)
{
    glob_t files;
    assert_int_equal(glob(GRAPHS_FOLDER "/*-*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct iteration iteration = load(files.gl_pathv[i]);
        for (size_t p = 0; p < PLANNERS; p++) {
            struct spw_plan_request request = request_for(iteration.graph, 1);
            const double free_of_charge = plan(planners[p].name, &request);
            if (free_of_charge < 1 - 1e-9 || free_of_charge > 1 + 1e-9)
                fail_msg("%s on %s: %.6f times with all of the peak", planners[p].name, files.gl_pathv[i], free_of_charge);
            for (int percent = 80; percent >= 30; percent -= 10) {
                for (int means = 0; means < 4; means++) {
                    request = request_for(iteration.graph, percent / 100.0);
                    request.may_copy = means & 1;
                    request.may_replay = means & 2;
                    if (!is_asked(p))
                        continue;
                    const double times = plan(planners[p].name, &request);
                    assert_true(times == 0 || times >= 1 - 1e-9);
                }
            }
        }
        iteration_finish(&iteration);
    }
    globfree(&files);
}

/* One number for each planner and budget: no more than this many times the unlimited time. */
static void plans_are_as_good_as_they_have_been(void **state)
{
    static const struct {
        const char *planner, *graph;
        double share, most;
    } known[] = {
        {"rotor", "resnet50-b190-v100-16g-fp32", 0.5, 1.12},
        {"rotor", "resnet50-b190-v100-16g-fp32", 0.3, 1.22},
        {"rotor", "gpt2-medium-b16-s1024-flash-h200-bf16", 0.6, 1.13},
        {"rotor", "gpt2-small-b8-s1024-a100-40g-tf32", 0.5, 1.17},
        {"rotor", "gpt2-small-b8-s1024-a100-40g-tf32", 0.3, 1.27},
        {"rotor", "lstm-t512-h1024-b64-v100-16g-fp32", 0.3, 1.23},
        {"offload", "resnet50-b190-v100-16g-fp32", 0.6, 1.75},
        {"offload", "gpt2-medium-b16-s1024-flash-h200-bf16", 0.5, 4.5},
        {"pofo", "resnet50-b190-v100-16g-fp32", 0.6, 1.09},
        {"pofo", "resnet50-b190-v100-16g-fp32", 0.3, 1.24},
        {"pofo", "lstm-t512-h1024-b64-v100-16g-fp32", 0.5, 1.001},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s.json", GRAPHS_FOLDER, known[i].graph);
        struct iteration iteration = load(path);
        const struct spw_plan_request request = request_for(iteration.graph, known[i].share);
        const double times = plan(known[i].planner, &request);
        if (times == 0 || times > known[i].most)
            fail_msg("%s on %s at %.2f: %.3f times", known[i].planner, known[i].graph, known[i].share, times);
        iteration_finish(&iteration);
    }
}

/* On chains: the more a planner may do the better, as far as each promises it. */
static void pofo_is_never_slower_than_rotor(void **state)
{
    for (uint32_t seed = 1; seed <= 5; seed++) {
        const struct chain_kind kind = {.layers = 4 + seed,
                                        .activation_bytes = 1000,
                                        .saved_bytes = 2000,
                                        .parameter_bytes = 100,
                                        .forward_us = 1000,
                                        .backward_us = 2000,
                                        .uneven = seed};
        struct spw_graph *graph = graphs_chain(&kind);
        const struct spw_plan_request request = request_for(graph, 0.4 + 0.05 * seed);
        const double rotor = plan("rotor", &request), pofo = plan("pofo", &request);
        assert_true(rotor == 0 || (pofo > 0 && pofo <= rotor + 1e-9));
        spw_graph_destroy(graph);
    }
}

static void uneven_chains_get_valid_plans(void **state)
{
    for (uint32_t seed = 1; seed <= 60 / SLOWER; seed++) {
        const struct chain_kind kind = {.layers = 1 + seed * 7 % 30,
                                        .activation_bytes = 1000,
                                        .saved_bytes = seed % 3 ? 2000 : 0,
                                        .parameter_bytes = seed % 2 ? 500 : 0,
                                        .forward_us = 1000,
                                        .backward_us = 2000,
                                        .uneven = seed};
        struct spw_graph *graph = graphs_chain(&kind);
        for (size_t p = 0; p < PLANNERS; p++) {
            for (double share = 0.9; share > 0.15; share -= 0.15) {
                const struct spw_plan_request request = request_for(graph, share);
                if (is_asked(p))
                    (void)plan(planners[p].name, &request);
            }
        }
        spw_graph_destroy(graph);
    }
}

/* Whatever the graph, the means and the host's memory. */
static void random_graphs_get_valid_plans(void **state)
{
    uint32_t planned = 0;
    for (uint64_t seed = 1; seed <= 250 / SLOWER; seed++) {
        struct spw_graph *graph = random_graph(seed);
        uint64_t row = seed;
        for (size_t p = 0; p < PLANNERS; p++) {
            for (int means = 1; means < 4; means++) {
                struct spw_plan_request request = request_for(graph, 1);
                request.may_copy = means & 1;
                request.may_replay = means & 2;
                request.device_bytes =
                    graph->least_bytes + (graph->peak_bytes - graph->least_bytes) * random_below(&row, 100) / 100;
                if (random_below(&row, 2))
                    request.host_bytes = graph->peak_bytes / 2 * random_below(&row, 100) / 100;
                planned += is_asked(p) && plan(planners[p].name, &request) > 0;
            }
        }
        spw_graph_destroy(graph);
    }
    assert_true(planned > 50);
}

/* A hundred thousand operations take seconds. */
static void long_chains_are_planned_in_time(void **state)
{
    const struct chain_kind kind = {.layers = 33000,
                                    .activation_bytes = 1000,
                                    .saved_bytes = 3000,
                                    .parameter_bytes = 10,
                                    .forward_us = 10,
                                    .backward_us = 20,
                                    .uneven = 3};
    struct spw_graph *graph = graphs_chain(&kind);
    for (size_t p = 0; p < PLANNERS; p++) {
        const struct spw_plan_request request = request_for(graph, 0.5);
        assert_true(plan(planners[p].name, &request) >= 1);
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_for_well_known_models_are_valid_at_every_budget),
        cmocka_unit_test(plans_are_as_good_as_they_have_been),
        cmocka_unit_test(pofo_is_never_slower_than_rotor),
        cmocka_unit_test(uneven_chains_get_valid_plans),
        cmocka_unit_test(random_graphs_get_valid_plans),
        cmocka_unit_test(long_chains_are_planned_in_time),
    };
    return cmocka_run_group_tests_name("chain-planners", tests, NULL, NULL);
}
