/* nvtx.h - notices where the program's own NVTX ranges begin, for iterations that begin with a range of a certain name.
 *
 * A program's NVTX is header-only and does nothing until, at its first call, it finds NVTX_INJECTION64_PATH in the
 * environment: then it opens the library named there and lets that library fill in its functions. We name ourselves there
 * if a trace is written, SPILLWAY_ITERATION_RANGE is set and no other library is named, and fill in the functions that
 * begin and end ranges. Otherwise nothing happens. */
#ifndef SPILLWAY_SHIM_NVTX_H
#define SPILLWAY_SHIM_NVTX_H
#include <stddef.h>
#include <stdint.h>

/* Called by the constructor, before the program can use NVTX: names us as the library, unless another one is named. */
void spw_nvtx_offer(void);

/* Call when a trace begins for which a range was named: warns if another library receives the ranges instead. */
void spw_nvtx_check(void);

/* Call at its end, if no such range began: warns of that, unless spw_nvtx_check() has. */
void spw_nvtx_tell_unheard(const char *name);

void spw_nvtx_reset(void); /* forgets everything except what NVTX was given and what other threads are in: for tests */

/* ---- NVTX's side, as its headers document it; for tests that stand in for it */

typedef void spw_nvtx_function(void);
typedef const void *spw_nvtx_get_table(uint32_t table);

enum { SPW_NVTX_TABLE_CALLBACKS = 1 }; /* number of the table */

typedef spw_nvtx_function **spw_nvtx_slot; /* where NVTX keeps the function behind one of its calls */

struct spw_nvtx_callbacks { /* that table */
    size_t struct_bytes;
    /* Stores a module's slots, by the numbers of its calls, from 1 on, and one more than the highest number. Returns 0 if
     * there is no such module. */
    int (*module)(int module, spw_nvtx_slot **ret_slots, unsigned *ret_count);
};

enum spw_nvtx_core { /* calls of module 1; those that are not listed are left alone */
                     SPW_NVTX_RANGE_START_EX = 4,
                     SPW_NVTX_RANGE_START_A,
                     SPW_NVTX_RANGE_START_W,
                     SPW_NVTX_RANGE_PUSH_EX = 8,
                     SPW_NVTX_RANGE_PUSH_A,
                     SPW_NVTX_RANGE_PUSH_W,
                     SPW_NVTX_RANGE_POP
};
enum spw_nvtx_domain { /* calls of module 5 */
                       SPW_NVTX_DOMAIN_RANGE_START_EX = 2,
                       SPW_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
                       SPW_NVTX_DOMAIN_RANGE_POP,
                       SPW_NVTX_DOMAIN_REGISTER_A = 10,
                       SPW_NVTX_DOMAIN_REGISTER_W,
                       SPW_NVTX_DOMAIN_CREATE_A,
                       SPW_NVTX_DOMAIN_CREATE_W
};
enum { SPW_NVTX_CORE = 1, SPW_NVTX_DOMAINS = 5, SPW_NVTX_NOT_TRACKED = -2 };

enum { SPW_NVTX_TEXT = 1, SPW_NVTX_WIDE, SPW_NVTX_REGISTERED }; /* kinds of a message */

struct spw_nvtx_event { /* the description of a range */
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    const void *message; /* char *, wchar_t *, or what registering a text returned */
};

/* Called by a program's NVTX, once by each copy of it in the process. Returns 1: we are there; 0: it is to do without. */
int InitializeInjectionNvtx2(spw_nvtx_get_table *get_table);
#endif
