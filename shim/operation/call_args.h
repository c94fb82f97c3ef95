/* call_args.h - the arguments of one driver call: borrowed during the program's call, kept by value, and submitted again.
 *
 * Only values are kept: parameters are copied when the operation is submitted, as the driver does. No pointer of the
 * program's is kept. */
#ifndef SPILLWAY_SHIM_CALL_ARGS_H
#define SPILLWAY_SHIM_CALL_ARGS_H
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "signature.h"
#include "verdicts.h"

enum spw_call_args_kind {
    SPW_SUBMIT_OTHER,  /* a call that is not kept */
    SPW_SUBMIT_LAUNCH, /* launch */
    SPW_SUBMIT_COPY,   /* copy */
    SPW_SUBMIT_PLANE,  /* plane: both ends are device memory */
    SPW_SUBMIT_VOLUME, /* volume: as plane */
    SPW_SUBMIT_SET     /* set */
};

struct spw_layout;

struct spw_call_args { /* the arguments of a call, borrowed until the driver's call returns */
    enum spw_call_args_kind kind;
    union {
        struct {
            CUfunction function;
            CUlaunchConfig config; /* every form of launch is expressed as one of these; its stream is ignored */
            const struct spw_layout *layout;
            void *const *params, *const *extra;
            const uint16_t *doubted; /* words of the parameter image that look like addresses by chance, in long parameters
                                      * (scan.h). spw_call_args_places(), _numbers() and _declared() treat them as numbers */
            unsigned doubted_count;
        } launch;
        struct {
            CUdeviceptr to, from;
            size_t bytes;
        } copy;
        const CUDA_MEMCPY2D *plane;
        const CUDA_MEMCPY3D *volume;
        struct { /* `rows` rows of `width` elements of `element_bytes` bytes each; the rows begin `pitch` bytes apart */
            CUdeviceptr to;
            size_t pitch, width, rows;
            uint32_t value;
            uint32_t element_bytes; /* 1, 2 or 4 */
        } set;
    };
};

struct spw_kept_call_args;

/* Returns a hash of the positions in a launch's parameters that hold addresses of ours. */
uint64_t spw_call_args_places(const struct spw_call_args *submission);

/* Lists what can differ between launches of one function with the same places: the geometry, and every four bytes of the
 * parameters that are no part of an address of ours. Numbers beyond SPW_CALL_ARGS_NUMBERS are folded into the last one.
 * Returns how many numbers were stored. */
enum { SPW_CALL_ARGS_GEOMETRY = 7, SPW_CALL_ARGS_NUMBERS = 96 };
unsigned spw_call_args_numbers(const struct spw_call_args *submission, uint32_t ret_numbers[]);

/* Reports what the type of the launch's kernel says about its hits. */
void spw_call_args_declared(const struct spw_call_args *submission, struct spw_declared *ret_declared);

/* Returns SPW_REPLAYABLE where the call can be kept, else the reason: attributes that carry events or graph nodes,
 * parameters that cannot be parsed, or parameters that hold addresses of memory outside our arenas which the driver
 * knows. */
enum spw_replay_verdict spw_call_args_verdict(const struct spw_call_args *submission);

/* For a call that can be kept: the first returns how many bytes that takes, the second keeps the call in that many bytes at
 * `memory`, which is aligned as malloc() aligns. It returns `memory`. */
size_t spw_call_args_bytes(const struct spw_call_args *submission);
struct spw_kept_call_args *spw_call_args_keep(const struct spw_call_args *submission, void *memory);

/* Moves addresses: each address in the `bytes` bytes from `from` on is changed to lie at the same offset from `to`. In a
 * launch these are all such words of its parameters, in a set the address where it begins. Returns how many addresses were
 * changed. */
unsigned spw_call_args_move(struct spw_kept_call_args *kept, CUdeviceptr from, uint64_t bytes, CUdeviceptr to);

/* Submits the kept call to `stream` of the current context. A launch launches `function`, which takes the same parameters
 * as the original one. Returns 0 or a negative result. */
int spw_call_args_send(const struct spw_kept_call_args *kept, CUfunction function, CUstream stream);
#endif
