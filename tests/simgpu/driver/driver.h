/* driver.h - how every call begins and ends: the one lock, the checks that all calls share, live handles. */
#ifndef SIMGPU_DRIVER_DRIVER_H
#define SIMGPU_DRIVER_DRIVER_H
#include <cuda.h>
#include <stdbool.h>

#include "objects.h"
#include "settings.h"

#define SIMGPU_EXPORT __attribute__((visibility("default")))

extern const int driver_age; /* the CUDA version of this driver: cuGetProcAddress() knows nothing newer */

enum needs {
    NEEDS_NOTHING, /* works before cuInit() */
    NEEDS_INIT,
    NEEDS_CONTEXT /* a current context without an error */
};

struct call { /* one call of the API, between enter and leave */
    struct context *context;
};

/* Takes the lock, counts the call for SIMGPU_FAIL, advances the host clock and the device, and checks `needs`.
 * driver_leave() must follow whatever the result. `name` is the name without version suffix. */
CUresult driver_enter(struct call *call, const char *name, enum needs needs);
/* Releases the lock; returns `result`. */
CUresult driver_leave(struct call *call, CUresult result);

/* Release the lock while something outside runs, and take it again. */
void driver_unlock(void);
void driver_lock(void);

CUresult driver_init(void);
bool driver_is_live(void); /* it is initialised, in this process */

/* Returns the context on top of this thread's stack, or NULL. */
struct context *context_current(void);
CUresult context_push(struct context *context);
struct context *context_pop(void);
void context_set_current(struct context *context); /* NULL empties the top */
CUresult context_create(struct device *device, unsigned flags, bool primary, struct context **ret_context);
void context_destroy(struct context *context);
/* Returns the device with that number, or NULL. */
struct device *device_find(CUdevice ordinal);

/* Returns true if captures may prohibit the call of that name (without version suffix). */
bool call_is_unsafe(const char *name);
/* Counts a call of that name in a thread that a capture in another thread would restrict. The second function returns the
 * counts by name, 0 for those never called, and NULL after the last. */
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

int handle_add(enum handle kind, const void *object); /* returns 0 or -ENOMEM */
void handle_remove(const void *object);
bool handle_is(enum handle kind, const void *object);

/* Between these two calls, stream 0 of this thread's calls is its own default stream (the _ptds and _ptsz entry points). */
void per_thread_begin(void);
void per_thread_end(void);
bool per_thread_default(void);
/* Set while this thread executes a host function, which may make no calls. */
void host_function_begin(void);
void host_function_end(void);
#endif
