/* profile.h - what runs of a program have learned of its kernels, kept for the next run: a table, and the file that holds
 * it.
 *
 * A kernel is known by what it is, its image and its name, not by the handles of one process. What is kept of a class of
 * launches (launch_class.h) is what probes have found out, so that the next run need not probe. It is worth no more than in
 * the run that found it out: whoever relies on it checks it (read_check.h, verify.h).
 *
 * A file holds the profile of one identity: version of the library, driver, devices. A file that is damaged, or is of
 * another identity, is not used at all. Several processes may write one file: each puts what it knows to what is there by
 * then, and the file is replaced as a whole. No CUDA, no lock of ours: a table is its owner's. */
#ifndef SPILLWAY_SHIM_PROFILE_H
#define SPILLWAY_SHIM_PROFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "profile_iterations.h"

enum {
    SPW_PROFILE_HITS = 64,       /* addresses of a launch of which something is kept */
    SPW_PROFILE_NUMBERS = 4096,  /* of a class */
    SPW_PROFILE_CLASSES = 65536, /* of a table */
    SPW_PROFILE_IDENTITY = 1024, /* bytes, with the zero */
};

/* What a class of launches is, in any process. No gaps: it is compared by its bytes. */
struct spw_profile_key {
    struct spw_hash image; /* what its module was loaded from */
    struct spw_hash name;  /* of the function, mangled */
    uint64_t places;       /* of the addresses among its parameters; UINT64_MAX: the function as a whole */
    uint64_t hits;         /* how many, up to SPW_PROFILE_HITS */
};

struct spw_profile_class {
    struct spw_profile_key key;
    uint64_t changed;                         /* bit per hit: was seen to change */
    uint8_t seen_unchanged[SPW_PROFILE_HITS]; /* observations, per hit */
    uint8_t looks, tries, failures;           /* probes that have ended */
    uint8_t verdict;                          /* enum spw_replay_verdict */
    bool is_condemned;                        /* of a function as a whole: a replay of it was wrong */
    bool is_refuted;                          /* it wrote what it was believed to read: nothing is believed of it */
    uint32_t number_count;                    /* scalar arguments of launches that were observed */
    const uint32_t *numbers;                  /* the first launch's, followed by one for each: not 0 where others differed */
};

struct spw_profile;

struct spw_profile *spw_profile_create(void);          /* NULL: no memory */
void spw_profile_destroy(struct spw_profile *profile); /* NULL is fine */
size_t spw_profile_count(const struct spw_profile *profile);

/* NULL: nothing is known of it. Good until the next put. */
const struct spw_profile_class *spw_profile_find(const struct spw_profile *profile, const struct spw_profile_key *key);

/* Puts a copy of `class` in, in place of what was known of it. But for what is for good: refusals, condemned, refuted, and
 * what was seen to change. True: the table holds something new. False also where it is full, or there is no memory: then it
 * is not kept. */
bool spw_profile_put(struct spw_profile *profile, const struct spw_profile_class *class);

/* All of `from`, as by put(), its iterations too. */
void spw_profile_put_all(struct spw_profile *profile, const struct spw_profile *from);

struct spw_profile_iterations *spw_profile_iterations_of(struct spw_profile *profile);

/* ---- as bytes ---- */

/* The contents of a file, of malloc(). 0 or -ENOMEM. */
int spw_profile_encode(const struct spw_profile *profile, const char *identity, char **ret_bytes, size_t *ret_size);

/* Puts into the table what these say. 0; -EBADMSG: they are damaged; -ESTALE: they are of another identity, which is in
 * `ret_identity` (SPW_PROFILE_IDENTITY bytes); -ENOMEM. The table is unchanged in all cases but the first. */
int spw_profile_decode(struct spw_profile *profile, const char *identity, const void *bytes, size_t size,
                       char *ret_identity);
#endif
