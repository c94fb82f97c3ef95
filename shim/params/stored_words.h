/* stored_words.h - words of memory that are known to be addresses: an array in the order of the places where they stand.
 * Whoever keeps one guards it. */
#ifndef SPILLWAY_SHIM_STORED_WORDS_H
#define SPILLWAY_SHIM_STORED_WORDS_H
#include <stdbool.h>
#include <stdint.h>

struct spw_stored_word {
    uint64_t place;  /* where the address stands, in 8 bytes: an address itself, or an offset */
    uint64_t member; /* the address */
    bool is_found;   /* it was found in memory, where a kernel has stored it: no copy told of it */
};

struct spw_stored_words { /* begins as zeroes; `list` is the owner's to free */
    struct spw_stored_word *list;
    uint32_t count, room;
};

/* The first word whose place is not below `place`; `count` where there is none. */
uint32_t spw_stored_words_at(const struct spw_stored_words *w, uint64_t place);

/* Words of which at least one byte lies in [low, high): *ret_first up to *ret_end, which is none of them. */
void spw_stored_words_overlapping(const struct spw_stored_words *w, uint64_t low, uint64_t high, uint32_t *ret_first,
                                  uint32_t *ret_end);

/* What stood in [low, high) is replaced by `added`, which lie there in order. -ENOMEM, or -ENOBUFS where there would be more
 * than `most`: the old is gone and nothing is added. */
int spw_stored_words_replace(struct spw_stored_words *w, uint64_t low, uint64_t high, const struct spw_stored_word *added,
                             uint32_t count, uint32_t most);

/* The words that lie wholly in [from, from + bytes), in memory of their own, with their places after a copy to `to`. NULL
 * and 0: there are none; NULL and more: there is no memory for them. */
struct spw_stored_word *spw_stored_words_moved(const struct spw_stored_words *w, uint64_t to, uint64_t from, uint64_t bytes,
                                               uint32_t *ret_count);
#endif
