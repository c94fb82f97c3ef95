#!/usr/bin/env python3
"""What happens to a program in the middle of a step, while its plan is being made or followed: children, contexts that go,
tensors that are made anew or known by their address from then on, threads that submit at once. The bits stay the same, the
budget holds, and the program is back on a plan.

usage: planned-incidents.py INCIDENTS"""
import functools
import os
import sys

from following import COPIES, RECOMPUTING, library_plans
from harness import ASKS_LESS, Skipped, finish, nothing_left, no_misuse, require, run, same_results, sentence, within

INCIDENTS = os.path.abspath(sys.argv.pop(1))
COSTS = {"SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 300000, "SIMGPU_PROFILE": "rtx4090", **ASKS_LESS}
STEPS = 20
SHARE = 55  # of the peak
EARLY, LATE = "3,4,5,6", "10"  # steps in which the iteration is recorded and planned; one in which the plan is followed
KNOWN_AFTER = 5  # steps until there is a plan
AS_EVER = 1.25  # what a step by plan may take, the one of the incident with it, of what it takes where nothing happens


@functools.cache
def plain(*options):
    return run([INCIDENTS, "--steps", str(STEPS), *options], env=COSTS)


@functools.cache
def budget():
    return plain().peak * SHARE // 100


def planned(options, planning, recompute):
    """Steps by plan are held against each other, not against the best: a plan that is waited for may be one that is found at once."""
    plans = {"SPILLWAY_PLAN": planning, **recompute} if library_plans() else {}
    via = "hasty" if planning == "wait" else "command"
    return run([INCIDENTS, "--steps", str(STEPS), *options], budget=budget(), via=via, env={**COSTS, **plans}, timeout=60)


@functools.cache
def undisturbed_us():
    return plan_of(planned((), "wait", COPIES))["step_us"]


def same(options, planning, recompute=RECOMPUTING):
    """The run, which was under pressure and right."""
    finished = planned(tuple(options), planning, recompute)
    same_results(plain(*options), finished)
    no_misuse(finished)
    within(budget(), finished)
    require("the driver refused" not in finished.errors or "offer" in options, "a call of ours was refused", finished.describe())
    require(finished.copied("d2h") > plain(*options).copied("d2h"), "nothing was moved, so nothing was tested")
    return finished


def plan_of(finished):
    return finished.summary["devices"][0]["planned"]


# what it is called: options, how many iterations are by plan at least, how often the course may be left, how many plans there are
INCIDENT = {
    "children that exit": (["child-exits"], STEPS - KNOWN_AFTER, 0, 1),
    "children that become another program": (["child-becomes"], STEPS - KNOWN_AFTER, 0, 1),
    "children that work without the device": (["child-works"], STEPS - KNOWN_AFTER, 0, 1),
    "children that call the device all the same": (["child-uses"], STEPS - KNOWN_AFTER, 0, 1),
    "a weight that is offered to other processes": (["offer"], STEPS - KNOWN_AFTER, 0, 1),
    "another context that comes and goes": (["another"], STEPS - KNOWN_AFTER - 3, 1, 1),
    "a graph that knows two weights by address": (["graph"], STEPS - 2 * KNOWN_AFTER - 3, 2, 2),
    "a device that is reset": (["renew"], STEPS - KNOWN_AFTER - 3, 1, 1),
    "a device that is reset between two steps": (["--between", "renew"], STEPS - KNOWN_AFTER - 3, 1, 1),
    "a context of its own that is destroyed": (["--own-context", "renew"], STEPS - KNOWN_AFTER - 3, 1, 1),
    "weights that are made anew": (["anew"], STEPS - KNOWN_AFTER - 3, 1, 1),
    "weights that are made anew between two steps": (["--between", "anew"], STEPS - KNOWN_AFTER - 3, 1, 1),
}


def while_planning(what, options):
    @sentence(f"{what}, while the iteration is learned and planned on a thread: the same bits within {SHARE} % of the peak")
    def _():
        same(["--at", EARLY, *options], "on")


def on_course(what, options, by_plan, lost, plans):
    # promise: surprise-is-slow
    @sentence(f"{what}, while a plan is followed: the same bits within {SHARE} % of the peak, and back on a plan")
    def _():
        counted = []
        for recompute in (COPIES, RECOMPUTING) if lost else (COPIES,):
            finished = same(["--at", LATE, *options], "wait", recompute)
            if not library_plans():
                raise Skipped("this library makes no plans")
            counted.append(plan_of(finished))
            require(counted[-1]["planned_iterations"] >= by_plan and counted[-1]["lost"] <= lost, counted[-1], finished.describe())
        # With copies alone each plan stays until something happens; what is learned makes for another one.
        require(counted[-1]["plans"] >= counted[0]["plans"] == plans, counted)
        took, usual = counted[0]["step_us"], undisturbed_us()
        require(took <= AS_EVER * usual, f"a step by plan takes {took} us, undisturbed {usual} us", finished.describe())


@sentence("nothing is left behind where nothing happens")
def _():
    nothing_left(plain(), same([], "wait"))


@sentence("two threads that submit in turn, on streams of their own, and share weights: one plan for both is followed")
def _():
    finished = same(["--nets", "2", "--turns"], "wait")
    if library_plans():
        counted = plan_of(finished)
        require(counted["planned_iterations"] >= STEPS - KNOWN_AFTER - 2 and counted["lost"] == 0, counted)


for how in ("wait", "on"):
    @sentence(f"two and three threads that submit as they come, and share weights, plans made with {how}: the same bits")
    def _(how=how):
        for nets in ("2", "3"):
            for _ in range(2):
                same(["--nets", nets], how)


@sentence("weights that are made anew before every sixth step: one plan, which finds them again each time")
def _():
    steps = 2 * STEPS
    options = ("--steps", str(steps), "--between", "--at", ",".join(str(step) for step in range(6, steps, 6)), "anew")
    finished = same(options, "wait", COPIES)
    if library_plans():
        counted = plan_of(finished)
        require(counted["plans"] == 1 and counted["planned_iterations"] >= steps - KNOWN_AFTER - 3, counted, finished.describe())


@sentence("weights that are made anew in the midst of three steps in a row, so that twice in a step others come: it stays on its course")
def _():
    steps = 2 * STEPS
    finished = same(("--steps", str(steps), "--at", "10,11,12", "anew"), "wait", COPIES)
    if library_plans():
        counted = plan_of(finished)
        require(counted["lost"] == 0 and counted["planned_iterations"] >= steps - KNOWN_AFTER - 3, counted, finished.describe())


for name, (arguments, iterations, times_lost, made) in INCIDENT.items():
    while_planning(name, arguments)
    on_course(name, arguments, iterations, times_lost, made)
finish()
