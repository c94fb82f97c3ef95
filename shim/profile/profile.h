/* profile.h - keeps what runs of a program have learned about its kernels, for the next run: a table, and the file that
 * holds it.
 *
 * A kernel is identified by its image and its name, not by the handles of one process. What is kept about a class of
 * launches (launch_class.h) is what probes have found out, so that the next run need not probe. It is trusted no more than
 * in the run that found it out: whoever relies on it checks it (read_check.h, verify.h).
 *
 * A file holds the profile of one identity: version of the library, driver, devices. A file that is damaged, or of another
 * identity, is not used at all. Several processes may write one file: each adds what it knows to what the file holds by
 * then, and the file is replaced as a whole. No CUDA and no lock: the owner of a table guards it. */
#ifndef SPILLWAY_SHIM_PROFILE_H
#define SPILLWAY_SHIM_PROFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "profile_iterations.h"

enum {
    SPW_PROFILE_HITS = 64,       /* addresses of a launch about which something is kept */
    SPW_PROFILE_NUMBERS = 4096,  /* scalar arguments kept for a class */
    SPW_PROFILE_CLASSES = 65536, /* classes in a table */
    SPW_PROFILE_IDENTITY = 1024, /* size in bytes, with the terminating zero */
};

/* Identifies a class of launches in any process. It has no padding, as its bytes are compared. */
struct spw_profile_key {
    struct spw_hash image; /* of what its module was loaded from */
    struct spw_hash name;  /* of the function's mangled name */
    uint64_t places;       /* positions of the addresses among its parameters; UINT64_MAX: the function as a whole */
    uint64_t hits;         /* number of addresses, up to SPW_PROFILE_HITS */
};

struct spw_profile_class {
    struct spw_profile_key key;
    uint64_t changed;                         /* bit per hit: it was seen to change */
    uint8_t seen_unchanged[SPW_PROFILE_HITS]; /* number of observations, per hit */
    uint8_t looks, tries, failures;           /* completed looks and tries, and attempts without an answer */
    uint8_t verdict;                          /* enum spw_replay_verdict */
    bool is_condemned;                        /* for a function as a whole: a replay of it was wrong */
    bool is_refuted;                          /* it wrote what it was believed to only read: nothing is believed of it */
    uint32_t number_count;                    /* scalar arguments of observed launches */
    const uint32_t *numbers;                  /* those of the first launch, followed by a flag for each: not 0 if other
                                               * launches differed there */
};

struct spw_profile;

struct spw_profile *spw_profile_create(void);          /* NULL: no memory */
void spw_profile_destroy(struct spw_profile *profile); /* NULL is fine */
size_t spw_profile_count(const struct spw_profile *profile);

/* Returns what is known about the class, valid until the next put; NULL: nothing. */
const struct spw_profile_class *spw_profile_find(const struct spw_profile *profile, const struct spw_profile_key *key);

/* Puts a copy of `class` into the table, in place of what was known before. Some knowledge is permanent and stays:
 * refusals, condemned, refuted, and hits that were seen to change. Returns true if that changed the table. Returns false
 * also if the table is full or there is no memory: then it is not kept. */
bool spw_profile_put(struct spw_profile *profile, const struct spw_profile_class *class);

/* Puts everything of `from` into the table in the same way, iterations included. */
void spw_profile_put_all(struct spw_profile *profile, const struct spw_profile *from);

struct spw_profile_iterations *spw_profile_iterations_of(struct spw_profile *profile);

/* ---- as bytes ---- */

/* Makes the contents of a file, which the caller frees. Returns 0 or -ENOMEM. */
int spw_profile_encode(const struct spw_profile *profile, const char *identity, char **ret_bytes, size_t *ret_size);

/* Puts into the table what these bytes hold. Returns 0; -EBADMSG if they are damaged; -ESTALE if they are of another
 * identity, which is then in `ret_identity` (SPW_PROFILE_IDENTITY bytes); or -ENOMEM. After a failure the table is
 * unchanged. */
int spw_profile_decode(struct spw_profile *profile, const char *identity, const void *bytes, size_t size,
                       char *ret_identity);
#endif
