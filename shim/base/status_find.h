/* status_find.h - finds status pages, tells whose they are, and removes those of processes that have ended. Used by the
 * library and the tools. */
#ifndef SPILLWAY_SHIM_STATUS_FIND_H
#define SPILLWAY_SHIM_STATUS_FIND_H
#include <stdbool.h>
#include <stdint.h>

#include "status_page.h"

#define SPW_STATUS_NAME "spillway.%u.%u" /* user, process */

/* Returns the folders in which a page may be, best first; NULL behind the last. */
const char *spw_status_folder(unsigned index);

/* Return the two numbers that tell a process from all others that have its pid; 0: unknown, or no such process. */
uint64_t spw_status_namespace(void);
uint64_t spw_status_process_start(uint32_t pid);

/* Reads a page without waiting. Returns 0; -EAGAIN if it was changed at each attempt; -EINVAL if it is no page that is
 * understood; or another negative errno. */
int spw_status_read(const char *path, struct spw_status_page *ret_page);

/* Returns true if the process that made the page has ended. A page of another pid namespace never counts as left. A page
 * that is not understood, of another version for instance, counts as left if no process has that pid. `own`: the page has
 * the caller's own name, so only an earlier process can have made it. */
bool spw_status_is_left(const char *path, uint32_t pid, bool own);

/* Removes the pages in the folder that ended processes of this user have left. */
void spw_status_clean(const char *folder);
#endif
