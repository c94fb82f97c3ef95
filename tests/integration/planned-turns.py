#!/usr/bin/env python3
"""Equal nets that are trained in turn, and an evaluation after an odd number of steps: what comes behind it begins like the iteration of all
nets, with the tensors of another one. The plan waits for its turn.

usage: planned-turns.py TURNS"""
import os
import sys

from following import COPIES, WAIT, library_plans, step_times, usual
from harness import ASKS_LESS, Skipped, finish, no_misuse, require, run, same_results, sentence, succeeded, within

TURNS = os.path.abspath(sys.argv.pop(1))
COSTS = {"SIMGPU_GRANULARITY": "4KiB", "SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 600000, "SIMGPU_PROFILE": "rtx4090", **ASKS_LESS}
SHARE = 60  # of the peak
STEPS, EVERY = 49, 7
PLANNED_FROM = 16  # steps
BACK = 2  # steps behind an evaluation that may be on demand
CLOSE = 1.05  # to the step with enough memory: the plan hides all copies


@sentence(f"two equal nets in turn, evaluated after every {EVERY} steps: {BACK} steps later all is by plan, within {SHARE} % of the peak")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    command = [TURNS, "--nets", "2", "--steps", str(STEPS), "--evaluate-every", str(EVERY)]
    plain = run(command, env=COSTS)
    succeeded(plain)
    budget = plain.peak * SHARE // 100
    finished = run(command, budget=budget, env={**COSTS, **WAIT, **COPIES})
    same_results(plain, finished)
    no_misuse(finished)
    within(budget, finished)
    most = CLOSE * usual(step_times(plain))
    late = {step: ms for step, ms in enumerate(step_times(finished)) if step >= PLANNED_FROM and BACK <= step % EVERY < EVERY - 1 and ms > most}
    require(not late, f"steps that take longer than {most:.1f} ms: {late}", finished.describe())


finish()
