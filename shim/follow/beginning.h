/* beginning.h - finds out which of the known iterations begins with an operation, when the course that was followed is
 * lost.
 *
 * Programs change between known iterations: from the steps of a rollout to the minibatches that learn from it, from
 * training to an evaluation and back. The detector is sure of an iteration only at its end. The first operation of an
 * iteration, and how many bytes are allocated then, tell earlier. A wrong guess costs little if that shows soon. Engine
 * lock held throughout.
 *
 * The *backbone* of a course are the operations that come every time and in the same order (course.h). */
#ifndef SPILLWAY_SHIM_BEGINNING_H
#define SPILLWAY_SHIM_BEGINNING_H
#include "plan_executor.h"

/* Call when the course of an iteration is left at this place. Returns true if that was soon after the iteration had
 * begun. */
bool spw_beginning_left(const struct spw_plan_executor *on);

/* Call when an iteration is complete: a guess was right. Notes that the iteration comes after `left`, the one that was left
 * before it began (0: none was). */
void spw_beginning_proved(struct spw_tuned_iterations *iterations, struct spw_tuned_iteration *tuned, uint32_t left);

/* Returns true if the iteration was guessed before, and wrongly. Then it is not begun while the detector is not sure
 * either. */
bool spw_beginning_is_doubted(const struct spw_tuned_iteration *tuned);

/* Returns true if an operation of the backbone that comes in the middle of the course is how the same iteration begins. */
bool spw_beginning_comes_again(const struct spw_plan_executor *on, uint64_t key);

/* Returns the iteration whose first operation of the backbone has that key, and which begins with about as many bytes
 * allocated as now. Of several: the one that came after `left` last time, else `left` itself, else the one used last. NULL:
 * there is none. */
struct spw_tuned_iteration *spw_beginning_find(struct spw_tuned_iterations *iterations, uint32_t left, uint64_t key,
                                               uint64_t live_bytes);
#endif
