#!/usr/bin/env python3
"""sketches.py - nets by their memory alone (tests/workloads/sketch), on a device on which a byte costs as much as many do: nothing makes
a step of a steady run much longer than the others."""
import json
import os
import re
import statistics
import subprocess
import tempfile

from following import library_plans, step_times
from harness import SPILLWAY, Skipped, environment, finish, require, run, same_in_budget, sentence, succeeded

DEVICE = {"SIMGPU_GRANULARITY": "16KiB", "SIMGPU_MEMORY": "1GiB", "SIMGPU_SCALE_BYTES": "256", "SIMGPU_QUERIES": "16"}
SMALL = ["--size", "0.0625", "--step-times", "--cost"]
WORST = 1.5


def sketch(name, steps, cost, env):
    """Within 60 % of what it allocates, once for each environment."""
    command, share = ["sketch", name, "--steps", str(steps), *SMALL, str(cost)], 60
    plain = run(command, env=DEVICE)
    succeeded(plain)
    peak = int(re.search(r"^peak_bytes (\d+)", plain.output, re.MULTILINE).group(1))
    finished = [run(command, budget=peak * share // 100, env={**DEVICE, "SPILLWAY_PLAN": "wait", **one}, timeout=300) for one in env]
    for one in finished:
        one.plain = plain
        same_in_budget(plain, one, peak * share // 100)
    return finished


@sentence("adjoint within 60 %, in a second run: no step takes much longer than the others, also where a kernel is looked at again")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    with tempfile.TemporaryDirectory(prefix="spillway-sketches-") as folder:
        profile = {"SPILLWAY_PROFILE": os.path.join(folder, "profile")}
        _, again = sketch("adjoint", 28, 4, [profile, profile])
    steady = step_times(again)[4:]
    require(max(steady) <= WORST * statistics.median(steady), f"{max(steady):.2f} ms, {statistics.median(steady):.2f} ms usually")


@sentence("clip within 60 %: a step in which the program takes another branch takes little longer, and so does the one behind it")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    (finished,) = sketch("clip", 40, 4, [{}])
    steady = step_times(finished)[20:]
    require(max(steady) <= WORST * statistics.median(steady), f"{max(steady):.2f} ms, {statistics.median(steady):.2f} ms usually")


@sentence("evaluate within 60 %: the steps behind an evaluation take no longer than others")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    (finished,) = sketch("evaluate", 46, 4, [{}])
    times = step_times(finished)
    require(max(times[40:43]) <= WORST * statistics.median(times[30:38]), times[30:])


def by_plan(name, what, steps, most):
    """The last of them within 60 %, in multiples of what they take without."""

    @sentence(f"{name} within 60 %: {what} are moved by plan, and steps take at most {most} times of what they do without")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        (finished,) = sketch(name, steps, 4, [{}])
        times = sum(step_times(finished)[-20:]) / sum(step_times(finished.plain)[-20:])
        require(times <= most, f"{times:.2f} times")


by_plan("buckets", "sequences of four lengths in turn", 60, 6)
by_plan("moe", "tensors of other sizes in each step", 45, 4)


def report(trace, *options):
    return subprocess.run([SPILLWAY, "report", "--time-limit=0", *options, trace], env=environment({}), capture_output=True, text=True, timeout=120,
                          check=True).stdout


def of_any_size(name, what):
    """Ten of twelve steps are found, the first two are not; eight at most are timed."""

    @sentence(f"{name} traced: the report knows iterations of {what} by their kernels, shows the largest that was timed, and says so")
    def _():
        with tempfile.TemporaryDirectory(prefix="spillway-sketches-") as folder:
            trace = os.path.join(folder, "trace")
            succeeded(run(["sketch", name, "--steps", "12", *SMALL, "4"], options=["--mode", "trace", "--output", trace], env=DEVICE))
            told, text = json.loads(report(trace, "--json")), report(trace)
        found = told["iteration"]
        require(found and found["sizes_change"] and found["timed"], told["shapes"])
        shape = told["shapes"][found["shape"]]
        require(shape["iterations"] >= 9, shape)
        require(shape["least_peak_bytes"] < shape["most_peak_bytes"] <= told["devices"][0]["peak_bytes"], shape)
        require(found["peak_bytes"] >= 0.9 * shape["most_peak_bytes"], found["peak_bytes"], shape)
        require("tensors have other sizes each time" in text and "this is the largest" in text, text)


of_any_size("buckets", "sequences of four lengths in turn")
of_any_size("moe", "tensors of other sizes in each step")


finish()
