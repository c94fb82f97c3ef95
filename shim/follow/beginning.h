/* beginning.h - which of the known iterations begins with an operation, where the course that was followed is lost.
 *
 * Programs change between iterations that are known: from the steps of a rollout to the minibatches that learn from it, from
 * training to an evaluation and back. The detector is sure of one at its end only. What an iteration begins with, and how
 * much is alive then, tells earlier. A guess costs little where it proves wrong soon. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_BEGINNING_H
#define SPILLWAY_SHIM_BEGINNING_H
#include "plan_executor.h"

/* The course of an iteration is left at this place. True: soon after it had begun. */
bool spw_beginning_left(const struct spw_plan_executor *on);

/* One of them is complete: what was guessed was right, and it is what comes after `left`, the iteration that was left before
 * it began (0: none was). */
void spw_beginning_proved(struct spw_tuned_iterations *iterations, struct spw_tuned_iteration *tuned, uint32_t left);

/* Where the detector is not sure of it either: it was guessed before, and wrongly. */
bool spw_beginning_is_doubted(const struct spw_tuned_iteration *tuned);

/* That operation of the backbone comes in the middle of the course, and is how one of these iterations begins. */
bool spw_beginning_comes_again(const struct spw_plan_executor *on, uint64_t key);

/* The iteration whose first operation of the backbone has that key, and before which as much was alive as is alive now. Of
 * several the one that came after `left` last time; else that one itself, or the one that came last. NULL: there is none. */
struct spw_tuned_iteration *spw_beginning_find(struct spw_tuned_iterations *iterations, uint32_t left, uint64_t key,
                                               uint64_t live_bytes);
#endif
