#!/usr/bin/env python3
"""Drivers from 11.8 to 13.0, each with the calls and the forms of calls that it had: programs of their time, and older ones,
get the same bits within a budget; where the driver tells no parameters everything stays resident, and that is said once.

usage: ages.py PROGRAM      tests/integration/ages.c"""
import os
import sys
import tempfile

from harness import BUILD, EXIT_CUDA_ERROR, TINY, finish, no_misuse, require, run, same_in_budget, same_results, sentence, succeeded

PROGRAM = sys.argv.pop(1)
AGES = ("11.8", "12.2", "12.4", "12.8", "13.0")
LAYOUTS_SINCE = "12.4"
SAYS = "does not say what parameters kernels take"

# Small kernels on a slow link, for so many steps that they have been tried and another plan is followed.
REPLAY = ["replay", "--kinds", "plain,clock", "--rounds", "10", "--rows", "256", "--steps", "20"]
LEARNING = {"SIMGPU_PROFILE": os.path.join(BUILD, "tests/simgpu/rtx4090.profile"), "SIMGPU_SCALE_BYTES": "500",
            "SIMGPU_SCALE_OPS": "7000", "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on", "SPILLWAY_LOG": "info"}

folder = tempfile.TemporaryDirectory(prefix="spillway-ages-")


def number(age):
    major, minor = map(int, age.split("."))
    return major * 1000 + minor * 10


def on(age):
    """What has programs find the driver of this age."""
    place = os.path.join(folder.name, age)
    if not os.path.exists(place):
        os.mkdir(place)
        os.symlink(os.path.join(BUILD, "tests", "integration", f"libaged-{age}.so"), os.path.join(place, "libcuda.so.1"))
    return {"LD_LIBRARY_PATH": place}


def said_once(finished, age):
    expected = int(number(age) < number(LAYOUTS_SINCE))
    require(finished.errors.count(SAYS) == expected, f"said {finished.errors.count(SAYS)} times", finished.describe())
    require("Please report" not in finished.errors, finished.describe())


def of_its_time(age, written_for, flags):
    streams = "each thread's own default stream" if flags else "the default stream of all"

    @sentence(f"a driver of {age}, a program written for {written_for} with {streams}: the same within 60 %, and bytes had to move")
    def _():
        command = [PROGRAM, str(number(written_for)), str(flags)]
        plain = run(command, env=on(age))
        succeeded(plain)
        budget = plain.peak * 6 // 10
        finished = run(command, budget=budget, env=on(age))
        same_in_budget(plain, finished, budget)
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")
        require(finished.summary["escaped_lookups"] == 0, "something went by", finished.summary["escaped_lookups"])
        said_once(finished, age)


def with_kernels(age):
    command = ["mlp", *TINY["mlp"]]

    if number(age) >= number(LAYOUTS_SINCE):
        @sentence(f"a driver of {age} tells what kernels get: tensors leave and come back")
        def _():
            plain = run(command, env=on(age))
            finished = run(command, budget=plain.peak * 6 // 10, env=on(age))
            same_in_budget(plain, finished, plain.peak * 6 // 10)
            require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")
            said_once(finished, age)
        return

    @sentence(f"a driver of {age} does not tell what kernels get: everything stays resident, said once")
    def _():
        plain = run(command, env=on(age))
        finished = run(command, budget=plain.peak * 15 // 10, env=on(age))
        same_results(plain, finished)
        no_misuse(finished)
        for direction in ("h2d", "d2h"):
            require(finished.copied(direction) == plain.copied(direction), f"{direction}: something was moved")
        said_once(finished, age)

    @sentence(f"what does not fit is out of memory with a driver of {age}, not a fault")
    def _():
        plain = run(command, env=on(age))
        finished = run(command, budget=plain.peak // 2, env=on(age))
        require(finished.status == EXIT_CUDA_ERROR, finished.describe())
        no_misuse(finished)
        said_once(finished, age)


def traced(age):
    @sentence(f"a driver of {age}: a program is traced, and the device sees the same calls")
    def _():
        command = ["mlp", *TINY["mlp"]]
        plain = run(command, env=on(age))
        finished = run(command, options=["--mode", "trace", "--output", "/dev/null"], env={**on(age), "SPILLWAY_TIMED": "all"})
        same_results(plain, finished)
        for count in ("launches", "allocations", "frees", "copies", "sets", "map_operations"):
            require(plain.stats[count] == finished.stats[count], count, plain.stats[count], finished.stats[count])


def run_again(age, handle):
    @sentence(f"a driver of {age}: kernels known by CU{handle} are tried, and run again by a plan")
    def _():
        plain = run(REPLAY, env={**LEARNING, **on(age)})
        succeeded(plain)
        finished = run(REPLAY, budget=plain.peak * 6 // 10, env={**LEARNING, **on(age), "SIMGPU_LAUNCH_HANDLE": handle})
        same_in_budget(plain, finished, plain.peak * 6 // 10)
        require(finished.summary["replayed"]["by_plan_count"] > 0, "nothing was run again", finished.summary["replayed"])
        require("clock_kernel" in finished.errors, "no kernel has a name", finished.describe())


for driver in AGES:
    for program_age in ("10.0", "11.8", "12.0", "12.8", "13.0") if driver == AGES[-1] else sorted({"11.8", driver}):
        for per_thread in (0, 2):
            of_its_time(driver, program_age, per_thread)
    if number(driver) >= number("12.0"):  # the runtime asks for cuLibraryLoadData
        with_kernels(driver)
        traced(driver)
for handle in ("kernel", "function"):
    run_again("12.4", handle)  # which library a kernel is of, the driver tells from 12.5 on
finish()
