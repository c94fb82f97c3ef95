#!/usr/bin/env python3
"""What interrupts a plan: evaluation, accumulation, another batch size once or for good, kernels that come now and then.

The bits stay the same and the budget holds; two steps after an interruption the program is back on its plan, and the whole is
hardly ever slower than without plans.

usage: planned-changes.py WORKLOAD"""
import sys

from following import ALIKE_FROM, CLOSE, COPIES, library_plans, schedule, step_times, usual, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

WORKLOAD = sys.argv.pop(1)
BATCH = {"gpt": 8, "lstm": 128, "resnet": 64, "mlp": 256}[WORKLOAD]
STEPS = 24
OF_FOUR = 12  # steps, where each is as long as four
SHARES = (70, 50)
NEVER_WORSE = 1.10  # than on demand
FIRST = 8  # steps before the first by plan: until two like each other have come, one is recorded, and its durations are known
BACK = 2  # steps after an interruption that may be on demand
FOLLOWS_SIZE = 6  # steps until another batch size is on a plan of its own: two to notice it, one to record it, one until its durations are known, and one
                  # that brings in order what those left behind
AS_FROM_THE_START = 1.12  # what a step may take by that plan, of what it takes where the size never was another

ONCE = schedule((10, BATCH), (1, 2 * BATCH), (STEPS - 11, BATCH))
FOR_GOOD = schedule((STEPS // 2, BATCH), (STEPS // 2, BATCH * 3 // 4))
IN_TURN = ",".join(str(size) for size in (BATCH, BATCH * 3 // 4, BATCH // 2))
# what it is called: options, how many steps, and those (from 0) that are not like the others; each begins to load what the next one learns from
CHANGES = {
    "an evaluation after every seventh step": (["--evaluate-every", "7"], STEPS, (6, 13, 20)),
    "an evaluation after every second step": (["--evaluate-every", "2"], STEPS, None),
    "the gradients of four batches for each update": (["--accumulate", "4"], OF_FOUR, ()),
    "a batch twice the size in one step": (["--batch-schedule", ONCE], STEPS, (9, 10)),
    "a batch size that changes for good": (["--batch-schedule", FOR_GOOD], STEPS, range(STEPS // 2 - 1, STEPS // 2 + FOLLOWS_SIZE - BACK)),
    "three batch sizes in turn": (["--batch-schedule", IN_TURN], STEPS, None),
    "half a batch at the end": (["--short-last"], STEPS, (STEPS - 2, )),
    "a few kernels somewhere in every ninth step": (["--noise", "9"], STEPS, (8, 17)),
    "a few kernels somewhere in every fifth step": (["--noise", "5"], STEPS, None),
    "a few kernels somewhere in every step": (["--noise", "1"], STEPS, None),
    "all of it": (["--accumulate", "2", "--evaluate-every", "7", "--noise", "4", "--streams", "3", "--batch-schedule", ONCE], STEPS, None),
}


def budget_for(options, share):
    """Of what the usual step needs: a larger batch presses more."""
    accumulate = [option for option in ("--accumulate", "2") if "--accumulate" in options]
    return without(WORKLOAD, 4, *accumulate).peak * share // 100


def same_bits(what, options, steps):
    # promise: surprise-is-slow
    @sentence(f"{WORKLOAD} with {what}: the same bits, within {' and '.join(f'{share} %' for share in SHARES)} of the usual peak")
    def _():
        plain = without(WORKLOAD, steps, *options)
        for share in SHARES:
            budget = budget_for(options, share)
            finished = within_budget(WORKLOAD, steps, *options, budget=budget, via="hasty")
            same_in_budget(plain, finished, budget)
            require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")


def hardly_slower(what, options, steps, unlike):
    # promise: surprise-is-slow
    @sentence(f"{WORKLOAD} with {what}: never slower than on demand by more than a tenth, and soon back on plan")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget = budget_for(options, SHARES[1])
        planned, on_demand = (within_budget(WORKLOAD, steps, *options, budget=budget, planning=how, env=COPIES) for how in ("wait", "off"))
        times, before = step_times(planned), step_times(on_demand)
        require(sum(times) <= NEVER_WORSE * sum(before), f"planned {times}", f"on demand {before}", planned.describe())
        if unlike is None:
            return
        off_plan = {step + late for step in unlike for late in range(BACK + 1)} | set(range(ALIKE_FROM)) | {steps - 1}
        on_plan = {step: ms for step, ms in enumerate(times) if step not in off_plan}
        kinds = [[step for step in on_plan if step < steps // 2], [step for step in on_plan if step >= steps // 2]] if "good" in what else [on_plan]
        late = {step: times[step] for kind in kinds for step in kind if times[step] > CLOSE * usual([times[one] for one in kind])}
        require(not late, f"steps that take longer than the others: {late}", f"all: {times}", planned.describe())


@sentence(f"{WORKLOAD} with a batch size that changes for good: soon as fast as if it had been that size from the start")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    budget = budget_for([], SHARES[1])
    changed, always = (step_times(within_budget(WORKLOAD, STEPS, "--batch-schedule", sizes, budget=budget, env=COPIES))
                       for sizes in (FOR_GOOD, schedule((STEPS, BATCH * 3 // 4))))
    since = STEPS // 2 + FOLLOWS_SIZE + BACK
    took, takes = usual(changed[since:-1]), usual(always[since:-1])
    require(took <= AS_FROM_THE_START * takes, f"{took} ms, and {takes} ms from the start", f"{changed}", f"{always}")


@sentence(f"{WORKLOAD} with an evaluation after every second step: all steps but the first go by plan, and operations are recomputed")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    finished = within_budget(WORKLOAD, STEPS, "--evaluate-every", "2", budget=budget_for([], SHARES[1]))
    planned, replayed = finished.summary["devices"][0]["planned"]["planned_iterations"], finished.summary["replayed"]["by_plan_count"]
    each = 2 if WORKLOAD == "lstm" else 1  # two steps and the evaluation are one iteration there
    require(each * planned >= STEPS - FIRST - 2, f"{planned} of {STEPS} by plan", finished.describe())
    require(replayed > 0 or WORKLOAD == "lstm", "nothing was recomputed", finished.describe())


for name, (arguments, count, exceptions) in CHANGES.items():
    same_bits(name, arguments, count)
    hardly_slower(name, arguments, count, exceptions)
finish()
