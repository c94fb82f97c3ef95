#!/usr/bin/env python3
"""Beside a second library that stands in front of the driver a budget is kept, or the user is told that it is not; and the
program's results are its own.

usage: second.py SECOND SECOND_LOOKUPS PROGRAM LINKED_PROGRAM"""
import os
import sys

from harness import DEVICE, PRELOAD, TINY, finish, require, run, same_in_budget, same_results, sentence

SECOND, LOOKUPS, PROGRAM, LINKED = (os.path.abspath(path) for path in sys.argv[1:5])
PROGRAMS = {"a linked program": [LINKED, "linked"], "a program that opens the driver": [PROGRAM, "dlsym"], "the runtime": ["mlp", *TINY["mlp"]]}
SECONDS = {"one of the same names": SECOND, "one that answers look-ups": LOOKUPS}
PAST = {"SECOND_DRIVER": os.path.join(DEVICE, "libcuda.so.1")}  # it has the driver by its file
plain = {name: run(command) for name, command in PROGRAMS.items()}


def goes_past(what, second, first):
    """The second library is the first one asked: as the loader has it, or because it answers look-ups."""
    return first if what == "a linked program" else second == LOOKUPS


def started(what, second, first, budget, env):
    """In a plain preload, in either order; `first` is None: by the command, which puts ours before what there is."""
    if first is None:
        return run(PROGRAMS[what], budget=budget, options=["--log", "warn"], env={"LD_PRELOAD": second, **env})
    order = f"{second}:{PRELOAD}" if first else f"{PRELOAD}:{second}"
    return run(PROGRAMS[what], via="none", env={"LD_PRELOAD": order, **env, **({"SPILLWAY_BUDGET": budget} if budget else {})})


def beside(what, kind, second, first):
    place = {True: "before spillway", False: "behind spillway", None: "under the command"}[first]

    @sentence(f"{what}, with {kind} {place} that passes calls on: within the budget")
    def _():
        budget = plain[what].peak // 2
        same_in_budget(plain[what], started(what, second, first, budget, {}), budget)

    @sentence(f"{what}, with {kind} {place} that has the driver by its file: the budget is kept, or that it is not is said")
    def _():
        budget = plain[what].peak // 2
        finished = started(what, second, first, budget, PAST)
        said = finished.errors.count(f"spillway: SPILLWAY_BUDGET={budget} ")
        if first is None and second == LOOKUPS:  # tried as a program does that opens the driver
            require(finished.status == 2 and not finished.output, "the program was started", finished.describe())
            require(said == 1 and f"cannot be kept: {second} is preloaded" in finished.errors, finished.describe())
        elif goes_past(what, second, first):
            same_results(plain[what], finished)
            require(finished.peak > budget, "the budget was kept", finished.peak)
            require(said == 1 and f"was not kept: {PAST['SECOND_DRIVER']} was started past spillway" in finished.errors, finished.describe())
        else:
            same_in_budget(plain[what], finished, budget)
            require(said == 0, finished.describe())

    # promise: good-guest
    @sentence(f"{what}, with {kind} {place}: without a budget as if spillway were not there")
    def _():
        for env in ({}, PAST):
            finished = started(what, second, first, None, env)
            same_results(plain[what], finished)
            require("not kept" not in finished.errors and "cannot be kept" not in finished.errors, finished.describe())


for what in PROGRAMS:
    for kind, second in SECONDS.items():
        for first in (True, False, None):
            beside(what, kind, second, first)


@sentence("what the other library says is heard from the command and from the program, and no third time")
def _():
    finished = started("the runtime", SECOND, None, plain["the runtime"].peak // 2, {"SECOND_SAYS": "1"})
    require(finished.status == 0 and finished.errors.count("second is here") == 2, finished.describe())


@sentence("that a budget was not kept can be silenced, and is not said of one that was not asked for or of a process without CUDA")
def _():
    order = {"LD_PRELOAD": f"{SECOND}:{PRELOAD}", "SPILLWAY_BUDGET": 1 << 20, **PAST}
    for more in ({"SPILLWAY_LOG": "quiet"}, {"SPILLWAY_MODE": "off"}):
        finished = run([LINKED, "linked"], via="none", env={**order, **more})
        require(finished.status == 0 and not finished.errors, finished.describe())
    for command in (["true"], [sys.executable, "-S", "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(ctypes.c_int()))"]):
        idle = run(command, via="none", env=order)
        require(idle.status == 0 and not idle.errors, idle.describe())


finish()
