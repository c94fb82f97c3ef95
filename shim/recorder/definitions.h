/* definitions.h - writes the records that say what a number in a trace stands for: devices, streams, kernels, stacks and
 * the libraries that they point into. Each is written before the first record that uses the number.
 *
 * Asking the driver is one step, without the recorder's lock; writing the record is another, with it. */
#ifndef SPILLWAY_SHIM_DEFINITIONS_H
#define SPILLWAY_SHIM_DEFINITIONS_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../trace/record.h"
#include "kernel_types.h"
#include "ours.h"
#include "recorder_lock.h"
#include "sites.h"

struct spw_stream_facts {
    CUstream handle;   /* CU_STREAM_LEGACY for 0 */
    CUcontext context; /* NULL: the driver does not know the stream */
    uint64_t owner;    /* of a default stream: tells it apart from those of other contexts and threads */
    uint32_t device, flags;
    int32_t priority;
    uint32_t number; /* 0: not known yet */
};

/* Streams that this thread used lately, in a small hash table. */
struct spw_stream_met {
    struct spw_stream_facts facts; /* handle 0: an empty place */
    uint64_t generation;
};
enum { SPW_STREAMS_MET = 16 };
extern _Thread_local struct spw_stream_met spw_streams_met[SPW_STREAMS_MET] SPW_OURS
    __attribute__((tls_model("initial-exec")));
extern atomic_ullong spw_facts_generation SPW_OURS;

void spw_stream_ask(struct spw_stream_met *met, CUstream handle);

/* Returns what the driver says of the stream that `stream` means for this thread. Remembered for each thread, so it usually
 * needs no driver call. Valid until this thread asks again. No lock held. */
static inline struct spw_stream_facts *spw_stream_facts_of(CUstream stream)
{
    CUstream handle = stream ? stream : CU_STREAM_LEGACY;
    struct spw_stream_met *m = &spw_streams_met[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % SPW_STREAMS_MET];
    if (__builtin_expect(m->facts.handle != handle ||
                             m->generation != atomic_load_explicit(&spw_facts_generation, memory_order_relaxed),
                         0))
        spw_stream_ask(m, handle);
    return &m->facts;
}

uint32_t spw_stream_find_number_locked(struct spw_stream_facts *facts);

/* Returns the stream's number; 0 if there is no memory for it. */
static inline uint32_t spw_stream_number_locked(struct spw_stream_facts *facts)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    return facts->number ? facts->number : spw_stream_find_number_locked(facts);
}

/* Writes the device's records, unless they are in the trace already. */
void spw_define_device_locked(uint32_t device);

uint32_t spw_event_number_locked(CUevent event);

/* Kernels that were launched lately, in a small hash table. */
struct spw_function_met {
    CUfunction function;
    uint32_t number;
    const struct spw_kernel_types *types; /* what the types of its parameters say; NULL: nothing */
};
enum { SPW_FUNCTIONS_MET = 256 };
extern struct spw_function_met spw_functions_met[SPW_FUNCTIONS_MET] SPW_OURS;

uint32_t spw_function_find_locked(CUfunction f);

static inline const struct spw_function_met *spw_function_place(CUfunction f)
{
    return &spw_functions_met[((uintptr_t)f >> 4 ^ (uintptr_t)f >> 12) % SPW_FUNCTIONS_MET];
}

/* Returns the number of a kernel, or 0 if it has not been met yet: then call spw_function_ask(), without the lock, and
 * spw_function_number_locked(). */
static inline uint32_t spw_function_known_locked(CUfunction f)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    const struct spw_function_met *m = spw_function_place(f);
    return m->function == f && m->number ? m->number : spw_function_find_locked(f);
}

/* Returns what the types of a kernel say that has a number and was asked about last; NULL: nothing. */
static inline const struct spw_kernel_types *spw_function_types_locked(CUfunction f)
{
    const struct spw_function_met *m = spw_function_place(f);
    return m->function == f ? m->types : NULL;
}

struct spw_function_facts {
    CUfunction function;
    bool parsed;
    char name[SPW_RECORD_TEXT + 1];
    struct spw_kernel_types types;
};
void spw_function_ask(CUfunction f, struct spw_function_facts *ret_facts);
uint32_t spw_function_number_locked(const struct spw_function_facts *facts);

void spw_define_site_locked(uint32_t site, const struct spw_stack *stack);
void spw_define_process_locked(void);

/* Forget handles that exist no more. */
void spw_stream_number_gone_locked(CUstream stream);
void spw_event_number_gone_locked(CUevent event);
void spw_function_numbers_gone_locked(void);
void spw_context_numbers_gone_locked(void);

/* Call when the calling thread has made another context current. */
void spw_stream_facts_changed(void);

void spw_definitions_reset(void); /* for tests and forked children */

/* Puts a record into the trace; the recorder defines it. */
void spw_record_put_locked(const struct spw_record *record);
#endif
