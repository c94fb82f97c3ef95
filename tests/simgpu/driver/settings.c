/* settings.c - reads the SIMGPU_... variables and keeps count of the faults that they ask for. */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

struct settings settings;

struct fault { /* one entry of SIMGPU_FAIL */
    char *name;
    uint64_t nth, seen;
    bool onwards;
    CUresult result;
};

struct sabotage_rule { /* one entry of SIMGPU_SABOTAGE */
    enum sabotage kind;
    uint64_t nth;
    bool onwards;
};

static struct fault *faults;
static size_t fault_count;
static struct sabotage_rule *sabotages;
static size_t sabotage_count;
static uint64_t operations_seen[SABOTAGE_COUNT];

static const char *const sabotage_names[] = {
#define X(kind, name, meaning) name,
    SIMGPU_SABOTAGE_KINDS(X)
#undef X
};

static int refuse(const char *variable, const char *value, const char *accepted)
{
    fprintf(stderr, "simgpu: %s=%s is refused; accepted: %s\n", variable, value, accepted);
    return -EINVAL;
}

static int parse_bytes(const char *variable, uint64_t *ret_bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"K", 10}, {"M", 20}, {"G", 30}};
    const char *value = getenv(variable);
    if (!value || !*value)
        return 0;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].suffix) == 0 && isdigit((unsigned char)*value) && number > 0 && errno == 0 &&
            number <= UINT64_MAX >> units[i].shift) {
            *ret_bytes = (uint64_t)number << units[i].shift;
            return 0;
        }
    }
    return refuse(variable, value, "a number of bytes, optionally with KiB, MiB, GiB or TiB");
}

static int parse_scale(const char *variable, double *ret_scale)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return 0;
    char *end;
    double scale = strtod(value, &end);
    if (*end || !(scale > 0))
        return refuse(variable, value, "a number above 0");
    *ret_scale = scale;
    return 0;
}

/* "N" or "N+" at `text`, up to `stop`. */
static int parse_nth(const char *text, const char *stop, uint64_t *ret_nth, bool *ret_onwards)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    *ret_onwards = end < stop && *end == '+';
    if (*ret_onwards)
        end++;
    *ret_nth = n;
    return end == stop && n > 0 && isdigit((unsigned char)*text) ? 0 : -EINVAL;
}

/* "cuMemMap:3=CUDA_ERROR_OUT_OF_MEMORY" */
static int add_fault(char *entry)
{
    char *colon = strchr(entry, ':'), *equals = strchr(entry, '=');
    struct fault f = {0};
    if (!colon || !equals || colon > equals || parse_nth(colon + 1, equals, &f.nth, &f.onwards) < 0)
        return -EINVAL;
    if (errors_parse(equals + 1, &f.result) < 0)
        return -EINVAL;
    *colon = 0;
    for (char *version; (version = strrchr(entry, '_')) && (isdigit((unsigned char)version[2]) || version[1] == 'p');)
        *version = 0; /* cuMemMap_v2, cuMemcpy_ptds: the plain name is what is counted */
    f.name = strdup(entry);
    struct fault *more = realloc(faults, (fault_count + 1) * sizeof *faults);
    if (!f.name || !more)
        return -ENOMEM;
    faults = more;
    faults[fault_count++] = f;
    return 0;
}

static int add_sabotage(char *entry)
{
    char *colon = strchr(entry, ':');
    struct sabotage_rule rule = {0};
    if (!colon || parse_nth(colon + 1, colon + strlen(colon), &rule.nth, &rule.onwards) < 0)
        return -EINVAL;
    *colon = 0;
    while (rule.kind < SABOTAGE_COUNT && strcmp(entry, sabotage_names[rule.kind]) != 0)
        rule.kind++;
    if (rule.kind == SABOTAGE_COUNT)
        return -EINVAL;
    struct sabotage_rule *more = realloc(sabotages, (sabotage_count + 1) * sizeof *sabotages);
    if (!more)
        return -ENOMEM;
    sabotages = more;
    sabotages[sabotage_count++] = rule;
    return 0;
}

static int parse_list(const char *variable, int (*add)(char *), const char *accepted)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return 0;
    char *copy = strdup(value), *rest = copy;
    int r = copy ? 0 : -ENOMEM;
    while (r == 0 && rest) {
        char *entry = strsep(&rest, ",");
        if (*entry && add(entry) < 0)
            r = refuse(variable, value, accepted);
    }
    free(copy);
    return r;
}

static int parse_order(void)
{
    const char *value = getenv("SIMGPU_ORDER");
    if (!value || !*value || strcmp(value, "strict") == 0)
        settings.order = ORDER_STRICT;
    else if (strcmp(value, "report") == 0)
        settings.order = ORDER_REPORT;
    else if (strcmp(value, "off") == 0)
        settings.order = ORDER_OFF;
    else
        return refuse("SIMGPU_ORDER", value, "strict, report, off");
    return 0;
}

static int parse_block_order(void)
{
    const char *value = getenv("SIMGPU_BLOCK_ORDER");
    if (!value || !*value || strcmp(value, "ascending") == 0)
        settings.vary_blocks = false;
    else if (strcmp(value, "varying") == 0)
        settings.vary_blocks = true;
    else
        return refuse("SIMGPU_BLOCK_ORDER", value, "ascending, varying");
    return 0;
}

static int parse_aliases(void)
{
    const char *value = getenv("SIMGPU_ALIASES");
    if (!value || !*value || strcmp(value, "all") == 0)
        settings.aliases = ALIASES_ALL;
    else if (strcmp(value, "newest") == 0)
        settings.aliases = ALIASES_NEWEST;
    else if (strcmp(value, "written") == 0)
        settings.aliases = ALIASES_WRITTEN;
    else
        return refuse("SIMGPU_ALIASES", value, "all, newest, written");
    return 0;
}

static int parse_switch(const char *variable, bool *ret_on)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return 0;
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return refuse(variable, value, "0 or 1");
    *ret_on = *value == '1';
    return 0;
}

static int parse_bounds(void)
{
    const char *touched = getenv("SIMGPU_TOUCHED");
    int r = parse_switch("SIMGPU_BOUNDS", &settings.bounds);
    if (r == 0 && settings.bounds && touched && *touched)
        return refuse("SIMGPU_BOUNDS", "1", "0 where SIMGPU_TOUCHED is set");
    return r;
}

static int parse_count(const char *variable, unsigned long most, const char *accepted, unsigned *ret_count)
{
    const char *value = getenv(variable);
    char *end;
    if (!value)
        return 0;
    unsigned long count = strtoul(value, &end, 10);
    if (end == value || *end || *value == '-' || count == 0 || count > most)
        return refuse(variable, value, accepted);
    *ret_count = (unsigned)count;
    return 0;
}

static int parse_window(void)
{
    const char *value = getenv("SIMGPU_WINDOW");
    char *end;
    if (!value || !*value)
        return 0;
    settings.window = strtoull(value, &end, 16);
    if (*end || *value == '-' || settings.window == 0 || settings.window % (UINT64_C(1) << 32))
        return refuse("SIMGPU_WINDOW", value, "a multiple of 4 GiB as a hexadecimal address");
    return 0;
}

static int parse_devices(void)
{
    uint64_t devices = 1;
    if (parse_bytes("SIMGPU_DEVICES", &devices) < 0 || devices > 16)
        return refuse("SIMGPU_DEVICES", getenv("SIMGPU_DEVICES"), "1 to 16");
    settings.devices = (int)devices;
    return 0;
}

/* "h2d:1.2@300": from 300 ms on. */
static int add_slower_link(char *entry)
{
    struct slower_link *link = strncmp(entry, "h2d:", 4) == 0   ? &settings.slower_h2d
                               : strncmp(entry, "d2h:", 4) == 0 ? &settings.slower_d2h
                                                                : NULL;
    char *end = entry;
    if (!link)
        return -EINVAL;
    link->times = strtod(entry + 4, &end);
    if (end == entry + 4 || *end != '@' || !(link->times > 0))
        return -EINVAL;
    const char *from = end + 1;
    link->from_ns = strtod(from, &end) * 1e6;
    return end > from && !*end && link->from_ns >= 0 ? 0 : -EINVAL;
}

/* The name of a file, with %p replaced by the process id. */
static char *path_of(const char *variable)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return NULL;
    char *path = NULL;
    const char *percent = strstr(value, "%p");
    if (!percent)
        return strdup(value);
    if (asprintf(&path, "%.*s%d%s", (int)(percent - value), value, getpid(), percent + 2) < 0)
        return NULL;
    return path;
}

int settings_read(void)
{
    char message[512];
    settings = (struct settings){.granularity_bytes = 2 << 20, .scale_bytes = 1, .scale_ops = 1, .host_numa = true};
    if (profile_read(getenv("SIMGPU_PROFILE"), &settings.profile, message, sizeof message) < 0) {
        fprintf(stderr, "simgpu: %s\n", message);
        return -EINVAL;
    }
    settings.memory_bytes = (uint64_t)settings.profile.memory_bytes;
    if (parse_bytes("SIMGPU_MEMORY", &settings.memory_bytes) < 0 ||
        parse_bytes("SIMGPU_GRANULARITY", &settings.granularity_bytes) < 0 ||
        parse_scale("SIMGPU_SCALE_BYTES", &settings.scale_bytes) < 0 ||
        parse_scale("SIMGPU_SCALE_OPS", &settings.scale_ops) < 0 || parse_order() < 0 || parse_aliases() < 0 ||
        parse_block_order() < 0 || parse_count("SIMGPU_IDLE", 1000, "milliseconds, 1 to 1000", &settings.idle_ms) < 0 ||
        parse_count("SIMGPU_LINGER", 10000, "microseconds, 1 to 10000", &settings.linger_us) < 0 ||
        parse_count("SIMGPU_QUERIES", 1000000, "a number of queries, 1 to 1000000", &settings.queries) < 0 ||
        parse_devices() < 0 || parse_window() < 0 || parse_switch("SIMGPU_HOST_NUMA", &settings.host_numa) < 0 ||
        parse_switch("SIMGPU_CAPTURE_ELSEWHERE", &settings.capture_elsewhere) < 0 || parse_bounds() < 0 ||
        parse_list("SIMGPU_SLOWER_LINK", add_slower_link, "h2d:TIMES@MS or d2h:TIMES@MS, separated by commas") < 0 ||
        parse_list("SIMGPU_FAIL", add_fault, "cuName:N=CODE or cuName:N+=CODE, separated by commas") < 0 ||
        parse_list(
            "SIMGPU_SABOTAGE", add_sabotage,
            "KIND:N or KIND:N+ with skip-copy, truncate-copy, drop-wait, wrong-map, stale-map, early-event, skip-kernel") <
            0)
        return -EINVAL;
    if (settings.granularity_bytes & (settings.granularity_bytes - 1) || settings.granularity_bytes < 4096)
        return refuse("SIMGPU_GRANULARITY", getenv("SIMGPU_GRANULARITY"), "a power of two, 4 KiB or more");
    settings.layouts_path = path_of("SIMGPU_LAYOUTS");
    if (settings.layouts_path && access(settings.layouts_path, R_OK) < 0)
        return refuse("SIMGPU_LAYOUTS", settings.layouts_path, "a file that can be read");
    settings.images_path = path_of("SIMGPU_IMAGES");
    settings.launched_path = path_of("SIMGPU_LAUNCHED");
    settings.digests_path = path_of("SIMGPU_DIGESTS");
    settings.stats_path = path_of("SIMGPU_STATS");
    settings.touched_path = path_of("SIMGPU_TOUCHED");
    settings.chronicle_path = path_of("SIMGPU_CHRONICLE");
    return 0;
}

CUresult settings_fault(const char *name)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->name, name) != 0)
            continue;
        f->seen++;
        if (result == CUDA_SUCCESS && (f->seen == f->nth || (f->onwards && f->seen > f->nth)))
            result = f->result;
    }
    return result;
}

bool settings_sabotage(enum sabotage kind)
{
    if (sabotage_count == 0)
        return false;
    uint64_t n = ++operations_seen[kind];
    for (size_t i = 0; i < sabotage_count; i++)
        if (sabotages[i].kind == kind && (sabotages[i].nth == n || (sabotages[i].onwards && n > sabotages[i].nth)))
            return true;
    return false;
}

const char *settings_fault_seen(size_t i, uint64_t *ret_seen)
{
    if (i >= fault_count)
        return NULL;
    *ret_seen = faults[i].seen;
    return faults[i].name;
}

const char *settings_sabotage_seen(enum sabotage kind, uint64_t *ret_seen)
{
    *ret_seen = operations_seen[kind];
    return sabotage_names[kind];
}
