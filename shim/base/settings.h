/* settings.h - what a user can set: one table (settings.c) of names, types, defaults and help, read from the environment.
 *
 * It does not depend on CUDA, so the tools share it. Parsing is strict: a value that is not understood is refused, with the
 * name, the value and what is accepted. */
#ifndef SPILLWAY_SHIM_SETTINGS_H
#define SPILLWAY_SHIM_SETTINGS_H
#include "log.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_SETTINGS_DEVICES 64
#define SPW_SETTINGS_PATH    1024
#define SPW_SETTINGS_HINT    256

#define SPW_SETTINGS_TIMED_ALL UINT32_MAX
#define SPW_TRACE_FILE         "spillway.%r.%p.trace" /* the default file for a trace */

enum spw_mode { SPW_MODE_SWAP, SPW_MODE_TRACE, SPW_MODE_OFF };

enum spw_plan_setting { SPW_PLAN_ON, SPW_PLAN_WAIT, SPW_PLAN_OFF };

struct spw_amount { /* an amount of memory as the user wrote it */
    enum { SPW_AMOUNT_UNSET, SPW_AMOUNT_BYTES, SPW_AMOUNT_PERCENT } kind;
    uint64_t bytes;
    double percent; /* above 0, up to 100 */
};

/* Reads "8GiB", "8G", "8589934592", "60%". Returns 0 or -EINVAL. */
int spw_amount_parse(const char *text, struct spw_amount *ret_amount);

struct spw_budget {
    struct spw_amount every;                        /* for devices without a budget of their own */
    struct spw_amount device[SPW_SETTINGS_DEVICES]; /* by ordinal */
};

struct spw_settings {
    struct spw_budget budget;
    enum spw_mode mode;
    bool trace;                    /* a trace is written: always in mode trace, and in mode swap if requested */
    enum spw_plan_setting plan;    /* for mode swap */
    bool recompute;                /* as part of a plan */
    bool probe;                    /* find out what can be recomputed even if nothing has to be; the mode is swap then */
    uint32_t verify_every;         /* one recomputation in this many is compared with the true bytes */
    struct spw_amount host_budget; /* UNSET: derived from the machine's limits */
    char driver[SPW_SETTINGS_PATH];
    enum spw_log_level log_level;
    char log_file[SPW_SETTINGS_PATH];     /* "": stderr */
    uint64_t small_bytes;                 /* allocations below this go to slabs; 0: automatic (SPILLWAY_SMALL) */
    uint32_t timed_iterations;            /* in mode trace: how many are timed; SPW_SETTINGS_TIMED_ALL: all operations */
    char hint_kernel[SPW_SETTINGS_HINT];  /* part of the name of the kernel that begins an iteration; "": none */
    char hint_range[SPW_SETTINGS_HINT];   /* name of the NVTX range that begins one, maybe with * at its end; "": none */
    char trace_file[SPW_SETTINGS_PATH];   /* with %r and %p already replaced */
    bool profile;                         /* keep what is learned for the next run */
    char profile_file[SPW_SETTINGS_PATH]; /* "": in the user's cache folder */
    char summary[SPW_SETTINGS_PATH];      /* file for the summary at exit, as JSON, with %r and %p already replaced; "":
                                           * none */
};

/* One line of the table: what --help, the man page, docs/settings.md and error messages say about a setting. */
struct spw_setting {
    const char *variable; /* "SPILLWAY_BUDGET" */
    const char *option;   /* "budget" */
    const char *value;    /* stands for the value in help: "AMOUNT"; lower-case words are literal: "swap|trace|off" */
    const char *fallback; /* the default, for people */
    const char *accepted; /* what is accepted, for people; follows "accepted: " */
    const char *help;
    int (*parse)(const char *value, struct spw_settings *settings); /* 0, or -EINVAL */
};
extern const struct spw_setting spw_setting_table[];
extern const size_t spw_setting_count;

/* Returns the rank of this process as its launcher sets it, or "0" without a launcher. */
const char *spw_settings_rank(void);

void spw_settings_default(struct spw_settings *ret_settings);

/* Applies one value as if its variable had been set to it. Returns 0, or -EINVAL with a sentence for the user. */
int spw_setting_take(const struct spw_setting *setting, const char *value, struct spw_settings *settings, char *ret_message,
                     size_t message_size);

/* Reads and checks the environment. Returns 0, or -EINVAL with a sentence for the user in ret_message. In both cases
 * `settings` has what was understood. */
int spw_settings_read(struct spw_settings *settings, char *ret_message, size_t message_size);

/* Returns the settings in force in this process: those that cuInit() found, or the defaults before that. */
const struct spw_settings *spw_settings_get(void);
void spw_settings_use(const struct spw_settings *settings);

/* Sets another budget for one device (0 to SPW_SETTINGS_DEVICES - 1), for later calls of spw_settings_budget_bytes(). The
 * caller makes sure that none is under way. */
void spw_settings_set_budget(int device, uint64_t bytes);

/* Returns true if a budget was set for any device. */
bool spw_settings_ask_for_budget(const struct spw_settings *settings);

/* Returns the budget in bytes of a device that has `total` bytes, `free` of them free. If none is set, that is the free
 * bytes. Never above `total`. */
uint64_t spw_settings_budget_bytes(const struct spw_settings *settings, int device, uint64_t total, uint64_t free);

#endif
