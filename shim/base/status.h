/* status.h - keeps the process's status page (status_page.h) up to date while the program runs. */
#ifndef SPILLWAY_SHIM_STATUS_H
#define SPILLWAY_SHIM_STATUS_H
#include <stdbool.h>

#include "ours.h"
#include "settings.h"
#include "status_page.h"

/* Makes the page, after taking away those of this user's processes that are no more. `fill` writes the figures, with the
 * lock held that they need. That there can be no page is no error: said at debug level. */
void spw_status_start(enum spw_mode mode, void (*fill)(struct spw_status_page *page));

/* In a forked child: the page is the parent's. */
void spw_status_in_child(void);

/* Publishes the figures as they are: always (`now`), or when the last ones are older than about 10 ms. The caller holds the
 * lock that `fill` needs. */
void spw_status_publish_locked(bool now);

/* From the launch path, where every instruction counts: looked at once in so many operations. */
#define SPW_STATUS_IS_TIME(tick) __builtin_expect(((tick)&255) == 0, 0)

/* After a wait of the program's, with no lock held. */
void spw_status_after_wait(void);
#endif
