/* scan.h - which addresses of the arena a launch carries in its parameters. */
#ifndef SPILLWAY_SHIM_SCAN_H
#define SPILLWAY_SHIM_SCAN_H
#include "detect/iteration.h"
#include "layout.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* Room that is enough for any launch whose parameters are aligned as the compiler aligns them. */
#define SPW_SCAN_ROOM (SPW_PARAMS_MAX_BYTES / 8 + 1)

/* The words of `bytes` bytes at `source` (any alignment), at every `step` bytes, that lie in [low, high), appended at
 * hits[n]. Returns the new n, or -E2BIG when they are more than `room`. */
int spw_scan_bytes(const void *source, size_t bytes, unsigned step, CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits,
                   unsigned n, unsigned room);

/* Which hits the launch is not known by, and where the others were found; see spw_scan_launch(). */
enum { SPW_SCAN_DOUBTED_HITS = 512 };
struct spw_scan_doubted {
    uint64_t bits[SPW_SCAN_DOUBTED_HITS / 64]; /* by hit */
    const struct spw_layout *layout;           /* NULL: hits have no places */
    bool filled;                               /* zeros may be ours, for what was left out (structs.h) */
    unsigned first, end;                       /* hits with a place */
    uint16_t places[SPW_SCAN_DOUBTED_HITS];    /* by hit: the word of the image */
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

/* The hit leads to nothing that is alive: its place is not trusted from now on. */
void spw_scan_doubt(const struct spw_scan_doubted *doubted, unsigned hit);

/* The hit's place was given nothing at another launch of the function, before iterations were known (below). It may be for
 * an argument that can be left out, or nobody fills it in: so no operation is recognised by it. */
bool spw_scan_comes_and_goes(const struct spw_scan_doubted *doubted, unsigned hit);

/* Where an operation was found to be among those of the iterations that are known. While most are, what places are given
 * nothing is not noted any more: an evaluation that leaves out what training needs must not make training's operations
 * others than they were. One user at a time. */
void spw_scan_told(const struct spw_iteration_place *place);
void spw_scan_reset(void); /* none is known: for tests */

/* Brings the hits that are doubted behind all others, each in their order, and answers how many they are. 0, and nothing is
 * moved, where there are more hits than can be doubted. */
unsigned spw_scan_part(struct spw_scan_doubted *doubted, CUdeviceptr *hits, unsigned n);

/* Parameters longer than one word; also asks the tensor maps. As spw_scan_bytes(). */
int spw_scan_spans(const struct spw_layout *layout, void *const *params, CUdeviceptr low, CUdeviceptr high,
                   CUdeviceptr *hits, unsigned n, unsigned room, struct spw_scan_doubted *doubted);

/* The packed buffer that a launch's `extra` names. -EINVAL: none, or a key that is not known. */
int spw_scan_buffer(void *const *extra, const void **ret_buffer, size_t *ret_bytes);

/* A launch that does not pass plain parameters; as spw_scan_launch(). */
int spw_scan_odd(const struct spw_layout *layout, void *const *params, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                 CUdeviceptr *hits, unsigned room);

/* One word; written to hits[n] in any case, which saves a branch, and counted when it is in the arena. */
static inline size_t spw_scan_word(const void *source, CUdeviceptr low, CUdeviceptr extent, CUdeviceptr *hits, size_t n)
{
    CUdeviceptr word;
    memcpy(&word, source, sizeof word);
    hits[n] = word;
    return n + (word - low < extent);
}

/* Looks at everything that a launch passes to its kernel and writes each word that lies in [low, high) to `hits`;
 * returns their number. Negative: the launch cannot be parsed, and may touch anything: -ENODATA no layout, or
 * parameters set in some other way; -EINVAL malformed `extra`; -E2BIG more than `room`.
 *
 * A parameter of 8 bytes is one word; a longer one is read at every 8 bytes, and at every 4 where its size or offset
 * shows that it is not aligned to 8; a packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER) is read as a whole and needs no
 * layout. An address at an odd place in a packed struct is not found. `params` must be as the driver wants it: one
 * readable pointer per parameter.
 *
 * Structures have parts that nobody has filled, and what the stack had there may be an address as well, another one each
 * time. So a place in a structure where the function was once given what is neither an address nor nothing is not trusted
 * from then on: hits there set a bit in *doubted (NULL: nobody wants to know; all bits are 0 before). They may be touched
 * nevertheless. Where places are given nothing is noted too. */
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
