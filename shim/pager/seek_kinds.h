/* seek_kinds.h - what is known of launches of a function, and of uploads of a size: whether they store addresses (seek.h).
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_KINDS_H
#define SPILLWAY_SHIM_SEEK_KINDS_H
#include <stdbool.h>
#include <stdint.h>

enum { SPW_SEEK_ENOUGH = 3 }; /* looks that find nothing new, before a kind is trusted */

struct spw_seek_kind {
    uint64_t key;       /* the function, or spw_seek_key_of_upload() */
    uint8_t looks[2];   /* in a row that found nothing new; [1]: of launches that were given a table */
    bool is_audited[2]; /* it was trusted, and is looked at again: nothing is suspected for that */
    bool stores;
};

uint64_t spw_seek_key_of_upload(uint64_t bytes);

/* NULL: there is no memory for it. */
struct spw_seek_kind *spw_seek_kind_of(uint64_t key);

/* Nothing need be looked at behind it. */
bool spw_seek_is_trusted(const struct spw_seek_kind *k, bool tainted);

/* What it is given is suspected until the answer of a look is there. */
bool spw_seek_is_suspicious(const struct spw_seek_kind *k, bool tainted);

/* Now and then a trusted function is looked at again: its next launch. */
void spw_seek_audit_locked(void);
void spw_seek_audit_later_locked(void); /* as if that had been done just now */

void spw_seek_kinds_reset(void); /* for tests */
#endif
