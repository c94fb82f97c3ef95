/* call_args.h - what the driver is told of one operation: at hand while the program's call goes on, kept, and told again.
 *
 * Nothing of the program's is kept but values: parameters are copied when the operation is submitted, as the driver does. */
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

struct spw_call_args { /* borrowed until the driver's call is over */
    enum spw_call_args_kind kind;
    union {
        struct {
            CUfunction function;
            CUlaunchConfig config; /* every form of launch is one of these; its stream is not looked at */
            const struct spw_layout *layout;
            void *const *params, *const *extra;
            const uint16_t *doubted; /* places in long parameters where there is an address by chance, it seems: words of
                                      * the image (scan.h). For places() and numbers() alone: these are numbers there */
            unsigned doubted_count;
        } launch;
        struct {
            CUdeviceptr to, from;
            size_t bytes;
        } copy;
        const CUDA_MEMCPY2D *plane;
        const CUDA_MEMCPY3D *volume;
        struct { /* `rows` of `width` elements, each `element_bytes` long, beginning `pitch` bytes apart */
            CUdeviceptr to;
            size_t pitch, width, rows;
            uint32_t value;
            uint32_t element_bytes; /* 1, 2 or 4 */
        } set;
    };
};

struct spw_kept_call_args;

/* A number made of where in the parameters of a launch addresses of ours are. */
uint64_t spw_call_args_places(const struct spw_call_args *submission);

/* What else one launch of a function differs in from another: geometry, and every four bytes of its parameters that are no
 * part of such an address. The last one stands for all that have no room. Answers how many there are. */
enum { SPW_CALL_ARGS_GEOMETRY = 7, SPW_CALL_ARGS_NUMBERS = 96 };
unsigned spw_call_args_numbers(const struct spw_call_args *submission, uint32_t ret_numbers[]);

/* What the type of its kernel says of the hits of a launch. */
void spw_call_args_declared(const struct spw_call_args *submission, struct spw_declared *ret_declared);

/* SPW_REPLAYABLE where it can be kept, else why not: events or nodes of graphs in attributes, parameters that cannot be
 * parsed, addresses of memory outside of our arenas among them that the driver knows of. */
enum spw_replay_verdict spw_call_args_verdict(const struct spw_call_args *submission);

/* For one of the above that can be kept: how many bytes that takes, and keeping it in so many (aligned as malloc() does). */
size_t spw_call_args_bytes(const struct spw_call_args *submission);
struct spw_kept_call_args *spw_call_args_keep(const struct spw_call_args *submission, void *memory);

/* Addresses of `bytes` bytes from `from` on lie from `to` on instead: of a launch all words that are such; of a set where it
 * begins. How many were changed. */
unsigned spw_call_args_move(struct spw_kept_call_args *kept, CUdeviceptr from, uint64_t bytes, CUdeviceptr to);

/* Tells the driver again, for stream `stream` of the current context; a launch is one of `function`, which takes the same
 * parameters. 0 or a negative result. */
int spw_call_args_send(const struct spw_kept_call_args *kept, CUfunction function, CUstream stream);
#endif
