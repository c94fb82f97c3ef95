/* export.c - `spillway export`: one iteration of a trace as a graph for the planner. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "open_model.h"
#include "model_export.h"
#include "see.h"
#include "shown.h"

enum { KEY_DEVICE = 0x1000, KEY_NAME, KEY_PARTIAL };

struct request {
    const char *trace, *name;
    uint32_t device;
    bool partial;
};

static const struct argp_option options[] = {
    {.name = "device", .key = KEY_DEVICE, .arg = "N", .doc = "Tensors of this device (default: 0)"},
    {.name = "name", .key = KEY_NAME, .arg = "NAME", .doc = "What the graph is called (default: the trace's file name)"},
    {.name = "partial", .key = KEY_PARTIAL, .doc = "Export from a damaged trace what can be read"},
    {0}};

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct request *request = state->input;
    uint64_t device;
    switch (key) {
    case ARGP_KEY_ARG:
        if (request->trace)
            argp_error(state, "one trace at a time");
        request->trace = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which trace?");
        return EINVAL;
    case KEY_DEVICE:
        if (!parse_number(value, 999, &device))
            argp_error(state, "--device=%s is refused; accepted: the number of a device, from 0 on", value);
        else
            request->device = (uint32_t)device;
        return 0;
    case KEY_NAME:
        request->name = value;
        return 0;
    case KEY_PARTIAL:
        request->partial = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print(struct model *m, const struct request *request)
{
    const char *slash = strrchr(request->trace, '/');
    struct spw_graph_problem senseless;
    json_t *graph = model_export(m, request->device,
                                 request->name ? request->name
                                 : slash       ? slash + 1
                                               : request->trace,
                                 &senseless);
    if (!graph && senseless.path[0]) {
        fprintf(stderr, "spillway: %s: %s: expected %s" SPW_SEE("file-refused") "\n", request->trace, senseless.path,
                senseless.expected);
        return EXIT_USAGE;
    }
    int r = graph ? json_dumpf(graph, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
    json_decref(graph);
    putchar('\n');
    int ended = shown_end(stdout);
    if (ended < 0 || r < 0) {
        fprintf(stderr, "spillway: standard output: %s\n", strerror(ended < 0 ? -ended : ENOMEM));
        return EXIT_FAILURE;
    }
    if (!m->timed)
        fprintf(stderr,
                "spillway: the operations of this iteration were not timed: durations are 0" SPW_SEE("not-timed") "\n");
    return EXIT_SUCCESS;
}

const struct argp *arguments_export(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "TRACE",
        .doc = "Prints one iteration as a graph (spillway-iteration/1, JSON): operations with durations, tensors with "
               "sizes, who reads and writes what.\v"
               "Exit status: 0; 1 when the trace has no iteration or the graph could not be written; 2 when the arguments "
               "or the "
               "trace are refused.",
    };
    return &argp;
}

int command_export(int argc, char **argv)
{
    struct request request = {0};
    struct model *m;
    if (command_parse(arguments_export(), argc, argv, 0, &request))
        return EXIT_USAGE;
    int status = open_model(request.trace, request.partial, MODEL_NO_OP, &m);
    if (!m)
        return status;
    if (m->iteration_count == 0) {
        fprintf(stderr,
                "spillway: %s: no iteration was found in it: nothing repeats three times" SPW_SEE("no-iteration") "\n",
                request.trace);
        status = EXIT_FAILURE;
    } else {
        int printed = print(m, &request);
        status = status ? status : printed;
    }
    model_free(m);
    return status;
}
