/* report_command.c - `spillway report`: reads a trace once and shows it in each form that was asked for. */
#include "report.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "open_model.h"
#include "see.h"

enum { KEY_JSON = 0x1000, KEY_HTML, KEY_PERFETTO, KEY_FOLDED, KEY_WEIGHT, KEY_PARTIAL, KEY_AT, KEY_TIME_LIMIT };

enum { DAY_S = 24 * 60 * 60 };

struct request {
    const char *trace, *html, *perfetto, *folded;
    json_t *figures; /* for page and JSON; NULL: neither, or no memory */
    bool json, partial;
    enum report_weight weight;
    uint64_t at_op;
    uint32_t planning_s;
};

static const struct argp_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print all figures as JSON instead of the summary"},
    {.name = "html", .key = KEY_HTML, .arg = "FILE", .doc = "Write a page that any browser opens, without network"},
    {.name = "perfetto",
     .key = KEY_PERFETTO,
     .arg = "FILE",
     .doc = "Write the iteration for ui.perfetto.dev or chrome://tracing"},
    {.name = "folded", .key = KEY_FOLDED, .arg = "FILE", .doc = "Write stacks as flame graphs are made of"},
    {.name = "weight",
     .key = KEY_WEIGHT,
     .arg = "peak|time|idle",
     .doc = "What --folded counts: peak (bytes alive at the peak; the default), time (bytes times seconds alive) or idle "
            "(bytes "
            "times seconds unused)"},
    {.name = "partial", .key = KEY_PARTIAL, .doc = "Report what can be read of a damaged trace"},
    {.name = "time-limit",
     .key = KEY_TIME_LIMIT,
     .arg = "SECONDS",
     .doc = "Search for so long for what a smaller budget would cost, about, on one core; 0: leave that out (default: "
            "5)"},
    {.name = "at",
     .key = KEY_AT,
     .arg = "OPERATION",
     .doc = "Show the iteration that holds this operation of the run (default: one that is timed, of the kind that takes "
            "most of it)"},
    {0}};

static error_t take_weight(const char *value, struct argp_state *state, struct request *request)
{
    static const char *const names[] = {"peak", "time", "idle"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i])) {
            request->weight = (enum report_weight)i;
            return 0;
        }
    argp_error(state, "--weight=%s is refused; accepted: peak, time, idle", value);
    return EINVAL;
}

static error_t take_at(const char *value, struct argp_state *state, struct request *request)
{
    if (!parse_number(value, UINT64_MAX, &request->at_op)) {
        argp_error(state, "--at=%s is refused; accepted: the number of an operation, from 0 on", value);
        return EINVAL;
    }
    return 0;
}

static error_t take_time_limit(const char *value, struct argp_state *state, struct request *request)
{
    uint64_t seconds;
    if (!parse_number(value, DAY_S, &seconds)) {
        argp_error(state, "--time-limit=%s is refused; accepted: seconds, a whole number from 0 to %d", value, DAY_S);
        return EINVAL;
    }
    request->planning_s = (uint32_t)seconds;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (request->trace)
            argp_error(state, "one trace at a time; for two there is spillway diff");
        request->trace = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which trace?");
        return EINVAL;
    case KEY_JSON:
        request->json = true;
        return 0;
    case KEY_HTML:
        request->html = value;
        return 0;
    case KEY_PERFETTO:
        request->perfetto = value;
        return 0;
    case KEY_FOLDED:
        request->folded = value;
        return 0;
    case KEY_WEIGHT:
        return take_weight(value, state, request);
    case KEY_PARTIAL:
        request->partial = true;
        return 0;
    case KEY_AT:
        return take_at(value, state, request);
    case KEY_TIME_LIMIT:
        return take_time_limit(value, state, request);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- writing: a form is either complete or reported as failed ---- */

static int write_html(struct model *m, const struct request *request, FILE *to)
{
    return report_html(request->figures, request->trace, to);
}

static int write_perfetto(struct model *m, const struct request *request, FILE *to)
{
    return report_perfetto(m, to);
}

static int write_folded(struct model *m, const struct request *request, FILE *to)
{
    return report_folded(m, request->weight, to);
}

static int write_file(const char *path, struct model *m, const struct request *request,
                      int (*write)(struct model *m, const struct request *request, FILE *to))
{
    FILE *to = fopen(path, "we");
    int r = to ? write(m, request, to) : -errno;
    if (to && fclose(to) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        fprintf(stderr, "spillway: %s: %s\n", path, strerror(-r));
    return r;
}

static int print_json(const json_t *report)
{
    int r = report ? json_dumpf(report, stdout, JSON_INDENT(1) | JSON_SORT_KEYS) : -1;
    putchar('\n');
    return r < 0 ? -ENOMEM : 0; /* or the stream's error, which the caller reports itself */
}

/* Writes all forms and flushes them, so that a closed pipe or full disk is noticed. */
static int write_all(struct model *m, struct request *request)
{
    int r = 0, printed = 0, ended;
    if (request->html || request->json)
        request->figures = report_json(m, request->planning_s);
    if (request->html)
        r |= write_file(request->html, m, request, write_html);
    if (request->perfetto)
        r |= write_file(request->perfetto, m, request, write_perfetto);
    if (request->folded)
        r |= write_file(request->folded, m, request, write_folded);
    if (request->json)
        printed = print_json(request->figures);
    else if (!request->html && !request->perfetto && !request->folded)
        report_text(m, request->planning_s, request->trace, stdout);
    ended = shown_end(stdout);
    if (ended < 0 || printed < 0) {
        fprintf(stderr, "spillway: standard output: %s\n", strerror(ended < 0 ? -ended : -printed));
        r = -1;
    }
    json_decref(request->figures);
    return r;
}

const struct argp *arguments_report(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "TRACE",
        .doc = "Shows where a run's device memory goes: a summary, or the forms asked for. Of a run within a budget that "
               "recomputes (mode swap+trace), and of one that was traced with --probe, also which kernels are not run "
               "again, and why.\v"
               "Exit status: 0; 1 when something could not be written; 2 when the arguments or the trace are refused.",
    };
    return &argp;
}

int command_report(int argc, char **argv)
{
    struct request request = {.at_op = MODEL_NO_OP, .planning_s = REPORT_PLANNING_S};
    struct model *m;
    if (command_parse(arguments_report(), argc, argv, 0, &request))
        return EXIT_USAGE;
    int status = open_model(request.trace, request.partial, request.at_op, &m);
    if (!m)
        return status;
    if (request.at_op != MODEL_NO_OP && m->iteration_count == 0) {
        fprintf(
            stderr,
            "spillway: %s: no whole iteration holds operation %llu; there are %llu operations" SPW_SEE("no-iteration") "\n",
            request.trace, (unsigned long long)request.at_op, (unsigned long long)m->ops);
        status = EXIT_USAGE;
    } else if (write_all(m, &request) != 0) {
        status = EXIT_FAILURE;
    }
    model_free(m);
    return status;
}
