/* doctor_host.c - checks the settings that a program would run with, and the host memory that it could pin. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "doctor.h"
#include "hostlimit.h"
#include "shown.h"

/* ---- settings ---- */

/* Advises to unset the variable with which a message about settings begins. */
static void advise_unset(struct facts *facts, const char *message)
{
    char line[300];
    snprintf(line, sizeof(line), "unset %.*s", (int)strcspn(message, "="), message);
    facts_advise(facts, line, "spillway run refuses to start, and a preloaded program gets CUDA_ERROR_INVALID_VALUE");
}

void doctor_settings(struct facts *facts, struct spw_settings *ret_settings)
{
    char message[1024];
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        const char *value = getenv(s->variable);
        facts_add(facts, "settings", s->variable, value ? shown_string(value) : NULL, s->variable, "%s%s",
                  value ? value : s->fallback, value ? "" : " (default)");
    }
    if (spw_settings_read(ret_settings, message, sizeof(message)) < 0) {
        facts_problem(facts, "settings", "%s", message);
        advise_unset(facts, message);
    } else if (ret_settings->mode == SPW_MODE_OFF) {
        facts_advise(facts, "unset SPILLWAY_MODE", "with SPILLWAY_MODE=off spillway does nothing");
    }
}

/* ---- host memory ---- */

static void add_bytes(struct facts *facts, const char *key, const char *label, int64_t bytes)
{
    if (bytes == SPW_HOSTLIMIT_UNKNOWN)
        facts_add(facts, "host", key, NULL, label, "no limit known");
    else
        facts_add(facts, "host", key, json_integer(bytes), label, "%s", facts_bytes((uint64_t)bytes));
}

static void add_locked_limit(struct facts *facts)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        facts_add(facts, "host", "locked_limit_bytes",
                  limit.rlim_cur == RLIM_INFINITY ? NULL : json_integer((json_int_t)limit.rlim_cur),
                  "limit of locked memory", "%s; the driver pins past it",
                  limit.rlim_cur == RLIM_INFINITY ? "none" : facts_bytes(limit.rlim_cur));
}

/* Returns the memory of the largest device; 0 if there is none. */
static uint64_t largest_device(const struct facts *facts)
{
    const json_t *devices = facts_value(facts, "driver", "devices"), *device;
    uint64_t largest = 0;
    size_t i;
    json_array_foreach(devices, i, device)
    {
        uint64_t bytes = (uint64_t)json_integer_value(json_object_get(device, "total_bytes"));
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static int64_t budget_in_force(const struct spw_settings *settings, int64_t available, unsigned ranks)
{
    const struct spw_amount *asked = &settings->host_budget;
    if (asked->kind == SPW_AMOUNT_BYTES)
        return (int64_t)asked->bytes;
    if (asked->kind == SPW_AMOUNT_PERCENT && available != SPW_HOSTLIMIT_UNKNOWN)
        return (int64_t)((double)available * asked->percent / 100);
    return spw_hostlimit_default_budget(available, ranks);
}

/* Gives advice if the budget exceeds what is available, or is small beside the device although more is available. */
static void advise_budget(struct facts *facts, int64_t budget, int64_t available, unsigned ranks)
{
    enum { SHARE = 4 }; /* of the device's memory: with less, only little of it can be evicted */
    char line[100];
    uint64_t device = largest_device(facts);
    if (available == SPW_HOSTLIMIT_UNKNOWN) {
        if (budget == 0)
            facts_advise(facts, "export SPILLWAY_HOST_BUDGET=8G   # or what the host can spare",
                         "what the host can give is not known, so nothing would be pinned");
        return;
    }
    int64_t most = available / 10 * 8 / ranks;
    bool large = most >> 30 >= 4;
    snprintf(line, sizeof(line), "export SPILLWAY_HOST_BUDGET=%lld%c", (long long)(large ? most >> 30 : most >> 20),
             large ? 'G' : 'M');
    if (budget > available / ranks)
        facts_advise(facts, line, "the host budget of %s is more than the %s that are left here for each process",
                     facts_bytes((uint64_t)budget), facts_bytes((uint64_t)(available / ranks)));
    else if (device && (uint64_t)budget < device / SHARE && most > budget)
        facts_advise(facts, line, "the host budget of %s is small beside a device with %s: no more than that can leave it%s",
                     facts_bytes((uint64_t)budget), facts_bytes(device),
                     (uint64_t)most < device / SHARE ? ", and this machine or control group has little more to give" : "");
}

void doctor_host(struct facts *facts, const struct spw_settings *settings)
{
    struct spw_hostlimit limit;
    unsigned ranks = spw_hostlimit_local_ranks(getenv);
    int64_t available = spw_hostlimit_available("/");
    int64_t budget = budget_in_force(settings, available, ranks);
    spw_hostlimit_read("/", &limit);
    add_bytes(facts, "machine_bytes", "machine leaves", limit.machine_bytes);
    add_bytes(facts, "cgroup_bytes", "control group leaves", limit.cgroup_bytes);
    facts_add(facts, "host", "local_ranks", json_integer(ranks), "processes that share it", "%u", ranks);
    add_bytes(facts, "default_budget_bytes", "default host budget", spw_hostlimit_default_budget(available, ranks));
    add_bytes(facts, "budget_bytes", "host budget in force", budget);
    add_locked_limit(facts);
    advise_budget(facts, budget, available, ranks);
}
