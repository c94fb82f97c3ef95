/* plan_asked.c - parses the arguments of `spillway plan`. */
#include "plan_asked.h"

#include <argp.h>
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
    KEY_GRANULARITY,
    KEY_MAP_US,
    KEY_UNMAP_US,
    KEY_LAUNCH_US,
    KEY_RUN_AHEAD,
    KEY_DUPLEX,
    KEY_CHUNK,
    KEY_CHUNK_US,
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
    {.name = "granularity",
     .key = KEY_GRANULARITY,
     .arg = "BYTES",
     .doc = "Memory is handed out in multiples of so many bytes, such as 2MiB (default: 1)"},
    {.name = "map-us", .key = KEY_MAP_US, .arg = "US", .doc = "Host time to map a tensor's memory (default: 0)"},
    {.name = "unmap-us", .key = KEY_UNMAP_US, .arg = "US", .doc = "Host time to unmap it (default: 0)"},
    {.name = "launch-us",
     .key = KEY_LAUNCH_US,
     .arg = "US",
     .doc = "Host time to submit an operation or a copy (default: 0)"},
    {.name = "run-ahead",
     .key = KEY_RUN_AHEAD,
     .arg = "N",
     .doc = "Operations that the host is ahead of the device at most (default: 0, any number)"},
    {.name = "duplex",
     .key = KEY_DUPLEX,
     .arg = "PERCENT",
     .doc = "Speed of a copy while one runs the other way (default: 100%)"},
    {.name = "chunk",
     .key = KEY_CHUNK,
     .arg = "BYTES",
     .doc = "Copies go in pieces of so many bytes (default: in one piece)"},
    {.name = "chunk-us", .key = KEY_CHUNK_US, .arg = "US", .doc = "Time that each piece costs more (default: 0)"},
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

enum { MOST_COST_US = 1000000, MOST_RUN_AHEAD = 1000000, MOST_UNIT_BYTES = 1 << 30 };

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
    uint64_t number = 0;
    if (!parse_number(value, most, &number))
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

/* Parses a size that is used as a unit. */
static uint64_t take_unit(struct argp_state *state, const char *option, const char *value)
{
    struct spw_amount amount;
    if (spw_amount_parse(value, &amount) < 0 || amount.kind == SPW_AMOUNT_PERCENT || amount.bytes > MOST_UNIT_BYTES)
        argp_error(state, "--%s=%s is refused; accepted: bytes such as 2097152, 2MiB or 2M (above 0, up to 1GiB)", option,
                   value);
    return amount.bytes;
}

static double take_cost(struct argp_state *state, const char *option, const char *value)
{
    char *end;
    const double us = strtod(value, &end);
    if (end == value || *end || !(us >= 0) || us > MOST_COST_US)
        argp_error(state, "--%s=%s is refused; accepted: microseconds from 0 to %d, such as 4.5", option, value,
                   MOST_COST_US);
    return us;
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

/* Refuses options that exclude each other. */
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
    if (request->check && request->machine_option)
        argp_error(state, "--check judges by model S+ (docs/planning.md), which has no --%s", request->machine_option);
    if (request->wish.machine.chunk_us > 0 && !request->wish.machine.chunk_bytes)
        argp_error(state, "--chunk-us is what a piece costs, and needs the size of one: --chunk");
    if (!request->input.path && !request->planners)
        argp_error(state, "which iteration or trace?");
}

/* Parses the options for costs that the time line includes besides the iteration's. */
static error_t take_machine_option(int key, const char *value, struct argp_state *state)
{
    struct plan_asked *request = state->input;
    struct spw_machine *machine = &request->wish.machine;
    const struct argp_option *option = options;
    while (option->name && option->key != key)
        option++;
    switch (key) {
    case KEY_MAP_US:
        machine->map_us = take_cost(state, option->name, value);
        break;
    case KEY_UNMAP_US:
        machine->unmap_us = take_cost(state, option->name, value);
        break;
    case KEY_LAUNCH_US:
        machine->launch_us = take_cost(state, option->name, value);
        break;
    case KEY_RUN_AHEAD:
        machine->run_ahead = (uint32_t)take_number(state, option->name, value, MOST_RUN_AHEAD);
        break;
    case KEY_DUPLEX:
        machine->duplex =
            take_real(state, option->name, value, 100, "a percentage above 0 and up to 100, such as 80%") / 100;
        break;
    case KEY_CHUNK:
        machine->chunk_bytes = take_unit(state, option->name, value);
        break;
    case KEY_CHUNK_US:
        machine->chunk_us = take_cost(state, option->name, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    request->machine_option = option->name;
    return 0;
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
    case KEY_GRANULARITY:
        request->granularity_bytes = take_unit(state, "granularity", value);
        return 0;
    default:
        return take_machine_option(key, value, state);
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
