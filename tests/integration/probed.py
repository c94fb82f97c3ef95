#!/usr/bin/env python3
"""A trace whose kernels were tried knows what can be recomputed: its curve is what a run within a budget plans, and the results stay the
same."""
import json
import os
import subprocess
import tempfile

from harness import SPILLWAY, environment, finish, program, require, run, same_in_budget, same_results, sentence, succeeded

SLOW = {"SIMGPU_PROFILE": "rtx4090", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000", "SIMGPU_MEMORY": "4GiB"}
WAITING = {**SLOW, "SPILLWAY_PLAN": "wait"}
COMMAND = ["replay", "--kinds", "plain,matmul,in-place,clock,half,old,atomics", "--rounds", "3", "--steps", "40"]
PLANNED = 1.05  # times what was promised, at most, either way, that a run predicts
SOON = 8  # steps in which a run that begins from nothing has not tried all kernels
EXIT_USAGE = 2


def spillway(*arguments, env=None):
    return subprocess.run([SPILLWAY, *arguments], env=environment({**WAITING, **(env or {})}), capture_output=True, text=True, timeout=200, check=False)


def answer(*arguments):
    done = spillway(*arguments)
    require(done.returncode == 0, arguments, done.stdout, done.stderr)
    return done.stdout


def traced(folder, *options, profile="off", command=COMMAND):
    """What a trace with these options is, and the run that it is of."""
    trace = os.path.join(folder, "trace" + "".join(options))
    finished = run(command, env={**WAITING, "SPILLWAY_PROFILE": profile}, options=["--mode", "trace", *options, "--output", trace], timeout=200)
    succeeded(finished)
    return trace, finished


def refused(trace):
    """Kernels that are not replayed."""
    return {op["name"] for op in json.loads(answer("export", trace))["ops"] if not op["replayable"] and "copy" not in op["name"]}


@sentence("what a kernel's second launch shows is in the trace and its report, and the program's results are the same")
def _():
    plain = run(COMMAND, env=SLOW)
    with tempfile.TemporaryDirectory(prefix="spillway-probed-") as folder:
        trace, finished = traced(folder, "--probe")
        same_results(plain, finished)
        found = refused(trace)
        require("clock_kernel" in found and found <= {"clock_kernel", "mixed_kernel"}, found)
        told = {entry["kernel"]: entry["reason"] for entry in json.loads(answer("report", trace, "--json", "--time-limit=0"))["not_replayed"]}
        require(told.get("clock_kernel") == "differs", told)
        untried, finished = traced(folder)
        same_results(plain, finished)
        require(not refused(untried), refused(untried))


def as_promised(folder, command, shares):
    plain = run(command, env=SLOW)
    trace, _ = traced(folder, "--probe", command=command)
    for share in shares:
        budget = plain.peak * share // 100
        promised = json.loads(answer("plan", trace, "--json", f"--budget={budget}"))
        finished = run(command, budget=budget, env={**WAITING, "SPILLWAY_PROFILE": "off"}, timeout=200)
        same_in_budget(plain, finished, budget)
        predicted = finished.summary["devices"][0]["planned"]["predicted_us"]
        print(f"# {command[0]} at {share} %: {promised['time_us']:.0f} us promised, {predicted:.0f} planned")
        require(1 / PLANNED <= predicted / promised["time_us"] <= PLANNED, promised["time_us"], predicted)


@sentence("what the trace promises of a budget is what a run within it plans")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-probed-") as folder:
        as_promised(folder, COMMAND, (70, 55, 40))


@sentence("so it is where what the run takes for itself, and small allocations, are a good part of the budget")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-probed-") as folder:
        as_promised(folder, ["crossing", "--steps", "40"], (80, 60, 40))


@sentence("what kernels without types only read is in the trace as it was found out, and in its plan")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-probed-") as folder:
        alone = []
        for options in ((), ("--probe",)):
            trace, _ = traced(folder, *options, command=["crossing-untold", "--steps", "40"])
            ops = [op for op in json.loads(answer("export", trace))["ops"] if not op["name"].startswith(("copy", "set"))]
            alone.append(sum(tensor not in op["writes"] for op in ops for tensor in op["reads"]))
        print(f"# tensors that launches only read: {alone[0]} without, {alone[1]} with their probes")
        require(alone[0] < 20 < alone[1], alone)


@sentence("a run of the same program recomputes from its first plan on, by what the trace found out")
def _():
    few = [*COMMAND[:-1], str(SOON)]
    plain = run(few, env=SLOW)
    budget = plain.peak * 55 // 100
    with tempfile.TemporaryDirectory(prefix="spillway-probed-") as folder:
        profile = os.path.join(folder, "profile")
        traced(folder, "--probe", profile=profile)
        for settings, at_least in (({"SPILLWAY_PROFILE": "off"}, 0), ({"SPILLWAY_PROFILE": profile}, 1)):
            finished = run(few, budget=budget, env={**WAITING, **settings}, timeout=200)
            same_in_budget(plain, finished, budget)
            require((finished.summary["replayed"]["by_plan_count"] > 0) == bool(at_least), settings, finished.summary["replayed"])


@sentence("it is refused together with settings by which nothing is tried")
def _():
    for setting, option in (("SPILLWAY_PLAN", "--plan"), ("SPILLWAY_RECOMPUTE", "--recompute")):
        done = spillway("trace", "--probe", option, "off", "--", *program(COMMAND))
        require(done.returncode == EXIT_USAGE, done.returncode, done.stderr)
        require(f"SPILLWAY_PROBE=on and {setting}=off are refused together; accepted: one of them" in done.stderr, done.stderr)
    done = spillway("trace", "--probe=perhaps", "--", *program(COMMAND))
    require(done.returncode == EXIT_USAGE and "SPILLWAY_PROBE=perhaps is refused; accepted: on, off" in done.stderr, done.stderr)


finish()
