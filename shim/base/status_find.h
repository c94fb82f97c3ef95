/* status_find.h - where status pages lie, whose they are, and which of them nobody keeps any more. Library and tools. */
#ifndef SPILLWAY_SHIM_STATUS_FIND_H
#define SPILLWAY_SHIM_STATUS_FIND_H
#include <stdbool.h>
#include <stdint.h>

#include "status_page.h"

#define SPW_STATUS_NAME "spillway.%u.%u" /* user, process */

/* The folders in which a page may be, best first; NULL behind the last. */
const char *spw_status_folder(unsigned index);

/* The two numbers that tell a process from all others that have its pid; 0: not known, no such process. */
uint64_t spw_status_namespace(void);
uint64_t spw_status_process_start(uint32_t pid);

/* Reads a page, without waiting. 0; -EAGAIN: it was changed each time; -EINVAL: it is none that is understood; else an
 * errno. */
int spw_status_read(const char *path, struct spw_status_page *ret_page);

/* Whether the process that made the page is no more. Where that cannot be known (another pid namespace, not a page of a
 * version that is known), it is not. `own`: the page has the caller's own name; only a process before it can have made it.
 */
bool spw_status_is_left(const char *path, uint32_t pid, bool own);

/* Removes what processes of this user have left in the folder. */
void spw_status_clean(const char *folder);
#endif
