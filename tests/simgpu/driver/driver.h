/* driver.h - how every call comes in and goes out: the one lock, the checks that each call shares, live handles. */
#ifndef SIMGPU_DRIVER_DRIVER_H
#define SIMGPU_DRIVER_DRIVER_H
#include <cuda.h>
#include <stdbool.h>

#include "objects.h"
#include "settings.h"

#define SIMGPU_EXPORT __attribute__((visibility("default")))

extern const int driver_age; /* the version of CUDA that this driver is of: cuGetProcAddress() knows nothing newer */

enum needs {
    NEEDS_NOTHING, /* works before cuInit() */
    NEEDS_INIT,
    NEEDS_CONTEXT /* a current context that has not failed */
};

struct call { /* one call of the API, between enter and leave */
    struct context *context;
};

/* Takes the lock, counts the call for SIMGPU_FAIL, lets the host clock and the device advance, checks `needs`.
 * driver_leave() must follow whatever the result. `name` is the name without version suffix. */
CUresult driver_enter(struct call *call, const char *name, enum needs needs);
/* Gives the lock back; returns `result`. */
CUresult driver_leave(struct call *call, CUresult result);

/* Gives the lock back for a moment while something outside runs, and takes it again. */
void driver_unlock(void);
void driver_lock(void);

CUresult driver_init(void);
bool driver_is_live(void); /* initialised, in this process */

/* The context on top of this thread's stack, or NULL. */
struct context *context_current(void);
CUresult context_push(struct context *context);
struct context *context_pop(void);
void context_set_current(struct context *context); /* NULL empties the top */
CUresult context_create(struct device *device, unsigned flags, bool primary, struct context **ret_context);
void context_destroy(struct context *context);
/* The device of that number, or NULL. */
struct device *device_find(CUdevice ordinal);

/* Whether the call of that name, without version suffix, is one that captures may prohibit. */
bool call_is_unsafe(const char *name);
/* Counts a call of that name in a thread that a capture elsewhere would bind; the counts by name, 0 for those never called:
 * NULL behind the last one. */
void call_count_bound(const char *name);
const char *call_bound(size_t i, uint64_t *ret_count);

enum handle {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_LIBRARY,
    HANDLE_KERNEL,
    HANDLE_POOL,
    HANDLE_PHYSICAL,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_USER_OBJECT
};

int handle_add(enum handle kind, const void *object); /* 0 or -ENOMEM */
void handle_remove(const void *object);
bool handle_is(enum handle kind, const void *object);

/* Between the two, stream 0 of this thread's calls is its own default stream (the _ptds and _ptsz entry points). */
void per_thread_begin(void);
void per_thread_end(void);
bool per_thread_default(void);
/* Set while this thread carries out a host function, which may call nothing. */
void host_function_begin(void);
void host_function_end(void);
#endif
