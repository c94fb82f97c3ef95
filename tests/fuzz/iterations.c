/* iterations.c - damaged iterations and plans: each is read and planned for, or refused with a reason; what is planned is
 * valid.
 *
 *     iterations [COUNT [FIRST]]     iteration number FIRST and the COUNT - 1 after it; 2000 from 0 on when not said
 *
 * What fails is repeated with `iterations 1 NUMBER`. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph-text.h"
#include "plan_run.h"
#include "plan_show.h"
#include "records.h"

enum { MOST_SECONDS = 30 }; /* for a hundred iterations, on the slowest machine with sanitizers */

struct counts {
    uint64_t read, planned, events_read, events_valid;
};

static uint64_t number; /* of the iteration that is being looked at */

static void require(bool condition, const char *what, const char *more)
{
    if (condition)
        return;
    fprintf(stderr, "iteration %llu: not so: %s: %s\n", (unsigned long long)number, what, more);
    abort();
}

static void require_reason(int r, const struct json_problem *problem)
{
    const char *message = problem->message;
    require(r == -EINVAL, "what is refused is refused as wrong", message);
    require(strncmp(message, "f:", 2) == 0 && !strchr(message, '\n'), "a reason is one line that names the file", message);
    require(strstr(message, ": expected ") || strstr(message, ": not JSON: "), "a reason says what was expected", message);
}

static char *written(const struct iteration *it, size_t *ret_bytes)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, ret_bytes);
    require(to && iteration_write(it->graph, it->name, it->profile, to) == 0 && fclose(to) == 0, "it can be written", "");
    return text;
}

static int take(const char *text, size_t bytes, struct iteration *ret_iteration, struct json_problem *ret_problem)
{
    struct json_text json;
    const int r = json_text_parse("f", text, bytes, &json, ret_problem);
    return r < 0 ? r : iteration_take(&json, ret_iteration, ret_problem);
}

static void write_and_read(const struct iteration *it)
{
    struct iteration again;
    struct json_problem problem = {""};
    size_t once_bytes, twice_bytes;
    char *once = written(it, &once_bytes);
    require(take(once, once_bytes, &again, &problem) == 0, "what was written is read", problem.message);
    char *twice = written(&again, &twice_bytes);
    require(strcmp(once, twice) == 0, "what was read is written as it was", once);
    iteration_finish(&again);
    free(once);
    free(twice);
}

/* ---- plans ---- */

static void show(const struct iteration *it, const struct plan_outcome *outcome)
{
    static FILE *nowhere;
    char sentence[512];
    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    require(nowhere != NULL, "there is /dev/null", "");
    const struct plan_outcomes outcomes = {(struct plan_outcome *)outcome, 1};
    json_t *json = plan_json(it->graph, outcome);
    require(json != NULL, "a plan can be shown as JSON", "");
    json_decref(json);
    if (outcome->result == 0)
        require(plan_print(it, outcome, nowhere) == 0, "a plan can be shown", "");
    plan_print_sweep(it, &outcomes, nowhere);
    plan_print_compared(it, &outcomes, 1, nowhere);
    require(strlen(plan_why_not(it->graph, outcome, sentence)) > 0, "a reason can be given", "");
}

/* The plan's events, damaged: refused with a reason, or judged. */
static void damage_events(const struct plan_wish *wish, const struct iteration *it, const struct plan_outcome *outcome,
                          uint64_t *seed, struct counts *counts)
{
    static char room[GRAPH_TEXT_ROOM];
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    require(to && events_write(it->graph, &outcome->plan.schedule, outcome->start_us, to) == 0 && fclose(to) == 0,
            "events can be written", "");
    for (unsigned times = 0; times < 3 && bytes < sizeof room; times++) { /* the first time as they are */
        struct json_text json;
        struct json_problem problem = {""};
        struct events events = {0};
        struct spw_check check = {0};
        memcpy(room, text, bytes);
        const size_t length = times ? damage_text(room, bytes, seed) : bytes;
        const struct spw_check_rules rules = {outcome->budget_bytes, wish->host_bytes, wish->may_replay, wish->may_copy,
                                              false};
        int r = json_text_parse("f", room, length, &json, &problem);
        if (r == 0) {
            r = events_take(&json, it, &events, &problem);
            json_text_finish(&json);
        }
        if (r == 0) {
            r = spw_check_events(it->graph, events.start, events.steps, events.count, &rules, &check);
            require(r == 0, "events can be checked", "");
            require(times || check.fault == SPW_FAULT_NONE, "events are valid as they were planned", check.message);
            counts->events_read++;
            counts->events_valid += check.fault == SPW_FAULT_NONE;
            events_finish(&events);
        } else {
            require_reason(r, &problem);
        }
    }
    free(text);
}

static const struct spw_planner *some_planner(uint64_t *seed)
{
    size_t count = 0;
    while (spw_planners[count].name)
        count++;
    return &spw_planners[random_number(seed) % 2 ? 0 : random_number(seed) % count];
}

/* One that costs nothing, or a mixture; whatever it is, a plan's events are valid without it too. */
static struct spw_machine some_machine(uint64_t *seed)
{
    struct spw_machine machine = {.duplex = 1};
    if (random_number(seed) % 2)
        return machine;
    machine.map_us = (double)(random_number(seed) % 3);
    machine.unmap_us = (double)(random_number(seed) % 3);
    machine.launch_us = (double)(random_number(seed) % 8) / 2;
    machine.run_ahead = (uint32_t)(random_number(seed) % 4);
    machine.duplex = (double)(1 + random_number(seed) % 4) / 4;
    machine.chunk_bytes = random_number(seed) % 3 * 1000;
    machine.chunk_us = 1;
    return machine;
}

static void plan(const struct iteration *it, uint64_t *seed, struct counts *counts)
{
    const struct spw_graph *graph = it->graph;
    const uint64_t between = graph->peak_bytes > graph->least_bytes ? graph->peak_bytes - graph->least_bytes : 0;
    const uint64_t budget = graph->least_bytes + (between ? random_number(seed) % between : 0) + random_number(seed) % 2;
    const struct plan_wish wish = {.graph = graph,
                                   .host_bytes = random_number(seed) % 4 ? UINT64_MAX : budget / 4,
                                   .may_copy = random_number(seed) % 4,
                                   .may_replay = random_number(seed) % 4,
                                   .machine = some_machine(seed),
                                   .seed = 1,
                                   .time_limit_s = 0.002,
                                   .by_clock = true,
                                   .jitter = 0.2};
    const struct spw_planner *planner = some_planner(seed);
    struct plan_outcome outcome;
    const int r = plan_make(&wish, planner, budget, &outcome);
    require(r == 0, "a plan is valid", planner->name);
    require(outcome.result == 0 || outcome.result == -ENOSPC || outcome.result == -ENOTSUP, "a planner says what is wrong",
            planner->name);
    show(it, &outcome);
    if (outcome.result == 0) {
        const double us = outcome.plan.timing.time_us;
        require(isfinite(us) && outcome.lower_bound_us <= us * (1 + 1e-9) + 1e-6, "no plan beats the bound", planner->name);
        damage_events(&wish, it, &outcome, seed, counts);
        counts->planned++;
    }
    plan_outcome_finish(&outcome);
}

/* ---- all ---- */

static void look_at(struct counts *counts)
{
    static char text[GRAPH_TEXT_ROOM];
    uint64_t seed = number;
    size_t length = make_graph_text(text, &seed);
    for (uint64_t times = random_number(&seed) % 4; times > 0; times--)
        length = damage_text(text, length, &seed);
    struct iteration it = {0};
    struct json_problem problem = {""};
    const int r = take(text, length, &it, &problem);
    if (r < 0) {
        require_reason(r, &problem);
        return;
    }
    counts->read++;
    write_and_read(&it);
    plan(&it, &seed, counts);
    iteration_finish(&it);
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    struct counts counts = {0};
    for (uint64_t i = 0; i < count; i++) {
        if (i % 100 == 0)
            alarm(MOST_SECONDS);
        number = first + i;
        look_at(&counts);
    }
    alarm(0);
    printf("1..1\n# of %llu: %llu read, %llu planned for; of their events, damaged or not, %llu read and %llu valid\n",
           (unsigned long long)count, (unsigned long long)counts.read, (unsigned long long)counts.planned,
           (unsigned long long)counts.events_read, (unsigned long long)counts.events_valid);
    const bool well = counts.read * 5 > count && counts.planned * 10 > count; /* not by refusing everything */
    printf("%sok 1 - damaged iterations and plans are read or refused, and every plan made is valid\n",
           count < 1000 || well ? "" : "not ");
    return count < 1000 || well ? 0 : 1;
}
