/* log.h - what spillway says to people: a few lines on stderr or in a file, each beginning with "spillway: ".
 *
 * Usable from any thread and with locks held: a line is put together on the stack and written at once; nothing is
 * allocated, nothing fails, errno stays. */
#ifndef SPILLWAY_SHIM_LOG_H
#define SPILLWAY_SHIM_LOG_H
#include "see.h"
#include <stdbool.h>
#include <stdint.h>

enum spw_log_level { SPW_LOG_QUIET, SPW_LOG_WARN, SPW_LOG_INFO, SPW_LOG_DEBUG };

/* What is let through, and to where; NULL is stderr. The file is appended to; when it cannot be opened, stderr is used
 * and said so. Until this is called: warnings, to stderr. */
void spw_log_setup(enum spw_log_level level, const char *file);
int spw_log_enabled(enum spw_log_level level);

void spw_log(enum spw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define spw_warn(...)  spw_log(SPW_LOG_WARN, __VA_ARGS__)
#define spw_info(...)  spw_log(SPW_LOG_INFO, __VA_ARGS__)
#define spw_debug(...) spw_log(SPW_LOG_DEBUG, __VA_ARGS__)

/* A warning that is given once per flag; `flag` is a static int that begins as 0. */
#define spw_warn_once(flag, ...) \
    do { \
        if (!__atomic_exchange_n((flag), 1, __ATOMIC_RELAXED)) \
            spw_warn(__VA_ARGS__); \
    } while (0)

/* A warning about an amount that something asked for in vain. A program that lives with refusals gets many: one that asks
 * for as much as the last one told of says nothing new, and of amounts that are not the largest so far a few are enough. */
struct spw_log_threshold {
    uint64_t last, most;
    unsigned times;
};

static inline bool spw_log_is_worth(struct spw_log_threshold *told, uint64_t amount)
{
    enum { TIMES = 16 };
    if (amount == told->last || (amount <= told->most && told->times >= TIMES))
        return false;
    told->last = amount;
    if (told->most < amount)
        told->most = amount;
    told->times++;
    return true;
}

#define SPW_MIB(bytes) ((double)(bytes) / (1 << 20)) /* for messages */

/* `told` is static and begins as {0}; callers of one place exclude each other. */
#define spw_warn_of(told, amount, ...) \
    do { \
        if (spw_log_is_worth(told, amount)) \
            spw_warn(__VA_ARGS__); \
    } while (0)
#endif
