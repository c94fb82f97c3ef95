/* settings.c - the table of settings, and strict parsing of their values. */
#include "settings.h"
#include "folder.h"
#include "spelling.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "SPILLWAY_"

extern char **environ;

/* ---- values ---- */

/* Reads a decimal number without sign, exponent or spaces, up to `*end`. Returns false if there is none or it does not
 * fit. */
static bool parse_number(const char *text, const char **end, uint64_t *whole, double *value)
{
    const char *at = text;
    uint64_t n = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
            return false;
    if (at == text)
        return false;

    double fraction = 0, place = 0.1;
    if (*at == '.') {
        const char *digits = ++at;
        for (; *at >= '0' && *at <= '9'; at++, place /= 10)
            fraction += place * (*at - '0');
        if (at == digits)
            return false;
    }
    *whole = n;
    *value = (double)n + fraction;
    *end = at;
    return true;
}

/* Returns the factor of a unit, or 0 if it is none. K, M, G and T are binary, with or without iB. */
static uint64_t unit_factor(const char *unit)
{
    static const struct {
        const char *name, *long_name;
        uint64_t factor;
    } units[] = {
        {"", "B", 1},
        {"K", "KiB", UINT64_C(1) << 10},
        {"M", "MiB", UINT64_C(1) << 20},
        {"G", "GiB", UINT64_C(1) << 30},
        {"T", "TiB", UINT64_C(1) << 40},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(unit, units[i].name) || !strcmp(unit, units[i].long_name))
            return units[i].factor;
    return 0;
}

static int parse_bytes(const char *text, uint64_t *ret_bytes)
{
    const char *unit;
    uint64_t whole, bytes;
    double value;
    if (!parse_number(text, &unit, &whole, &value))
        return -EINVAL;

    uint64_t factor = unit_factor(unit);
    if (!factor || __builtin_mul_overflow(whole, factor, &bytes) || bytes > INT64_MAX)
        return -EINVAL;
    bytes += (uint64_t)((value - (double)whole) * (double)factor);
    if (!bytes)
        return -EINVAL;
    *ret_bytes = bytes;
    return 0;
}

int spw_amount_parse(const char *text, struct spw_amount *ret_amount)
{
    const char *end;
    uint64_t whole, bytes;
    double value;
    if (parse_number(text, &end, &whole, &value) && !strcmp(end, "%")) {
        if (value <= 0 || value > 100)
            return -EINVAL;
        *ret_amount = (struct spw_amount){.kind = SPW_AMOUNT_PERCENT, .percent = value};
        return 0;
    }
    if (parse_bytes(text, &bytes) < 0)
        return -EINVAL;
    *ret_amount = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = bytes};
    return 0;
}

enum { SMALLEST_BUDGET = 4096 }; /* in bytes: a user who types 8 means 8GiB */

/* Reads one element of a budget: AMOUNT for every device, or ORDINAL=AMOUNT. Each may occur once. */
static int parse_budget_element(const char *text, struct spw_budget *budget)
{
    struct spw_amount *into = &budget->every;
    const char *equals = strchr(text, '=');
    if (equals) {
        const char *end;
        uint64_t ordinal;
        double value;
        if (!parse_number(text, &end, &ordinal, &value) || end != equals || value != (double)ordinal ||
            ordinal >= SPW_SETTINGS_DEVICES)
            return -EINVAL;
        into = &budget->device[ordinal];
        text = equals + 1;
    }
    if (into->kind != SPW_AMOUNT_UNSET || spw_amount_parse(text, into) < 0)
        return -EINVAL;
    return into->kind == SPW_AMOUNT_BYTES && into->bytes < SMALLEST_BUDGET ? -EINVAL : 0;
}

static int take_budget(const char *value, struct spw_settings *settings)
{
    struct spw_budget budget = {0};
    char element[64];
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        if (length >= sizeof(element))
            return -EINVAL;
        memcpy(element, at, length);
        element[length] = 0;
        int r = parse_budget_element(element, &budget);
        if (r < 0)
            return r;
        at += length;
        if (!*at)
            break;
    }
    settings->budget = budget;
    return 0;
}

static int take_mode(const char *value, struct spw_settings *settings)
{
    static const struct {
        const char *name;
        enum spw_mode mode;
        bool trace;
    } modes[] = {{"swap", SPW_MODE_SWAP, false},
                 {"trace", SPW_MODE_TRACE, true},
                 {"swap+trace", SPW_MODE_SWAP, true},
                 {"off", SPW_MODE_OFF, false}};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (!strcmp(value, modes[i].name)) {
            settings->mode = modes[i].mode;
            settings->trace = modes[i].trace;
            return 0;
        }
    }
    return -EINVAL;
}

static int take_plan(const char *value, struct spw_settings *settings)
{
    static const char *const words[] = {[SPW_PLAN_ON] = "on", [SPW_PLAN_WAIT] = "wait", [SPW_PLAN_OFF] = "off"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!strcmp(value, words[i])) {
            settings->plan = (enum spw_plan_setting)i;
            return 0;
        }
    }
    return -EINVAL;
}

static int take_switch(const char *value, bool *ret_on)
{
    const bool on = !strcmp(value, "on");
    if (!on && strcmp(value, "off"))
        return -EINVAL;
    *ret_on = on;
    return 0;
}

static int take_recompute(const char *value, struct spw_settings *settings)
{
    return take_switch(value, &settings->recompute);
}

static int take_probe(const char *value, struct spw_settings *settings)
{
    return take_switch(value, &settings->probe);
}

static int take_count(const char *value, uint64_t least, uint32_t *ret_count)
{
    uint64_t count;
    double same;
    const char *end;
    if (!parse_number(value, &end, &count, &same) || *end || strchr(value, '.') || count < least || count > 1000000)
        return -EINVAL;
    *ret_count = (uint32_t)count;
    return 0;
}

static int take_verify(const char *value, struct spw_settings *settings)
{
    return take_count(value, 1, &settings->verify_every);
}

static int take_host_budget(const char *value, struct spw_settings *settings)
{
    return spw_amount_parse(value, &settings->host_budget);
}

static int take_small(const char *value, struct spw_settings *settings)
{
    uint64_t bytes = 0;
    if (strcmp(value, "auto") && (parse_bytes(value, &bytes) < 0 || bytes > UINT64_C(1) << 30))
        return -EINVAL;
    settings->small_bytes = bytes;
    return 0;
}

static int take_path(const char *value, char *into)
{
    return *value && spw_folder_at_start(value, into, SPW_SETTINGS_PATH) ? 0 : -EINVAL;
}

static int take_driver(const char *value, struct spw_settings *settings)
{
    if (value[0] != '/' || access(value, R_OK) < 0)
        return -EINVAL;
    return take_path(value, settings->driver);
}

static int take_log(const char *value, struct spw_settings *settings)
{
    static const char *const names[] = {
        [SPW_LOG_QUIET] = "quiet", [SPW_LOG_WARN] = "warn", [SPW_LOG_INFO] = "info", [SPW_LOG_DEBUG] = "debug"};
    size_t length = strcspn(value, ":");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (length != strlen(names[i]) || strncmp(value, names[i], length))
            continue;
        settings->log_level = (enum spw_log_level)i;
        settings->log_file[0] = 0;
        return value[length] ? take_path(value + length + 1, settings->log_file) : 0;
    }
    return -EINVAL;
}

const char *spw_settings_rank(void)
{
    static const char *const variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value && strspn(value, "0123456789") == strlen(value))
            return value;
    }
    return "0";
}

/* Reads a file name and replaces %r (rank), %p (process id) and %%. */
static int take_file_name(const char *value, char *ret_path)
{
    char path[SPW_SETTINGS_PATH], pid[16];
    size_t length = 0;
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    for (const char *at = value; *at; at++) {
        char letter[2] = {*at, 0};
        const char *piece = letter;
        if (*at == '%') {
            at++;
            piece = *at == 'r' ? spw_settings_rank() : *at == 'p' ? pid : *at == '%' ? "%" : NULL;
        }
        if (!piece || length + strlen(piece) >= sizeof(path))
            return -EINVAL;
        length += (size_t)sprintf(path + length, "%s", piece);
    }
    path[length] = 0;
    return take_path(path, ret_path);
}

static int take_summary(const char *value, struct spw_settings *settings)
{
    return take_file_name(value, settings->summary);
}

/* A file whose name is one of the words is written as ./on. */
static int take_profile(const char *value, struct spw_settings *settings)
{
    settings->profile = strcmp(value, "off") != 0;
    settings->profile_file[0] = 0;
    return strcmp(value, "on") && strcmp(value, "off") ? take_file_name(value, settings->profile_file) : 0;
}

static int take_trace_file(const char *value, struct spw_settings *settings)
{
    return take_file_name(value, settings->trace_file);
}

static int take_timed(const char *value, struct spw_settings *settings)
{
    if (strcmp(value, "all"))
        return take_count(value, 0, &settings->timed_iterations);
    settings->timed_iterations = SPW_SETTINGS_TIMED_ALL;
    return 0;
}

static int take_name(const char *value, char into[SPW_SETTINGS_HINT])
{
    size_t length = strlen(value);
    if (length == 0 || length >= SPW_SETTINGS_HINT)
        return -EINVAL;
    memcpy(into, value, length + 1);
    return 0;
}

static int take_kernel(const char *value, struct spw_settings *settings)
{
    return take_name(value, settings->hint_kernel);
}

static int take_range(const char *value, struct spw_settings *settings)
{
    return take_name(value, settings->hint_range);
}

/* ---- the table ---- */

const struct spw_setting spw_setting_table[] = {
    {"SPILLWAY_BUDGET", "budget", "AMOUNT", "the device's free memory",
     "bytes such as 8589934592, 8GiB or 8G (K, M, G, T; 4KiB at least), a share of the device such as 60% (up to 100%), "
     "or one for each device as in 0=8G,1=60%",
     "device memory that the program may have mapped", take_budget},
    {"SPILLWAY_MODE", "mode", "swap|trace|swap+trace|off", "swap", "swap, trace, swap+trace, off",
     "swap: keep within the budget; trace: change nothing, write down what the program does; swap+trace: both at once; off: "
     "do nothing",
     take_mode},
    {"SPILLWAY_PLAN", "plan", "on|wait|off", "on", "on, wait, off",
     "on: later iterations follow a plan; wait: the same, and the program stands still while it is made; off: tensors are "
     "evicted on demand only",
     take_plan},
    {"SPILLWAY_RECOMPUTE", "recompute", "on|off", "on", "on, off",
     "on: what follows a plan may also be recomputed, where that was tried and gives the same bytes; off: it is copied only",
     take_recompute},
    {"SPILLWAY_VERIFY", "verify", "COUNT", "64", "a number from 1 to 1000000",
     "a sample of each recomputation is compared, and one in so many as a whole; 1: each, with a copy to restore",
     take_verify},
    {"SPILLWAY_PROFILE", "profile", "on|off|FILE", "on",
     "on (in the cache folder, by device and driver), off, or a file name; %r is replaced by the rank, %p by the process "
     "id, "
     "%% by %",
     "a file that keeps what was learned of kernels for the next run, which then need not try them", take_profile},
    {"SPILLWAY_HOST_BUDGET", "host-budget", "AMOUNT", "half of what the machine or the cgroup leaves, per local rank",
     "bytes such as 34359738368, 32GiB or 32G (K, M, G, T, all above 0), or a share of the host's memory such as 40% "
     "(up to 100%)",
     "pinned host memory that may hold what left the device", take_host_budget},
    {"SPILLWAY_DRIVER", "driver", "FILE", "searched for as the loader would", "the absolute path of a readable file",
     "the real libcuda.so.1", take_driver},
    {"SPILLWAY_LOG", "log", "quiet|warn|info|debug[:FILE]", "warn",
     "quiet, warn, info or debug, optionally followed by :FILE", "how much to say, and where if not to stderr", take_log},
    {"SPILLWAY_SMALL", "small", "auto|BYTES", "auto: 32 KiB, or half of the device's granularity where that is less",
     "auto, or bytes such as 1048576, 1MiB or 1M (above 0, up to 1G)",
     "allocations below this many bytes always stay on the device", take_small},
    {"SPILLWAY_TRACE_FILE", "output", "FILE", SPW_TRACE_FILE,
     "a file name; %r is replaced by the rank, %p by the process id, %% by %", "the file that gets the trace",
     take_trace_file},
    {"SPILLWAY_TIMED", "timed", "COUNT|all", "1", "a number of iterations, 0, or all for every operation of the run",
     "of a trace: how many iterations have each operation timed, which slows them down", take_timed},
    {"SPILLWAY_PROBE", "probe", "on|off", "off", "on, off",
     "of a trace: on: kernels are tried as well, to know what can be recomputed: they are run again beside the program, "
     "which takes time and memory",
     take_probe},
    {"SPILLWAY_ITERATION_KERNEL", "iteration-kernel", "NAME", "none", "a part of a kernel's name, up to 255 letters",
     "of a trace: a hint for finding the iteration: it begins with this kernel", take_kernel},
    {"SPILLWAY_ITERATION_RANGE", "iteration-range", "NAME", "none",
     "an NVTX range's whole name, up to 255 letters; * at the end stands for any more",
     "of a trace: a hint for finding the iteration: it begins with this range of the program", take_range},
    {"SPILLWAY_SUMMARY", "summary", "FILE", "none", "a file name; %r is replaced by the rank, %p by the process id, %% by %",
     "a file that gets the summary at the end of the run, as JSON", take_summary},
};
const size_t spw_setting_count = sizeof(spw_setting_table) / sizeof(spw_setting_table[0]);

/* ---- reading ---- */

void spw_settings_default(struct spw_settings *ret_settings)
{
    *ret_settings = (struct spw_settings){.mode = SPW_MODE_SWAP,
                                          .recompute = true,
                                          .profile = true,
                                          .verify_every = 64,
                                          .log_level = SPW_LOG_WARN,
                                          .timed_iterations = 1};
    (void)take_file_name(SPW_TRACE_FILE, ret_settings->trace_file);
}

int spw_setting_take(const struct spw_setting *setting, const char *value, struct spw_settings *settings, char *ret_message,
                     size_t message_size)
{
    int r = setting->parse(value, settings);
    if (r < 0)
        snprintf(ret_message, message_size, "%s=%s is refused; accepted: %s", setting->variable, value, setting->accepted);
    return r;
}

static const struct spw_setting *find_setting(const char *variable, size_t length)
{
    for (size_t i = 0; i < spw_setting_count; i++)
        if (strlen(spw_setting_table[i].variable) == length && !strncmp(spw_setting_table[i].variable, variable, length))
            return &spw_setting_table[i];
    return NULL;
}

/* Returns the setting that was probably meant, or NULL if the name is not similar to any. */
static const char *nearest_variable(const char *name, size_t length)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)(length - (sizeof(PREFIX) - 1)) / 2 + 1; /* less than half of the letters may differ */
    for (size_t i = 0; i < spw_setting_count; i++) {
        const char *variable = spw_setting_table[i].variable;
        unsigned distance = spw_spelling_distance(name, length, variable, strlen(variable));
        if (distance < best) {
            best = distance;
            nearest = variable;
        }
    }
    return nearest;
}

/* Reads one NAME=VALUE of the environment; names that are not ours are accepted. */
static int take_variable(const char *entry, struct spw_settings *settings, char *ret_message, size_t message_size)
{
    const char *equals = strchr(entry, '=');
    if (!equals || strncmp(entry, PREFIX, sizeof(PREFIX) - 1))
        return 0;

    size_t length = (size_t)(equals - entry);
    const struct spw_setting *setting = find_setting(entry, length);
    if (setting)
        return spw_setting_take(setting, equals + 1, settings, ret_message, message_size);

    const char *nearest = nearest_variable(entry, length);
    int written = snprintf(ret_message, message_size, "%.*s=%s is not a setting; %s%s%saccepted:", (int)length, entry,
                           equals + 1, nearest ? "the nearest is " : "", nearest ? nearest : "", nearest ? "; " : "");
    for (size_t i = 0; i < spw_setting_count && written > 0 && (size_t)written < message_size; i++)
        written += snprintf(ret_message + written, message_size - (size_t)written, "%s %s", i ? "," : "",
                            spw_setting_table[i].variable);
    return -EINVAL;
}

int spw_settings_read(struct spw_settings *settings, char *ret_message, size_t message_size)
{
    spw_settings_default(settings);
    int result = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        /* Only the first error is reported. The rest is still read, so that the log level is known. */
        char ignored[1];
        int r = take_variable(*entry, settings, result ? ignored : ret_message, result ? sizeof(ignored) : message_size);
        if (r < 0 && !result)
            result = r;
    }
    settings->probe &= settings->trace;
    if (!result && settings->probe && (settings->plan == SPW_PLAN_OFF || !settings->recompute)) {
        result = -EINVAL;
        snprintf(ret_message, message_size, "SPILLWAY_PROBE=on and %s=off are refused together; accepted: one of them",
                 settings->recompute ? "SPILLWAY_PLAN" : "SPILLWAY_RECOMPUTE");
    }
    if (settings->probe)
        settings->mode = SPW_MODE_SWAP;
    if (!result && settings->hint_kernel[0] && settings->hint_range[0]) {
        result = -EINVAL;
        snprintf(ret_message, message_size,
                 "SPILLWAY_ITERATION_KERNEL=%s and SPILLWAY_ITERATION_RANGE=%s are refused together; accepted: one of them",
                 settings->hint_kernel, settings->hint_range);
    }
    return result;
}

static struct spw_settings in_force = {.mode = SPW_MODE_SWAP, .log_level = SPW_LOG_WARN};

const struct spw_settings *spw_settings_get(void)
{
    return &in_force;
}

void spw_settings_use(const struct spw_settings *settings)
{
    in_force = *settings;
}

void spw_settings_set_budget(int device, uint64_t bytes)
{
    in_force.budget.device[device] = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = bytes};
}

bool spw_settings_ask_for_budget(const struct spw_settings *settings)
{
    bool asked = settings->budget.every.kind != SPW_AMOUNT_UNSET;
    for (int i = 0; i < SPW_SETTINGS_DEVICES; i++)
        asked |= settings->budget.device[i].kind != SPW_AMOUNT_UNSET;
    return asked;
}

uint64_t spw_settings_budget_bytes(const struct spw_settings *settings, int device, uint64_t total, uint64_t free)
{
    const struct spw_amount *amount = &settings->budget.every;
    if (device >= 0 && device < SPW_SETTINGS_DEVICES && settings->budget.device[device].kind != SPW_AMOUNT_UNSET)
        amount = &settings->budget.device[device];

    uint64_t bytes = free;
    if (amount->kind == SPW_AMOUNT_BYTES)
        bytes = amount->bytes;
    else if (amount->kind == SPW_AMOUNT_PERCENT)
        bytes = (uint64_t)((double)total * amount->percent / 100);
    return bytes < total ? bytes : total;
}
