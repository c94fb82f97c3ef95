/* layout.h - the layout of a kernel's parameters: which words of them can be addresses.
 *
 * A layout is made from what the driver says (cuFuncGetParamInfo, cuKernelGetParamInfo: offset and size of each parameter,
 * CUDA 12.4 and newer), in the form that the scan reads. Equal layouts are one object. A layout is never freed, so a
 * pointer to one stays valid after its module is unloaded. */
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

/* What a word in a structure of parameters has ever held, or-ed: a value that is neither 0 nor the address of something
 * live; 0. */
enum { SPW_PLACE_DOUBTED = 1, SPW_PLACE_EMPTY = 2 };

struct spw_layout {
    bool known;   /* false: the driver does not know the parameters; all counts are 0 */
    bool plain;   /* known, without spans and not watched: there are only words to look at */
    bool watched; /* what its launches store has to be searched for addresses (seek.h) */
    bool loose;   /* some span does not consist of aligned words only: its words begin at multiples of 4 */
    uint16_t param_count;
    uint16_t word_count;   /* number of parameters of exactly one word, nearly all of them pointers */
    uint16_t span_count;   /* number of longer parameters: structs, tensor maps */
    uint16_t image_bytes;  /* end of the last parameter */
    uint16_t struct_count; /* number of longer parameters whose structure is known */
    uint64_t numbers;      /* a bit for each of the first 64 parameters that never holds an address, as the function's name
                            * tells */
    const uint16_t *words; /* indexes of parameters; those shorter than 8 bytes and those of `numbers` are in neither list */
    const uint16_t *spans;
    const struct spw_param *params; /* all parameters, by index */
    /* For functions with spans, which share a layout only if they have the same name: what each word of the image has ever
     * held, as above (scan.h). NULL: nothing is noted. Any thread, no lock. */
    _Atomic uint8_t *places;
    const struct spw_struct *structs; /* the parameters whose structure is known from the function's name, in order
                                       * (structs.h) */
};

#define SPW_PARAMS_MAX_BYTES 32764 /* the driver's limit for all parameters of one launch */

/* A hash table of functions by handle, read without a lock and changed under one. A slot's key is set only once in the life
 * of a table, after its layout; a forgotten function keeps its slot with a NULL layout. Outgrown tables are kept, since a
 * reader may still use one. */
struct spw_layout_slot {
    _Atomic(CUfunction) key;
    _Atomic(const struct spw_layout *) layout;
};

struct spw_layout_table {
    size_t mask; /* number of slots minus 1 */
    struct spw_layout_table *outgrown;
    struct spw_layout_slot slots[];
};

extern _Atomic(struct spw_layout_table *) spw_layout_functions SPW_OURS;

/* Returns true if that parameter never holds an address, whatever it looks like. */
static inline bool spw_layout_is_number(const struct spw_layout *layout, unsigned param)
{
    return param < 64 && layout->numbers >> param & 1;
}

static inline size_t spw_layout_hash(CUfunction f)
{
    return ((uintptr_t)f * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/* The slow path of spw_layout_of(), for a function that is not in its first slot. Asks the driver if necessary. */
const struct spw_layout *spw_layout_find(CUfunction f);

/* Returns the layout of a function, or of a CUkernel cast to one, since launches accept both. Never NULL; if the driver
 * does not know the parameters, `known` is false. Any thread; no lock is taken for a function that was seen before. */
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

/* Makes the layouts of all functions watched ones, also those of functions that appear later. A watched layout is the same
 * otherwise. Functions that were forgotten keep the one they had. */
void spw_layout_watch_all(void);

/* The same for one function, and back. No effect on a function that is not in the table. */
void spw_layout_watch(CUfunction f);
void spw_layout_unwatch(CUfunction f);

void spw_layout_watch_none(void); /* for tests */

/* Returns true if the driver has a call that reports parameters. False on drivers older than 12.4: then no launch can be
 * parsed. */
bool spw_layout_supported(void);

/* Returns `buffer` with the mangled name of a function or kernel, truncated to `size`. If the driver knows no name, it
 * holds the handle in hexadecimal. */
const char *spw_function_name(CUfunction f, char *buffer, size_t size);

/* Notes a handle that the driver returned. `owner` is the module or library that it belongs to, or NULL if that is unknown.
 * For the function of a kernel, pass the kernel: the function then belongs to the kernel's owner. Without these notes it is
 * found out by trying whether a handle is a function or a kernel. */
void spw_layout_note_function(CUfunction f, const void *owner);
void spw_layout_note_kernel(CUkernel kernel, const void *owner);

/* Notes that the module is a part of the library and is unloaded with it. */
void spw_layout_note_part(CUmodule module, CUlibrary library);

/* Returns the library that a module is a part of; else `owner` itself. */
const void *spw_layout_whole(const void *owner);

/* Finds the module or library that a function belongs to (the library, if the module is a part of one), and whether it is a
 * CUkernel. Returns false if that is unknown. */
bool spw_layout_origin(CUfunction f, const void **ret_owner, bool *ret_is_kernel);

/* Forgets the functions of a module or library that is about to be unloaded, or whose handle was just returned for another
 * one. */
void spw_layout_forget(const void *owner);

/* Returns true if the function was seen and not forgotten since. */
bool spw_layout_remembers(CUfunction f);

/* Forgets all functions, since a context was destroyed with all its modules. */
void spw_layout_forget_all(void);
#endif
