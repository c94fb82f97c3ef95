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
    ALIASES_NEWEST,  /* at the newest only */
    ALIASES_WRITTEN, /* at each; what is read must have been written last at the same one */
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
    uint64_t window; /* where the device's addresses are to begin; 0: at the usual place */
    double scale_bytes, scale_ops;
    bool host_numa;
    bool bounds;      /* kernels with footprints may touch nothing else */
    bool vary_blocks; /* the blocks of a launch run in an order of its own */
    enum order_mode order;
    unsigned idle_ms;       /* real time without a call after which the device goes on by itself; 0: never */
    unsigned linger_us;     /* real time that a call which waits takes before it looks at the device */
    unsigned queries;       /* that a host makes one after the other before it need not make them all; 0: it always has to */
    bool capture_elsewhere; /* as if another thread captured in global mode all the time: who is not relaxed is counted */
    enum alias_mode aliases;
    struct slower_link {
        double times, from_ns; /* copies that begin from then on take so many times as long; 0 times: none do */
    } slower_h2d, slower_d2h;
    char *stats_path, *touched_path, *chronicle_path; /* NULL: none wanted */
    char *layouts_path;                               /* of machine code; NULL: none */
    char *images_path;                                /* where machine code is put that the program made; NULL: nowhere */
    char *launched_path;                              /* where names of opaque kernels are listed; NULL: nowhere */
    char *digests_path;                               /* where their launches are; NULL: nowhere */
};

extern struct settings settings;

/* 0, or -EINVAL with a sentence on stderr. */
int settings_read(void);
/* The result that SIMGPU_FAIL wants for this call of `name`, CUDA_SUCCESS for none; counts the call. */
CUresult settings_fault(const char *name);
/* Whether this operation is the one that SIMGPU_SABOTAGE chose; counts the operation. */
bool settings_sabotage(enum sabotage kind);

/* For the counts at exit. Entry `i` of SIMGPU_FAIL: its call, and how often that was called; NULL behind the last one. */
const char *settings_fault_seen(size_t i, uint64_t *ret_seen);
/* The kind's name in SIMGPU_SABOTAGE, and how many operations it could have chosen: 0 where no kind was asked for. */
const char *settings_sabotage_seen(enum sabotage kind, uint64_t *ret_seen);
#endif
