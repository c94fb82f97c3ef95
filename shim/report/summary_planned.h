/* summary_planned.h - the part of the summary about iterations by plan, for people and for programs. Engine lock. */
#ifndef SPILLWAY_SHIM_SUMMARY_PLANNED_H
#define SPILLWAY_SHIM_SUMMARY_PLANNED_H
#include <stdio.h>

#include "ledger.h"

/* Returns true if iterations went by plan on the device, so that there is something to report. */
bool spw_summary_is_planned(const struct spw_device *d);

/* Writes the device's part of its line: "990 of 1000 iterations by plan, ...". Cut off if it does not fit. */
void spw_summary_say_planned(const struct spw_device *d, char *buffer, size_t size);

/* Writes what is counted for all devices together: "3 stalls, ...". */
void spw_summary_say_carried(char *buffer, size_t size);

const char *spw_summary_human(uint64_t bytes, char *buffer, size_t size); /* "1.5 GiB"; returns buffer */

/* Write members of JSON objects: `"planned": {...}, "bandwidth": {...}` and `"learned": {...}` of a device, `"carried":
 * {...}, "changed_hands": {...}, "proofs": {...}` and `"replayed": {...}` of the process. */
void spw_summary_write_planned(FILE *f, const struct spw_device *d);
void spw_summary_write_refused(FILE *f, const struct spw_device *d);
void spw_summary_write_carried(FILE *f);
void spw_summary_write_replayed(FILE *f);
#endif
