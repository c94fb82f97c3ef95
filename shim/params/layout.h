/* layout.h - what the parameters of a kernel look like: which words of them could be addresses.
 *
 * A layout is what the driver tells (cuFuncGetParamInfo, cuKernelGetParamInfo: offset and size of each parameter, CUDA
 * 12.4 and newer), brought into the form that the scan reads. Equal layouts are one object, and a layout is never
 * freed, so a pointer to one stays good after its module is unloaded. */
#ifndef SPILLWAY_SHIM_LAYOUT_H
#define SPILLWAY_SHIM_LAYOUT_H
#include "ours.h"
#include "param.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_struct;

/* What a word in a structure of parameters was once given, or-ed: what is neither nothing nor the address of something
 * alive; nothing. */
enum { SPW_PLACE_DOUBTED = 1, SPW_PLACE_EMPTY = 2 };

struct spw_layout {
    bool known;   /* false: the driver could not tell; all counts are 0 */
    bool plain;   /* known, no spans and not watched: nothing but words to look at */
    bool watched; /* what its launches store is to be looked at (seek.h) */
    bool loose;   /* some span is not made of aligned words only: its words begin at multiples of 4 */
    uint16_t param_count;
    uint16_t word_count;   /* parameters of exactly one word: nearly all pointers */
    uint16_t span_count;   /* longer ones: structs, tensor maps */
    uint16_t image_bytes;  /* end of the last parameter */
    uint16_t struct_count; /* of the longer ones, those that are known for what they are */
    uint64_t numbers;      /* a bit for each parameter that no address is in, by the function's name: of the first 64 */
    const uint16_t *words; /* indexes of parameters; those shorter than 8 bytes and `numbers` are in neither list */
    const uint16_t *spans;
    const struct spw_param *params; /* all of them, by index */
    /* Of functions with spans, which share layouts only where they have the same name: what is known of each word of the
     * image (scan.h). NULL: nothing is noted. Any thread, no lock. */
    _Atomic uint8_t *places;
    const struct spw_struct *structs; /* parameters that are known by the function's name, in order (structs.h) */
};

#define SPW_PARAMS_MAX_BYTES 32764 /* the driver's limit for all parameters of one launch */

/* Functions by handle: read without a lock, changed under one. A slot's key is set once in the life of a table, after
 * its layout; a forgotten function keeps its slot with a NULL layout. Outgrown tables are kept, since a reader may be
 * in one. */
struct spw_layout_slot {
    _Atomic(CUfunction) key;
    _Atomic(const struct spw_layout *) layout;
};

struct spw_layout_table {
    size_t mask; /* slots - 1 */
    struct spw_layout_table *outgrown;
    struct spw_layout_slot slots[];
};

extern _Atomic(struct spw_layout_table *) spw_layout_functions SPW_OURS;

/* Whether no address is in that parameter, whatever it looks like. */
static inline bool spw_layout_is_number(const struct spw_layout *layout, unsigned param)
{
    return param < 64 && layout->numbers >> param & 1;
}

static inline size_t spw_layout_hash(CUfunction f)
{
    return ((uintptr_t)f * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/* The way of spw_layout_of() when the function is not where it is looked for first: asks the driver if need be. */
const struct spw_layout *spw_layout_find(CUfunction f);

/* The layout of a function, or of a CUkernel cast to one, as launches take both. Never NULL; where the driver can't
 * tell, `known` is false. Any thread; no lock is taken for a function that was seen before. */
static inline const struct spw_layout *spw_layout_of(CUfunction f)
{
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_acquire);
    if (t) {
        struct spw_layout_slot *s = &t->slots[spw_layout_hash(f) & t->mask];
        if (atomic_load_explicit(&s->key, memory_order_acquire) == f) {
            const struct spw_layout *l = atomic_load_explicit(&s->layout, memory_order_acquire);
            if (l)
                return l;
        }
    }
    return spw_layout_find(f);
}

/* From now on the layouts of all functions are `watched` ones, those of functions to come included. A watched layout says
 * the same otherwise; functions that were forgotten keep the one they had. */
void spw_layout_watch_all(void);

/* The function's alone; one that is not known is not. */
void spw_layout_watch(CUfunction f);
void spw_layout_unwatch(CUfunction f);

void spw_layout_watch_none(void); /* for tests */

/* True when the driver has a call that tells layouts. False on drivers older than 12.4: no launch can be parsed. */
bool spw_layout_supported(void);

/* The mangled name of a function or kernel, for messages: always a string in `buffer`, cut to `size`; the handle in
 * hexadecimal when the driver knows no name. Returns buffer. */
const char *spw_function_name(CUfunction f, char *buffer, size_t size);

/* What the driver handed out. `owner` is the module or library that it came from, NULL when unknown; of a kernel's
 * function give the kernel, and it is owned by the kernel's owner. Without these, a function is found out about by
 * trying. */
void spw_layout_note_function(CUfunction f, const void *owner);
void spw_layout_note_kernel(CUkernel kernel, const void *owner);

/* The module is a part of the library and goes with it. */
void spw_layout_note_part(CUmodule module, CUlibrary library);

/* The library that a module is a part of; else what was given. */
const void *spw_layout_whole(const void *owner);

/* The module or library that a function came from, the whole one, and whether it is a CUkernel. False: unknown. */
bool spw_layout_origin(CUfunction f, const void **ret_owner, bool *ret_is_kernel);

/* A module or library is about to be unloaded, or its handle was just handed out anew: its functions are forgotten. */
void spw_layout_forget(const void *owner);

/* True when the function was seen and not forgotten since. */
bool spw_layout_remembers(CUfunction f);

/* A context is gone with all its modules. */
void spw_layout_forget_all(void);
#endif
