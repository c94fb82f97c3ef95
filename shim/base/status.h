/* status.h - keeps the process's status page (status_page.h) up to date while the program runs. */
#ifndef SPILLWAY_SHIM_STATUS_H
#define SPILLWAY_SHIM_STATUS_H
#include <stdbool.h>

#include "ours.h"
#include "settings.h"
#include "status_page.h"

/* Makes the page, after removing those of this user's processes that have ended. `fill` writes the figures, with the lock
 * held that they need. It is no error if there can be no page: that is logged at level debug. */
void spw_status_start(enum spw_mode mode, void (*fill)(struct spw_status_page *page));

/* Called in a forked child: the page is the parent's. */
void spw_status_in_child(void);

/* Publishes the current figures: always with `now`, else if the last ones are older than about 10 ms. The caller holds the
 * lock that `fill` needs. */
void spw_status_publish_locked(bool now);

/* For the launch path, where every instruction counts: true for one operation in 256. */
#define SPW_STATUS_IS_TIME(tick) __builtin_expect(((tick)&255) == 0, 0)

/* Called after a wait of the program, with no lock held. */
void spw_status_after_wait(void);
#endif
