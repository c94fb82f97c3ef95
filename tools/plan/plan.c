/* plan.c - `spillway plan`: says how long an iteration takes within a budget, and how it would run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "plan_asked.h"
#include "plan_show.h"
#include "see.h"
#include "shown.h"

#define EXIT_INFEASIBLE 3

/* ---- showing; the results are exit statuses ---- */

static int out_of_memory(void)
{
    fprintf(stderr, "spillway: %s\n", strerror(ENOMEM));
    return EXIT_FAILURE;
}

/* Prints `value`, which it takes over. */
static int show_json(json_t *value)
{
    if (!value)
        return out_of_memory();
    (void)json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(value);
    return EXIT_SUCCESS;
}

static int show_list(const struct spw_graph *graph, const struct plan_outcomes *outcomes)
{
    json_t *list = json_array();
    int r = list ? 0 : -1;
    for (size_t i = 0; i < outcomes->count && r == 0; i++)
        r = json_array_append_new(list, plan_json(graph, &outcomes->list[i]));
    if (r == 0)
        return show_json(list);
    json_decref(list);
    return out_of_memory();
}

static uint64_t budget_bytes(const struct spw_amount *amount, const struct spw_graph *graph)
{
    if (amount->kind == SPW_AMOUNT_PERCENT)
        return (uint64_t)((double)graph->peak_bytes * amount->percent / 100);
    return amount->kind == SPW_AMOUNT_BYTES ? amount->bytes : INT64_MAX;
}

/* ---- the four things that can be asked for ---- */

static int write_events(const char *path, const struct spw_graph *graph, const struct plan_outcome *outcome)
{
    FILE *to = fopen(path, "we");
    int r = to ? events_write(graph, &outcome->plan.schedule, outcome->start_us, to) : -errno;
    if (to && fclose(to) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        fprintf(stderr, "spillway: %s: %s\n", path, strerror(-r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int show_outcome(const struct plan_asked *request, const struct iteration *it, const struct plan_outcome *outcome)
{
    char sentence[512];
    int status = EXIT_SUCCESS;
    if (request->json)
        status = show_json(plan_json(it->graph, outcome));
    else if (outcome->result == 0)
        status = plan_print(it, outcome, stdout) < 0 ? out_of_memory() : EXIT_SUCCESS;
    if (outcome->result == -ENOTSUP) {
        fprintf(
            stderr,
            "spillway: %s: planner %s is not for this iteration, or not without what was forbidden" SPW_SEE("no-plan") "\n",
            it->text.file, outcome->planner->name);
        return EXIT_USAGE;
    }
    if (outcome->result < 0) {
        fprintf(stderr, "spillway: %s: %s" SPW_SEE("no-plan") "\n", it->text.file,
                plan_why_not(it->graph, outcome, sentence));
        return EXIT_INFEASIBLE;
    }
    return status || !request->events ? status : write_events(request->events, it->graph, outcome);
}

static int plan_one(const struct plan_asked *request, const struct iteration *it)
{
    const struct spw_planner *planner = request->planner ? request->planner : spw_planners;
    struct plan_outcome outcome;
    int r = plan_make(&request->wish, planner, budget_bytes(&request->budget, it->graph), &outcome);
    if (r == -EBADMSG)
        return EXIT_FAILURE;
    if (r < 0)
        return out_of_memory();
    r = plan_smallest(&request->wish, planner, &outcome.smallest_bytes);
    const int status = r < 0 ? out_of_memory() : show_outcome(request, it, &outcome);
    plan_outcome_finish(&outcome);
    return status;
}

static int plan_many(const struct plan_asked *request, const struct iteration *it)
{
    static const unsigned percents[] = {80, 60, 50, 40, 30};
    uint64_t budgets[sizeof percents / sizeof percents[0]];
    size_t count = sizeof percents / sizeof percents[0];
    struct plan_outcomes outcomes;
    for (size_t i = 0; i < count; i++)
        budgets[i] = (uint64_t)((double)it->graph->peak_bytes * percents[i] / 100);
    if (request->budget.kind != SPW_AMOUNT_UNSET) {
        budgets[0] = budget_bytes(&request->budget, it->graph);
        count = 1;
    }
    const int r = request->compare
                      ? plan_compare(&request->wish, budgets, count, &outcomes)
                      : plan_sweep(&request->wish, request->planner ? request->planner : spw_planners, 0.1, &outcomes);
    if (r < 0)
        return r == -EBADMSG ? EXIT_FAILURE : out_of_memory();
    int status = EXIT_INFEASIBLE;
    for (size_t i = 0; i < outcomes.count; i++)
        if (outcomes.list[i].result == 0)
            status = EXIT_SUCCESS;
    const int shown = request->json ? show_list(it->graph, &outcomes) : EXIT_SUCCESS;
    if (!request->json && request->compare)
        plan_print_compared(it, &outcomes, count, stdout);
    else if (!request->json)
        plan_print_sweep(it, &outcomes, stdout);
    if (status) {
        char sentence[512];
        fprintf(stderr, "spillway: %s: %s" SPW_SEE("no-plan") "\n", it->text.file,
                plan_why_not(it->graph, &outcomes.list[0], sentence));
    }
    plan_outcomes_finish(&outcomes);
    return shown ? shown : status;
}

static int show_check(const struct plan_asked *request, const struct iteration *it, const struct json_text *text,
                      const struct spw_check *check)
{
    char path[32];
    int status = EXIT_SUCCESS;
    if (request->json)
        status = show_json(plan_check_json(it->graph, check));
    else if (check->fault == SPW_FAULT_NONE)
        plan_print_check(it, check, stdout);
    if (check->fault == SPW_FAULT_NONE)
        return status;
    (void)snprintf(path, sizeof path, "events[%zu]", check->event);
    fprintf(stderr, "spillway: %s:%zu: %s: %s: %s" SPW_SEE("file-refused") "\n", text->file, json_text_line(text, path),
            check->fault == SPW_FAULT_END ? "events" : path, spw_fault_name(check->fault), check->message);
    return EXIT_FAILURE;
}

static int check_events(const struct plan_asked *request, const struct iteration *it)
{
    const struct plan_wish *wish = &request->wish;
    const struct spw_check_rules rules = {budget_bytes(&request->budget, it->graph), wish->host_bytes, wish->may_replay,
                                          wish->may_copy, false};
    struct json_text text;
    struct json_problem problem;
    struct events events = {0};
    struct spw_check check;
    int status = plan_input_text(request->check, &text);
    if (status)
        return status;
    int r = events_take(&text, it, &events, &problem);
    if (r < 0) {
        fprintf(stderr, "spillway: %s" SPW_SEE("file-refused") "\n", problem.message);
        status = r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
    } else {
        r = spw_check_events(it->graph, events.start, events.steps, events.count, &rules, &check);
        status = r < 0 ? out_of_memory() : show_check(request, it, &text, &check);
    }
    events_finish(&events);
    json_text_finish(&text);
    return status;
}

/* ---- the command ---- */

static int run(struct plan_asked *request)
{
    struct iteration it;
    int status = plan_input(&request->input, &it);
    if (status)
        return status;
    if (plan_wish_for(&it, request->granularity_bytes, &request->wish) < 0)
        status = out_of_memory();
    else if (request->check)
        status = check_events(request, &it);
    else if (request->compare || request->budget.kind == SPW_AMOUNT_UNSET)
        status = plan_many(request, &it);
    else
        status = plan_one(request, &it);
    iteration_finish(&it);
    return status;
}

int command_plan(int argc, char **argv)
{
    struct plan_asked request = {.wish = {.host_bytes = UINT64_MAX, .may_copy = true, .may_replay = true, .seed = 1}};
    if (command_parse(arguments_plan(), argc, argv, 0, &request))
        return EXIT_USAGE;
    int status = EXIT_SUCCESS;
    if (request.planners)
        plan_print_planners(stdout);
    else
        status = run(&request);
    const int ended = shown_end(stdout);
    if (ended < 0)
        fprintf(stderr, "spillway: standard output: %s\n", strerror(-ended));
    return ended < 0 && !status ? EXIT_FAILURE : status;
}
