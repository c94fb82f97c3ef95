/* restless.c - preloaded beside spillway: a thread of its own that sets another budget every few milliseconds, between
 * RESTLESS_LOW and RESTLESS_HIGH bytes, says that iterations begin, and asks for the summary. What must hold after each is
 * checked here; the counts are printed to stderr at the end. With RESTLESS_ONCE it sets RESTLESS_LOW once, when so many
 * iterations have gone by plan. */
#include "spillway.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_bool ends;
static pthread_t thread;
static bool is_there;
static unsigned set, refused, wrong;
static _Thread_local char text[1 << 20];
static uint64_t low, high, after; /* RESTLESS_LOW, RESTLESS_HIGH, RESTLESS_ONCE */

/* Read in the constructor, where there is one thread: spillway's own constructor calls setenv(). */
static bool has_number(const char *name, uint64_t *number)
{
    const char *given = getenv(name);
    *number = given ? strtoull(given, NULL, 10) : 0;
    return given;
}

/* The number behind a member's name, the first of it. */
static unsigned long long member(const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void look(uint64_t asked)
{
    uint64_t budget = 0;
    long length = spillway_report(text, sizeof(text));
    if (length <= 0 || (size_t)length != strlen(text) || spillway_get_budget(0, &budget) != 0 || budget != asked ||
        member("\"physical_bytes\": ") + member("\"foreign_bytes\": ") > asked)
        wrong++;
}

static void *work_once(void *unused)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    while (!atomic_load(&ends) && !set) {
        nanosleep(&moment, NULL);
        if (!spillway_active() || spillway_report(text, sizeof(text)) <= 0 || member("\"planned_iterations\": ") < after)
            continue;
        set += spillway_set_budget(0, low, NULL) == 0;
        look(low);
    }
    return NULL;
}

static void *work(void *unused)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    uint64_t random = 88172645463325252;
    while (!atomic_load(&ends)) {
        uint64_t smallest = 0, before = 0, after = 0;
        nanosleep(&moment, NULL);
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const uint64_t asked = (low + random % (high - low)) >> 16 << 16;
        if (!spillway_active() || spillway_get_budget(0, &before) != 0)
            continue;
        const int r = spillway_set_budget(0, asked, &smallest);
        if (r == 0) {
            set++;
            look(asked);
        } else {
            refused++;
            wrong += smallest <= asked || spillway_get_budget(0, &after) != 0 || after != before;
        }
        (void)spillway_step();
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const bool once = has_number("RESTLESS_ONCE", &after), between = has_number("RESTLESS_HIGH", &high);
    is_there = spillway_is_there() && has_number("RESTLESS_LOW", &low) && (once || between) &&
               pthread_create(&thread, NULL, once ? work_once : work, NULL) == 0;
}

__attribute__((destructor)) static void end(void)
{
    if (!is_there)
        return;
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    fprintf(stderr, "restless: %u set, %u refused, %u wrong\n", set, refused, wrong);
}
