/* attempt.h - choices for a small graph, composed and compared with the steps that are expected. */
#ifndef SPILLWAY_TESTS_UNIT_ATTEMPT_H
#define SPILLWAY_TESTS_UNIT_ATTEMPT_H
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "search/compose.h"
#include "tiny.h"

struct attempt {
    struct spw_plan_request request;
    uint8_t choices[64];
    struct spw_schedule schedule;
    struct spw_composed composed;
};

/* With all means and everything kept. Takes the graph over. */
struct attempt attempt(struct spw_graph *graph, uint64_t device_bytes);
void attempt_finish(struct attempt *a);

/* The choice for the gap behind use `number` of the tensor; behind its last use; before its first use. */
uint8_t *behind(struct attempt *a, uint32_t tensor, uint32_t number);
uint8_t *behind_last(struct attempt *a, uint32_t tensor);
uint8_t *head(struct attempt *a, uint32_t tensor);

/* Composes, and compares the steps with a text like "op0 d2h1 drop1"; what comes out is valid. The schedule is left for
 * spw_schedule_finish(). */
void attempt_compose(struct attempt *a, const char *steps);
/* The same, and gives the schedule back. */
void expect(struct attempt *a, const char *steps);
/* There is no way found, at operation `op`. */
void expect_none(struct attempt *a, uint32_t op);

/* 0 -> 1 -> 2; the last of four operations reads 1, and 0 where `input_stays`. */
struct spw_graph *there_and_back(bool input_stays);
/* 0 -> 1 -> 2 -> 3; the last of five operations reads 1, and 0 where `input_stays`. */
struct spw_graph *tight(bool input_stays);
/* 0 -> 1 -> 2 -> 3; the last of five operations reads 0 and 2, when 1 is long dead. */
struct spw_graph *line(void);
#endif
