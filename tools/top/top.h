/* top.h - finds and reads the live figures of running processes, and shows them in each form. */
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
    double out_per_s, in_per_s, operations_per_s; /* since the previous page; initially 0 */
};

/* Opens the process with this pid. Returns 0; EXIT_USAGE with one line on stderr that says why there is none. */
int top_open(uint32_t pid, struct top_process *ret_process);

/* Lists all processes of this user, by pid, at most `room`, and removes the pages of dead ones. Returns the number. Rates
 * are computed for processes that are among the first `before` of `ret` on entry. */
unsigned top_list(struct top_process *ret, unsigned before, unsigned room);

/* Reads its page again. Returns false if the process has ended. */
bool top_again(struct top_process *process);

const char *top_mode_name(uint32_t mode);
double top_seconds_running(const struct spw_status_page *page);

/* Write "90 of 100 iterations by plan, ..." and what each iteration moves into `line` of TOP_LINE bytes, which they
 * return. */
enum { TOP_LINE = 320 };
const char *top_planned(const struct spw_status_planned *planned, char *line);
const char *top_copies(const struct spw_status_planned *planned, char *line);

/* Write what is recomputed, likewise; there is nothing to write unless top_recomputes(). A refusal: a kernel that cannot
 * be replayed. */
bool top_recomputes(const struct spw_status_page *page);
const char *top_recomputed(const struct spw_status_page *page, char *line);
const char *top_verified(const struct spw_status_page *page, char *line);
const char *top_proven(const struct spw_status_page *page, char *line);
const char *top_records(const struct spw_status_page *page, char *line);
const char *top_refusal(const struct spw_status_refusal *refusal, char *line);
void top_recomputed_text(const struct spw_status_page *page, FILE *to); /* all of these that there are */
json_t *top_recomputed_json(const struct spw_status_page *page);
json_t *top_refusals_json(const struct spw_status_page *page);

json_t *top_json(const struct spw_status_page *page); /* spillway-status/1; NULL without memory */
void top_text(const struct spw_status_page *page, FILE *to);

/* Shows the screen until the user leaves it: one process, or all if pid is 0. Returns the exit status. */
int top_screen(uint32_t pid);
#endif
