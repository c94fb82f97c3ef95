/* plan_asked.c - the arguments of `spillway plan`. */
#include "plan_asked.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum {
    KEY_BUDGET = 0x1000,
    KEY_PLANNER,
    KEY_HOST_BUDGET,
    KEY_TIME_LIMIT,
    KEY_SEED,
    KEY_EVENTS,
    KEY_CHECK,
    KEY_JSON,
    KEY_NO_RECOMPUTE,
    KEY_NO_SWAP,
    KEY_JITTER,
    KEY_SWEEP,
    KEY_COMPARE,
    KEY_PLANNERS,
    KEY_DEVICE,
    KEY_PARTIAL,
};

static const struct argp_option options[] = {
    {.name = "budget",
     .key = KEY_BUDGET,
     .arg = "AMOUNT",
     .doc = "Device memory to plan for: 8GiB, bytes, or 60% of the peak"},
    {.name = "sweep",
     .key = KEY_SWEEP,
     .doc = "Show the budget-to-slowdown curve, from the peak down to the smallest feasible budget (what is done "
            "without --budget)"},
    {.name = "compare", .key = KEY_COMPARE, .doc = "Show all planners side by side, at the budget or at several"},
    {.name = "planner",
     .key = KEY_PLANNER,
     .arg = "auto|NAME",
     .doc = "Who plans: one of those that --planners lists (default: auto)"},
    {.name = "planners", .key = KEY_PLANNERS, .doc = "List the planners, what they guarantee and where they are from"},
    {.name = "host-budget", .key = KEY_HOST_BUDGET, .arg = "AMOUNT", .doc = "Host memory for copies (default: any amount)"},
    {.name = "time-limit",
     .key = KEY_TIME_LIMIT,
     .arg = "SECONDS",
     .doc = "How long a planner may search for one plan (default: an amount of work that depends on the iteration)"},
    {.name = "seed", .key = KEY_SEED, .arg = "N", .doc = "What is chosen at random is chosen by this number (default: 1)"},
    {.name = "no-recompute", .key = KEY_NO_RECOMPUTE, .doc = "Plan copies only"},
    {.name = "no-swap", .key = KEY_NO_SWAP, .doc = "Plan recomputation only"},
    {.name = "jitter",
     .key = KEY_JITTER,
     .arg = "PERCENT",
     .doc = "Try the plan with durations that are off by up to so much, such as 20%"},
    {.name = "events", .key = KEY_EVENTS, .arg = "FILE", .doc = "Write the plan's timed events to FILE, as JSON"},
    {.name = "check",
     .key = KEY_CHECK,
     .arg = "FILE",
     .doc = "Make no plan: check the events in FILE against the iteration and the budget, if one is given"},
    {.name = "json", .key = KEY_JSON, .doc = "Print the figures as JSON"},
    {.name = "device", .key = KEY_DEVICE, .arg = "N", .doc = "Of a trace: tensors of this device (default: 0)"},
    {.name = "partial", .key = KEY_PARTIAL, .doc = "Of a damaged trace: plan for what can be read"},
    {0}};

/* ---- arguments ---- */

static struct spw_amount take_amount(struct argp_state *state, const char *option, const char *value, bool percent)
{
    struct spw_amount amount;
    if (spw_amount_parse(value, &amount) < 0 || (!percent && amount.kind == SPW_AMOUNT_PERCENT))
        argp_error(state, "--%s=%s is refused; accepted: bytes such as 8589934592, 8GiB or 8G (K, M, G, T, all above 0)%s",
                   option, value, percent ? ", or a share of the peak such as 60% (up to 100%)" : "");
    return amount;
}

static uint64_t take_number(struct argp_state *state, const char *option, const char *value, uint64_t most)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (errno || *end || value[0] < '0' || value[0] > '9' || number > most)
        argp_error(state, "--%s=%s is refused; accepted: a whole number from 0 to %llu", option, value,
                   (unsigned long long)most);
    return number;
}

static double take_real(struct argp_state *state, const char *option, const char *value, double most, const char *accepted)
{
    char *end;
    const double number = strtod(value, &end);
    if (end == value || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || !(number > 0) || number > most)
        argp_error(state, "--%s=%s is refused; accepted: %s", option, value, accepted);
    return number;
}

static const struct spw_planner *take_planner(struct argp_state *state, const char *name)
{
    const struct spw_planner *planner = spw_planner_find(name);
    char names[512] = "";
    if (planner)
        return planner;
    for (const struct spw_planner *p = spw_planners; p->name; p++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", p->name);
    argp_error(state, "--planner=%s is refused; accepted: %s", name, names);
    return NULL;
}

/* What cannot be asked for at once. */
static void check_request(struct argp_state *state, const struct plan_asked *request)
{
    if (request->sweep + request->compare + (request->check != NULL) > 1)
        argp_error(state, "--sweep, --compare and --check are three different things: one at a time");
    if (request->sweep && request->budget.kind != SPW_AMOUNT_UNSET)
        argp_error(state, "--sweep goes through the budgets itself, and takes no --budget");
    if (request->compare && request->planner)
        argp_error(state, "--compare goes through the planners itself, and takes no --planner");
    if (request->events && (request->budget.kind == SPW_AMOUNT_UNSET || request->compare || request->check))
        argp_error(state, "--events writes one plan, for which it needs a --budget, without --compare and --check");
    if (!request->input.path && !request->planners)
        argp_error(state, "which iteration or trace?");
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct plan_asked *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (request->input.path)
            argp_error(state, "one iteration at a time");
        request->input.path = value;
        return 0;
    case ARGP_KEY_END:
        check_request(state, request);
        return 0;
    case KEY_BUDGET:
        request->budget = take_amount(state, "budget", value, true);
        return 0;
    case KEY_HOST_BUDGET:
        request->wish.host_bytes = take_amount(state, "host-budget", value, false).bytes;
        return 0;
    case KEY_PLANNER:
        request->planner = take_planner(state, value);
        return 0;
    case KEY_TIME_LIMIT:
        request->wish.by_clock = true;
        request->wish.time_limit_s = take_real(state, "time-limit", value, 86400, "seconds, above 0");
        return 0;
    case KEY_SEED:
        request->wish.seed = take_number(state, "seed", value, UINT64_MAX);
        return 0;
    case KEY_JITTER:
        request->wish.jitter = take_real(state, "jitter", value, 99, "a percentage above 0 and up to 99, such as 20%") / 100;
        return 0;
    case KEY_DEVICE:
        request->input.device = (uint32_t)take_number(state, "device", value, 999);
        return 0;
    case KEY_EVENTS:
        request->events = value;
        return 0;
    case KEY_CHECK:
        request->check = value;
        return 0;
    case KEY_NO_RECOMPUTE:
        request->wish.may_replay = false;
        return 0;
    case KEY_NO_SWAP:
        request->wish.may_copy = false;
        return 0;
    case KEY_JSON:
        request->json = true;
        return 0;
    case KEY_SWEEP:
        request->sweep = true;
        return 0;
    case KEY_COMPARE:
        request->compare = true;
        return 0;
    case KEY_PLANNERS:
        request->planners = true;
        return 0;
    case KEY_PARTIAL:
        request->input.partial = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *arguments_plan(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "FILE",
        .doc = "Plans an iteration within a memory budget: what is copied out and back, what is recomputed, how long it "
               "takes. FILE "
               "is a trace, or an iteration as spillway export prints it. All times are predicted.\v"
               "Exit status: 0; 1 when something could not be written, or the events that were checked are no valid plan; 2 "
               "when "
               "the arguments or a file are refused; 3 when there is no plan within the budget: then the operation that "
               "does not "
               "fit is named, and the smallest feasible budget.",
    };
    return &argp;
}
