/* diff.c - `spillway diff`: compares two traced runs. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff_print.h"
#include "open_model.h"
#include "shown.h"

enum { KEY_JSON = 0x1000, KEY_PARTIAL, KEY_TOP, TOP = 10 };

struct request {
    const char *traces[DIFF_SIDES];
    bool json, partial;
    size_t top;
};

static const struct argp_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print all figures, with every row, as JSON"},
    {.name = "top",
     .key = KEY_TOP,
     .arg = "N",
     .doc = "Show the N largest changes of each table (default: 10); the rest is summed"},
    {.name = "partial", .key = KEY_PARTIAL, .doc = "Compare what can be read of damaged traces"},
    {0}};

static error_t take_top(const char *value, struct argp_state *state, struct request *request)
{
    uint64_t rows;
    if (!parse_number(value, SIZE_MAX, &rows)) {
        argp_error(state, "--top=%s is refused; accepted: a number of rows, from 0 on", value);
        return EINVAL;
    }
    request->top = rows;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (state->arg_num >= DIFF_SIDES)
            argp_error(state, "two traces are compared, not more");
        else
            request->traces[state->arg_num] = value;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < DIFF_SIDES)
            argp_error(state, "which two traces?");
        return 0;
    case KEY_JSON:
        request->json = true;
        return 0;
    case KEY_TOP:
        return take_top(value, state, request);
    case KEY_PARTIAL:
        request->partial = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_json(const struct diff *d, const struct request *request)
{
    json_t *object = diff_json(d, request->traces);
    int r = object ? json_dumpf(object, stdout, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(9)) : -1;
    json_decref(object);
    putchar('\n');
    return r;
}

static int compare(struct model *before, struct model *after, const struct request *request)
{
    struct diff *d = diff_create(before, after);
    int r = 0;
    if (!d) {
        fprintf(stderr, "spillway: %s\n", strerror(ENOMEM));
        return EXIT_FAILURE;
    }
    if (request->json)
        r = print_json(d, request);
    else
        diff_text(d, request->traces, request->top, stdout);
    diff_free(d);
    int ended = shown_end(stdout);
    if (ended < 0 || r < 0) {
        fprintf(stderr, "spillway: standard output: %s\n", strerror(ended < 0 ? -ended : ENOMEM));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

const struct argp *arguments_diff(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "BEFORE-TRACE AFTER-TRACE",
        .doc =
            "Tells where memory and time went between two traced runs: figures of an iteration, what lives at its peak by "
            "category and by site, its operations by name, and what only one of them has.\v"
            "Exit status: 0 when the runs were compared, whether or not they differ; 1 when the result cannot be written; 2 "
            "when an argument is refused or a trace cannot be read, or only in part (--partial).",
    };
    return &argp;
}

int command_diff(int argc, char **argv)
{
    struct request request = {.top = TOP};
    struct model *models[DIFF_SIDES] = {NULL};
    int status = EXIT_SUCCESS;
    if (command_parse(arguments_diff(), argc, argv, 0, &request))
        return EXIT_USAGE;
    for (int s = 0; s < DIFF_SIDES; s++) {
        int r = open_model(request.traces[s], request.partial, MODEL_NO_OP, &models[s]);
        status = r ? r : status;
        if (!models[s])
            break;
    }
    if (models[DIFF_BEFORE] && models[DIFF_AFTER]) {
        int r = compare(models[DIFF_BEFORE], models[DIFF_AFTER], &request);
        status = status ? status : r;
    }
    model_free(models[DIFF_BEFORE]);
    model_free(models[DIFF_AFTER]);
    return status;
}
