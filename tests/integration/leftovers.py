#!/usr/bin/env python3
"""Kernels that are given lists with room for more than are in them, as PyTorch's are: behind these lies what earlier calls
have left there, another tensor in each step. The iterations of such a program are found as those of any other.

usage: leftovers.py INCIDENTS TOUCHES"""
import functools
import json
import os
import subprocess
import sys
import tempfile

from following import COPIES, PLAN_IN_PLACE, RECOMPUTING, library_plans
from harness import ASKS_LESS, SPILLWAY, Skipped, environment, finish, nothing_left, no_misuse, require, run, same_results, sentence, succeeded, within
from touched import Seen

INCIDENTS, TOUCHES = map(os.path.abspath, sys.argv[1:])
FOLDER = tempfile.mkdtemp(prefix="spillway-leftovers-")
COSTS = {"SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 300000, "SIMGPU_PROFILE": "rtx4090", **ASKS_LESS}
STEPS = 20
SHARE = 60  # of the peak
MORE = ["1", "6", "6 --nothing"]  # places that nobody fills in: what the stack had, or some weight or nothing
PLACES = 3  # that are filled in
EVALUATING = "--at 9,13,17 --between evaluates"


def program(leftovers, *options):
    return [INCIDENTS, "--steps", str(STEPS), "--leftovers", *leftovers.split(), *options]


@functools.cache
def plain(leftovers):
    finished = run(program(leftovers), env=COSTS)
    succeeded(finished)
    return finished


def planned(leftovers, recompute):
    budget = plain(leftovers).peak * SHARE // 100
    plans = {"SPILLWAY_PLAN": "wait", **recompute} if library_plans() else {}
    finished = run(program(leftovers), budget=budget, via="hasty", env={**COSTS, **plans})
    same_results(plain(leftovers), finished)
    no_misuse(finished)
    within(budget, finished)
    nothing_left(plain(leftovers), finished)
    return finished


def plan_of(finished):
    return finished.summary["devices"][0]["planned"]


def follows_a_plan(leftovers, how, recompute):
    @sentence(f"{leftovers} places with what was left there, {how}: steps go by plan as soon as without")
    def _():
        finished = planned(leftovers, recompute)
        if not library_plans():
            raise Skipped("this library makes no plans")
        said = plan_of(finished)
        require(said["planned_iterations"] >= STEPS - PLAN_IN_PLACE and said["lost"] == 0, said, finished.describe())


def is_learned_from(leftovers):
    @sentence(f"{leftovers} places with what was left there: what kernels write, and whether they can be run again, is learned as without")
    def _():
        finished = planned(leftovers, RECOMPUTING)
        if not library_plans():
            raise Skipped("this library makes no plans")
        learned, without = (each.summary["devices"][0]["learned"] for each in (finished, planned("0", RECOMPUTING)))
        require(learned["replayable"] == without["replayable"] > 0, learned, without, finished.describe())


def shape_in_trace(leftovers):
    """The one that came most often."""
    path = os.path.join(FOLDER, "a.trace")
    traced = run(program(leftovers), options=["--mode", "trace", "--output", path], env=COSTS)
    same_results(plain(leftovers), traced)
    done = subprocess.run([SPILLWAY, "report", "--json", "--time-limit=0", path], env=environment({}), capture_output=True,
                          text=True, timeout=60, check=True)
    said = json.loads(done.stdout)
    require(said["iteration"], "no iteration was found", said["shapes"])
    return max(said["shapes"], key=lambda shape: shape["iterations"])


def is_seen_in_a_trace(leftovers):
    @sentence(f"{leftovers} places with what was left there: a trace shows the iteration from its first steps on")
    def _():
        require(shape_in_trace(leftovers)["iterations"] >= STEPS - PLAN_IN_PLACE, "found late")


for number in MORE:
    follows_a_plan(number, "with copies alone", COPIES)
    follows_a_plan(number, "recomputing", RECOMPUTING)
    if "--nothing" not in number:  # a kernel with arguments that may be left out is learned for each choice of them
        is_learned_from(number)
    is_seen_in_a_trace(number)


@sentence("an evaluation that leaves out an operand: training goes by plan, and is shown in a trace, as if it had none")
def _():
    with_it, without = f"1 --optional {EVALUATING}", f"0 {EVALUATING}"
    shown = [shape_in_trace(each)["iterations"] for each in (with_it, without)]
    require(shown[0] >= shown[1] > 0, f"shown in {shown[0]} iterations, in {shown[1]} without", shown)
    if library_plans():
        went = [plan_of(planned(each, COPIES)) for each in (with_it, without)]
        require(went[0]["planned_iterations"] >= went[1]["planned_iterations"] > 0, "fewer by plan", *went)


@sentence("kernels touch what they are given and hardly anything else, once some steps have shown what is not trusted")
def _():
    seen = Seen(TOUCHES, program("6"), COSTS)
    listed = [len(op.touches) for op in seen.operations if "mix_listed" in (op.name or "")]
    later = listed[len(listed) // 4:]
    require(later and all(count == PLACES for count in later), f"touched: {sorted(set(later))}")


finish()
