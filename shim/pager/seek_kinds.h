/* seek_kinds.h - remembers whether launches of a function, and uploads of a size, store addresses (seek.h).
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_KINDS_H
#define SPILLWAY_SHIM_SEEK_KINDS_H
#include <stdbool.h>
#include <stdint.h>

enum { SPW_SEEK_ENOUGH = 3 }; /* looks that find nothing new before a kind is trusted */

struct spw_seek_kind {
    uint64_t key;       /* the function, or spw_seek_key_of_upload() */
    uint8_t looks[2];   /* looks that found nothing new; [1]: after launches that were passed a table */
    bool is_audited[2]; /* it was trusted and is looked at again: nothing is suspected for that */
    bool stores;
};

uint64_t spw_seek_key_of_upload(uint64_t bytes);

/* Returns NULL if there is no memory for it. */
struct spw_seek_kind *spw_seek_kind_of(uint64_t key);

/* Returns true if nothing need be looked at after a launch or upload of this kind. */
bool spw_seek_is_trusted(const struct spw_seek_kind *k, bool tainted);

/* Returns true if what it is passed is suspected until a look has its answer. */
bool spw_seek_is_suspicious(const struct spw_seek_kind *k, bool tainted);

/* Every so many operations, has the next launch of a trusted function, or upload of a trusted size, looked at again. */
void spw_seek_audit_locked(void);
void spw_seek_audit_later_locked(void); /* restarts that count */

void spw_seek_kinds_reset(void); /* for tests */
#endif
