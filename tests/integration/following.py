"""following.py - what the tests of planned execution share: programs in which plans are made early, and what a plan changes.

The programs are the smallest there are, on a device on which they cost what big models cost (likeness.py): a step takes a
millisecond of ours and some hundred of the device's. Whether a program is on its plan is judged by its own step times, on
the device's clock: a plan that is followed makes every step of one kind take the same time, and less than on demand."""
import functools
import re
import statistics
import subprocess

from harness import ASKS_LESS, SPILLWAY, environment, require, run, succeeded
from likeness import LIKE, device_like, program_like

WAIT = {"SPILLWAY_PLAN": "wait"}  # the program stands still while its plan is made: each run is like the other
COPIES = {"SPILLWAY_RECOMPUTE": "off"}  # plans that only copy, which is what their predictions and bounds are about
RECOMPUTING = {"SPILLWAY_RECOMPUTE": "on"}
PLAN_IN_PLACE = 5  # iterations by whose end there is a plan
ALIKE_FROM = PLAN_IN_PLACE + 1  # steps: the first one on plan still finds things where the plan did not leave them
CLOSE = 1.08  # steps that a plan makes alike, though memory is cut to size and other plans are tried meanwhile


@functools.cache
def library_plans():
    """Whether the library is one that makes plans: one that does not has to hold to everything but speed."""
    told = subprocess.run([SPILLWAY, "run", "--help"], env=environment({}), capture_output=True, text=True, check=True)
    return "--plan" in told.stdout


def tiny(name, steps, *more):
    return program_like(name, steps, *more, size="tiny")


def settings(name, planning="wait", profile=None):
    return {**device_like(name, profile or LIKE[name].profile, "tiny"), **ASKS_LESS, **({"SPILLWAY_PLAN": planning} if library_plans() else {})}


@functools.cache
def without(name, steps, *more, profile=None):
    """The run without spillway that all others are held against."""
    finished = run(tiny(name, steps, *more), env=device_like(name, profile or LIKE[name].profile, "tiny"))
    succeeded(finished)
    return finished


def within_budget(name, steps, *more, budget, planning="wait", profile=None, env=None, **how):
    return run(tiny(name, steps, *more), budget=budget, env={**settings(name, planning, profile), **(env or {})}, **how)


def step_times(finished):
    """Milliseconds of the device from each step's begin to the next one's; of the last one to its end."""
    said = re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE)
    require(said, "no step times", finished.describe())
    return [float(ms) for ms in said.group(1).split()]


def usual(times):
    return statistics.median(times)


def schedule(*parts):
    """Batch sizes for --batch-schedule: (how many steps, size) after one another."""
    return ",".join(str(size) for count, size in parts for _ in range(count))

