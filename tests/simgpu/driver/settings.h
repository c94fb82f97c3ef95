/* settings.h - the SIMGPU_... variables, read once at cuInit(). */
#ifndef SIMGPU_DRIVER_SETTINGS_H
#define SIMGPU_DRIVER_SETTINGS_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

enum alias_mode {
    ALIASES_ALL,     /* memory that is mapped several times may be used at each of its addresses */
    ALIASES_NEWEST,  /* only at the newest address */
    ALIASES_WRITTEN, /* at each address; what is read must have been written last at the same one */
};
enum order_mode { ORDER_STRICT, ORDER_REPORT, ORDER_OFF };

/* X(name in SIMGPU_SABOTAGE, what goes wrong) */
#define SIMGPU_SABOTAGE_KINDS(X) \
    X(SKIP_COPY, "skip-copy", "the copy moves nothing") \
    X(TRUNCATE_COPY, "truncate-copy", "the last page of the copy is not moved") \
    X(DROP_WAIT, "drop-wait", "cuStreamWaitEvent() does nothing") \
    X(WRONG_MAP, "wrong-map", "cuMemMap() maps memory that is mapped elsewhere too") \
    X(STALE_MAP, "stale-map", "what was mapped has lost its bytes when it becomes accessible") \
    X(EARLY_EVENT, "early-event", "the recorded event is complete at once") \
    X(SKIP_KERNEL, "skip-kernel", "the kernel doesn't run")

enum sabotage {
#define X(kind, name, meaning) SABOTAGE_##kind,
    SIMGPU_SABOTAGE_KINDS(X)
#undef X
        SABOTAGE_COUNT
};

struct settings {
    struct profile profile;
    int devices;
    uint64_t memory_bytes, granularity_bytes;
    uint64_t window; /* where the device's addresses begin; 0: at the usual place */
    double scale_bytes, scale_ops;
    bool host_numa;
    bool bounds;      /* kernels with footprints may touch nothing else */
    bool vary_blocks; /* each launch runs its blocks in a different order */
    enum order_mode order;
    unsigned idle_ms;   /* real time without calls after which the device goes on by itself; 0: never */
    unsigned linger_us; /* real time that a waiting call takes before it looks at the device */
    /* Number of successive queries after which a host skips those with an unchanged answer; 0: it skips none. */
    unsigned queries;
    /* As if another thread were always capturing in global mode: calls of threads that are not relaxed are counted. */
    bool capture_elsewhere;
    enum alias_mode aliases;
    struct slower_link {
        /* Copies that begin from then on take this many times as long; 0 times: none do. */
        double times, from_ns;
    } slower_h2d, slower_d2h;
    char *stats_path, *touched_path, *chronicle_path; /* NULL: not wanted */
    char *layouts_path;                               /* of machine code; NULL: none */
    /* Folder for machine code that the program made; NULL: none. */
    char *images_path;
    /* File for the names of launched opaque kernels; NULL: none. */
    char *launched_path;
    char *digests_path; /* file for the digests of their launches; NULL: none */
};

extern struct settings settings;

/* Returns 0, or -EINVAL with a sentence on stderr. */
int settings_read(void);
/* Counts the call, and returns the result that SIMGPU_FAIL requests for it; CUDA_SUCCESS: none. */
CUresult settings_fault(const char *name);
/* Counts the operation, and returns true if SIMGPU_SABOTAGE chose it. */
bool settings_sabotage(enum sabotage kind);

/* For the counts at exit: the call of entry `i` of SIMGPU_FAIL, and how often it was called; NULL after the last. */
const char *settings_fault_seen(size_t i, uint64_t *ret_seen);
/* The kind's name in SIMGPU_SABOTAGE, and how many operations it could have chosen: 0 if no kind was requested. */
const char *settings_sabotage_seen(enum sabotage kind, uint64_t *ret_seen);
#endif
