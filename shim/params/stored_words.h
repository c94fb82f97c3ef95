/* stored_words.h - a sorted array of words in memory that are known to be addresses, ordered by the places where they are
 * stored. Its owner guards it. */
#ifndef SPILLWAY_SHIM_STORED_WORDS_H
#define SPILLWAY_SHIM_STORED_WORDS_H
#include <stdbool.h>
#include <stdint.h>

struct spw_stored_word {
    uint64_t place;  /* where the address is stored, in 8 bytes: an address itself, or an offset */
    uint64_t member; /* the stored address */
    bool is_found;   /* it was found in memory, where a kernel has stored it; it did not come by a copy */
};

struct spw_stored_words { /* all zero at first; the owner frees `list` */
    struct spw_stored_word *list;
    uint32_t count, room;
};

/* Returns the index of the first word whose place is not below `place`, or `count` if there is none. */
uint32_t spw_stored_words_at(const struct spw_stored_words *w, uint64_t place);

/* Finds the words of which at least one byte lies in [low, high): those from *ret_first up to, but not including,
 * *ret_end. */
void spw_stored_words_overlapping(const struct spw_stored_words *w, uint64_t low, uint64_t high, uint32_t *ret_first,
                                  uint32_t *ret_end);

/* Replaces the words in [low, high) by the `count` words `added`, which lie there in order. Returns 0, -ENOMEM, or -ENOBUFS
 * if there would be more than `most`; after a failure the old words are gone and none is added. */
int spw_stored_words_replace(struct spw_stored_words *w, uint64_t low, uint64_t high, const struct spw_stored_word *added,
                             uint32_t count, uint32_t most);

/* Returns, in memory that the caller frees, the words that lie wholly in [from, from + bytes), with the places that they
 * have after a copy to `to`. NULL with *ret_count 0: there are none; NULL with more: there is no memory for them. */
struct spw_stored_word *spw_stored_words_moved(const struct spw_stored_words *w, uint64_t to, uint64_t from, uint64_t bytes,
                                               uint32_t *ret_count);
#endif
