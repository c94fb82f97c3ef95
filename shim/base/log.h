/* log.h - writes spillway's messages to people: a few lines on stderr or in a file, each beginning with "spillway: ".
 *
 * May be called by any thread and with locks held: a line is formatted on the stack and written at once. Nothing is
 * allocated, nothing fails, and errno is preserved. */
#ifndef SPILLWAY_SHIM_LOG_H
#define SPILLWAY_SHIM_LOG_H
#include "see.h"
#include <stdbool.h>
#include <stdint.h>

enum spw_log_level { SPW_LOG_QUIET, SPW_LOG_WARN, SPW_LOG_INFO, SPW_LOG_DEBUG };

/* Sets which levels are written, and to which file; NULL is stderr. The file is appended to; if it cannot be opened, stderr
 * is used, with a message. Until this is called, warnings go to stderr. */
void spw_log_setup(enum spw_log_level level, const char *file);
int spw_log_enabled(enum spw_log_level level);

void spw_log(enum spw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define spw_warn(...)  spw_log(SPW_LOG_WARN, __VA_ARGS__)
#define spw_info(...)  spw_log(SPW_LOG_INFO, __VA_ARGS__)
#define spw_debug(...) spw_log(SPW_LOG_DEBUG, __VA_ARGS__)

/* Warns once for each flag; `flag` points to a static int that begins as 0. */
#define spw_warn_once(flag, ...) \
    do { \
        if (!__atomic_exchange_n((flag), 1, __ATOMIC_RELAXED)) \
            spw_warn(__VA_ARGS__); \
    } while (0)

/* State for warnings about an amount that was requested in vain. A program that lives with refusals gets many. A request
 * for the same amount as the last reported one says nothing new, and of amounts that are not the largest so far only a few
 * are reported. */
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

/* `told` points to a static struct that begins as {0}; callers of one place exclude each other. */
#define spw_warn_of(told, amount, ...) \
    do { \
        if (spw_log_is_worth(told, amount)) \
            spw_warn(__VA_ARGS__); \
    } while (0)
#endif
