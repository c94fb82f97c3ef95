/* top.h - the live figures of running processes: found, read, and shown in each form. */
#ifndef SPILLWAY_TOOLS_TOP_H
#define SPILLWAY_TOOLS_TOP_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "status_page.h"

struct top_process {
    struct spw_status_page page;
    char path[512];
    double out_per_s, in_per_s, operations_per_s; /* since the page before; 0 at first */
};

/* The process with this pid. 0; EXIT_USAGE with one line on stderr that says why there is none. */
int top_open(uint32_t pid, struct top_process *ret_process);

/* All processes of this user, by pid, at most `room`; what is left of dead ones is removed. The count. Rates are worked out
 * for those that are among the `before` of them in `ret` already. */
unsigned top_list(struct top_process *ret, unsigned before, unsigned room);

/* Reads its page again. False: the process has ended. */
bool top_again(struct top_process *process);

const char *top_mode_name(uint32_t mode);
double top_seconds_running(const struct spw_status_page *page);

/* "90 of 100 iterations by plan, ..." and what each moves: into `line` of TOP_LINE bytes, which they return. */
enum { TOP_LINE = 320 };
const char *top_planned(const struct spw_status_planned *planned, char *line);
const char *top_copies(const struct spw_status_planned *planned, char *line);

/* What is computed again, likewise; nothing to say of it unless top_recomputes(). A refusal: a kernel that cannot be. */
bool top_recomputes(const struct spw_status_page *page);
const char *top_recomputed(const struct spw_status_page *page, char *line);
const char *top_verified(const struct spw_status_page *page, char *line);
const char *top_proven(const struct spw_status_page *page, char *line);
const char *top_records(const struct spw_status_page *page, char *line);
const char *top_refusal(const struct spw_status_refusal *refusal, char *line);
void top_recomputed_text(const struct spw_status_page *page, FILE *to); /* all of these that there are */
json_t *top_recomputed_json(const struct spw_status_page *page);
json_t *top_refusals_json(const struct spw_status_page *page);

json_t *top_json(const struct spw_status_page *page); /* spillway-status/1; NULL: no memory */
void top_text(const struct spw_status_page *page, FILE *to);

/* The screen, until it is left: one process, or all when pid is 0. The exit status. */
int top_screen(uint32_t pid);
#endif
