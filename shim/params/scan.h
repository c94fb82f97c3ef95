/* scan.h - finds the addresses of the arena among the parameters of a launch. */
#ifndef SPILLWAY_SHIM_SCAN_H
#define SPILLWAY_SHIM_SCAN_H
#include "detect/iteration.h"
#include "layout.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* Enough room for the hits of any launch whose parameters are aligned as the compiler aligns them. */
#define SPW_SCAN_ROOM (SPW_PARAMS_MAX_BYTES / 8 + 1)

/* Reads a word at every `step` bytes of the `bytes` bytes at `source` (any alignment), and appends those that lie in [low,
 * high) at hits[n]. Returns the new n, or -E2BIG if there are more than `room`. */
int spw_scan_bytes(const void *source, size_t bytes, unsigned step, CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits,
                   unsigned n, unsigned room);

/* The hits by which the launch is not recognised, and the places where the others were found; see spw_scan_launch(). */
enum { SPW_SCAN_DOUBTED_HITS = 512 };
struct spw_scan_doubted {
    uint64_t bits[SPW_SCAN_DOUBTED_HITS / 64]; /* a bit for each hit */
    const struct spw_layout *layout;           /* NULL: hits have no places */
    bool filled;                               /* zeros may be ours, in place of what was left out (structs.h) */
    unsigned first, end;                       /* the hits that have a place */
    uint16_t places[SPW_SCAN_DOUBTED_HITS];    /* by hit: the word of the parameter image */
};

static inline void spw_scan_doubted_init(struct spw_scan_doubted *doubted)
{
    memset(doubted->bits, 0, sizeof doubted->bits);
    doubted->layout = NULL;
    doubted->filled = false;
}

static inline bool spw_scan_is_doubted(const struct spw_scan_doubted *doubted, unsigned hit)
{
    return doubted && hit < SPW_SCAN_DOUBTED_HITS && doubted->bits[hit / 64] >> hit % 64 & 1;
}

/* The hit leads to nothing live: its place is not trusted from now on. */
void spw_scan_doubt(const struct spw_scan_doubted *doubted, unsigned hit);

/* Returns true if the hit's place held 0 at another launch of the function, before iterations were known (see below). It
 * may be for an optional argument, or not be filled in at all, so operations are not recognised by it. */
bool spw_scan_comes_and_goes(const struct spw_scan_doubted *doubted, unsigned hit);

/* Reports how an operation fits the known iterations. While most operations fit, zeros in places are no longer noted: an
 * evaluation that leaves out arguments of training must not change what training's operations are recognised by. One caller
 * at a time. */
void spw_scan_told(const struct spw_iteration_place *place);
void spw_scan_reset(void); /* forgets the iterations: for tests */

/* Moves the doubted hits behind all others, keeping the order of both, and returns how many there are. Returns 0, and moves
 * nothing, if there are more hits than can be doubted. */
unsigned spw_scan_part(struct spw_scan_doubted *doubted, CUdeviceptr *hits, unsigned n);

/* Scans the parameters longer than one word, and looks up tensor maps in them. Returns as spw_scan_bytes(). */
int spw_scan_spans(const struct spw_layout *layout, void *const *params, CUdeviceptr low, CUdeviceptr high,
                   CUdeviceptr *hits, unsigned n, unsigned room, struct spw_scan_doubted *doubted);

/* Finds the packed buffer that a launch's `extra` names. Returns 0, or -EINVAL if there is none or a key is unknown. */
int spw_scan_buffer(void *const *extra, const void **ret_buffer, size_t *ret_bytes);

/* Scans a launch that does not pass plain parameters. Returns as spw_scan_launch(). */
int spw_scan_odd(const struct spw_layout *layout, void *const *params, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                 CUdeviceptr *hits, unsigned room);

/* Scans one word. It is written to hits[n] in any case, which saves a branch, and counted if it is in the arena. */
static inline size_t spw_scan_word(const void *source, CUdeviceptr low, CUdeviceptr extent, CUdeviceptr *hits, size_t n)
{
    CUdeviceptr word;
    memcpy(&word, source, sizeof word);
    hits[n] = word;
    return n + (word - low < extent);
}

/* Looks at everything that a launch passes to its kernel, and writes each word that lies in [low, high) to `hits`. Returns
 * how many there are. A negative result means that the launch cannot be parsed and may touch anything: -ENODATA, there is
 * no layout, or the parameters are set in some other way; -EINVAL, malformed `extra`; -E2BIG, more than `room` hits.
 *
 * A parameter of 8 bytes is one word. A longer one is read at every 8 bytes, or at every 4 if its size or offset shows that
 * it is not aligned to 8. A packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER) is read as a whole and needs no layout. An
 * address at an odd place in a packed struct is not found. `params` must be as the driver requires: one readable pointer
 * for each parameter.
 *
 * Structures have parts that nobody has filled in, where left-over stack contents may look like an address, another one
 * each time. So a place in a structure is not trusted any more once it held something that is neither an address nor 0.
 * Hits in such places set a bit in *doubted, all bits of which are 0 before (NULL: the caller does not need it). They may
 * be touched all the same. Places that hold 0 are noted too. */
static inline int spw_scan_launch(const struct spw_layout *layout, void *const *params, void *const *extra, CUdeviceptr low,
                                  CUdeviceptr high, CUdeviceptr *hits, unsigned room, struct spw_scan_doubted *doubted)
{
    if (__builtin_expect(!layout->known || !params || extra || layout->word_count > room, 0))
        return spw_scan_odd(layout, params, extra, low, high, hits, room);

    const uint16_t *index = layout->words, *end = index + layout->word_count;
    CUdeviceptr extent = high - low;
    size_t n = 0;
    for (; end - index >= 2; index += 2) {
        n = spw_scan_word(params[index[0]], low, extent, hits, n);
        n = spw_scan_word(params[index[1]], low, extent, hits, n);
    }
    if (index < end)
        n = spw_scan_word(params[index[0]], low, extent, hits, n);
    return layout->span_count ? spw_scan_spans(layout, params, low, high, hits, (unsigned)n, room, doubted) : (int)n;
}
#endif
