/* main.c - computes what the fluid relaxation proves about an iteration: no schedule within the budget takes less time.
 *
 * usage: fluid [--budget SHARE%|BYTES] [--operations N] [--smallest BYTES] [--swap-only | --replay-only] [--seconds S]
 *              [--program FILE.mps] ITERATION.json
 *
 * Prints one object, in the form of the cases of tests/graphs/bounds.json. With --program it instead writes the linear
 * program for other solvers; its least cost times compute_us is the bound. Exit status 3: there is no schedule; 1: the
 * solver was stopped (the output is still a bound); 2: bad input. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/bounds.h"
#include "fluid.h"
#include "iteration_file.h"

struct options {
    const char *budget, *program, *iteration;
    uint32_t operations;
    uint64_t smallest_bytes;
    double seconds;
    bool may_copy, may_replay;
};

static int take_options(int argc, char **argv, struct options *options)
{
    enum {
        BUDGET = 'b',
        OPERATIONS = 'o',
        SMALLEST = 's',
        SWAP_ONLY = 'w',
        REPLAY_ONLY = 'r',
        SECONDS = 't',
        PROGRAM = 'p'
    };
    static const struct option known[] = {{"budget", 1, NULL, BUDGET},           {"operations", 1, NULL, OPERATIONS},
                                          {"smallest", 1, NULL, SMALLEST},       {"swap-only", 0, NULL, SWAP_ONLY},
                                          {"replay-only", 0, NULL, REPLAY_ONLY}, {"seconds", 1, NULL, SECONDS},
                                          {"program", 1, NULL, PROGRAM},         {0}};
    *options = (struct options){
        .budget = "60%", .operations = 24, .smallest_bytes = 1 << 20, .seconds = 600, .may_copy = true, .may_replay = true};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case BUDGET:
            options->budget = optarg;
            break;
        case OPERATIONS:
            options->operations = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case SMALLEST:
            options->smallest_bytes = strtoull(optarg, NULL, 10);
            break;
        case SWAP_ONLY:
            options->may_replay = false;
            break;
        case REPLAY_ONLY:
            options->may_copy = false;
            break;
        case SECONDS:
            options->seconds = strtod(optarg, NULL);
            break;
        case PROGRAM:
            options->program = optarg;
            break;
        default:
            return -1;
        }
    }
    options->iteration = optind + 1 == argc ? argv[optind] : NULL;
    return options->iteration && options->operations > 0 ? 0 : -1;
}

static int read_iteration(const char *path, struct iteration *ret_iteration)
{
    struct json_text text;
    struct json_problem problem;
    FILE *file = fopen(path, "re");
    if (!file) {
        perror(path);
        return -1;
    }
    int r = json_text_read(path, file, &text, &problem);
    if (r == 0)
        r = iteration_take(&text, ret_iteration, &problem);
    (void)fclose(file);
    if (r < 0)
        (void)fprintf(stderr, "%s\n", problem.message);
    return r;
}

static uint64_t budget_of(const char *text, const struct spw_graph *graph)
{
    char *end;
    const double number = strtod(text, &end);
    return (uint64_t)(*end == '%' ? number / 100 * (double)graph->peak_bytes : number);
}

static int write_program(const struct program *program, const char *path)
{
    FILE *to = fopen(path, "we");
    if (!to) {
        perror(path);
        return 2;
    }
    program_write(program, to);
    return fclose(to) == 0 ? 0 : 2;
}

/* Returns false if the closed form proves that there is no schedule; the interior point method is slow to find that. */
static bool is_feasible(const struct options *options, const struct spw_graph *graph, uint64_t budget_bytes)
{
    struct spw_bounds bounds;
    if (spw_bounds_find(graph, budget_bytes, options->may_copy, options->may_replay, &bounds) < 0)
        fluid_out_of_memory();
    return bounds.feasible;
}

static int print_bound(const struct options *options, const struct iteration *iteration, const struct fluid *fluid,
                       const struct program *program, uint64_t budget_bytes)
{
    const struct spw_graph *graph = iteration->graph;
    double *prices = fluid_room(program->rows, sizeof *prices);
    const enum program_outcome outcome =
        is_feasible(options, graph, budget_bytes) ? program_solve(program, options->seconds, prices) : NO_SOLUTION;
    const double share = (double)budget_bytes / (double)graph->peak_bytes;
    const char *kind = !options->may_replay ? "lb_offload_us" : options->may_copy ? "lb_both_us" : "lb_recompute_us";
    printf("{\"graph\": \"%s\", \"operations\": %u, \"smallest_bytes\": %llu, \"budget_bytes\": %llu, "
           "\"budget_share_of_peak\": %.4g, \"compute_us\": %.3f, \"%s\": ",
           iteration->name, fluid_operations(fluid), (unsigned long long)options->smallest_bytes,
           (unsigned long long)budget_bytes, share, graph->compute_us, kind);
    if (outcome == NO_SOLUTION)
        puts("null}");
    else
        printf("%.1f}\n", program_proven(program, prices) * graph->compute_us);
    free(prices);
    return outcome == SOLVED ? 0 : outcome == NO_SOLUTION ? 3 : 1;
}

int main(int argc, char **argv)
{
    struct options options;
    struct iteration iteration;
    if (take_options(argc, argv, &options) < 0 || read_iteration(options.iteration, &iteration) < 0) {
        (void)fputs(
            "usage: fluid [--budget SHARE%|BYTES] [--operations N] [--smallest BYTES] [--swap-only | --replay-only]\n"
            "             [--seconds S] [--program FILE.mps] ITERATION.json\n",
            stderr);
        return 2;
    }
    const struct fluid_request request = {
        .graph = iteration.graph,
        .device_bytes = budget_of(options.budget, iteration.graph),
        .smallest_bytes = options.smallest_bytes,
        .may_copy = options.may_copy,
        .may_replay = options.may_replay,
    };
    struct fluid *fluid = fluid_create(&request, options.operations);
    const struct program *program = fluid_program(fluid);
    const int status = options.program ? write_program(program, options.program)
                                       : print_bound(&options, &iteration, fluid, program, request.device_bytes);
    fluid_destroy(fluid);
    iteration_finish(&iteration);
    return status;
}
