#!/usr/bin/env python3
"""sim.py PROGRAM - PyTorch as its maker ships it for CUDA trains PROGRAM on the simulated device, with and without spillway.

The arithmetic of the wheel's kernels is replaced by functions of all that a launch is given: a byte that is lost, stale or in another place
changes every fingerprint after it. So fingerprints that are the same say that every byte was where it belonged, whenever it was looked at.

./dev torch-sim sets it up; ONLY=text runs the sentences with that text in them. With TORCH_SIM=short each program is run at fewer budgets, and
one alone on a device that lies: what continuous integration has time for."""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import (BUILD, SPILLWAY, Failed, Skipped, environment, finish, no_misuse, require, require_found_out, run, same_results, sentence,
                     succeeded, within)
from simulated import ASYNC, NATIVE, ROWS, SCALE, command, compiles_not, is_planned_for, settings

PROGRAM = sys.argv[1]
PYTHON, LAYOUTS = os.environ["TORCH_PYTHON"], os.environ["TORCH_LAYOUTS"]
SHORT = os.environ.get("TORCH_SIM") == "short"
SHARES = (60, 40) if SHORT else (100, 80, 60, 40)  # % of the peak
PATIENCE = 240
FIRST = next(iter(ROWS[PROGRAM]))
# A device that lies: at how many places this has to show of those tried (and at how many it is tried), once or from there on: most waits
# order what another one orders as well.
BREAKS = {"skip-copy": (3, 12, ""), "early-event": (1, 3, "+"), "drop-wait": (1, 3, "+"), "wrong-map": (2, 12, "")}
BROKEN = BREAKS if PROGRAM == "mlp" or not SHORT else {}
folder = tempfile.TemporaryDirectory(prefix="spillway-torch-")


def trained(row, *more, budget=None, steps=None, allocator=ASYNC, env=None, options=()):
    what = ROWS[PROGRAM][row]
    if what.compiles and compiles_not(PYTHON):
        raise Skipped(compiles_not(PYTHON))
    return run(command(PYTHON, PROGRAM, (*what.options, *more), steps or what.steps), budget=budget, options=options, timeout=PATIENCE,
               env={**settings(BUILD, LAYOUTS, allocator), "SPILLWAY_PLAN": "wait", "SPILLWAY_LOG": "info", **(env or {})})


def told(finished):
    """What the program says about memory."""
    return json.loads(re.search(r"^memory (.*)$", finished.output, re.MULTILINE).group(1))


@functools.cache
def plain(row, *more, steps=None, allocator=ASYNC):
    finished = trained(row, *more, steps=steps, allocator=allocator)
    succeeded(finished)
    require("has no layout" not in finished.errors, "the table lacks kernels", finished.errors)
    return finished


def peak(row):
    """Of what the program has allocated at once. The device counts more: what is freed stays in the driver's pool for another of its size."""
    return told(plain(row))["peak_bytes"]


@functools.cache
def budgeted(row, share):
    return trained(row, budget=peak(row) * share // 100, env={"SIMGPU_SABOTAGE": "skip-copy:1000000000"})


def same_within(row, share):
    finished = budgeted(row, share)
    same_results(plain(row), finished)
    no_misuse(finished)
    within(peak(row) * share // 100, finished)
    return finished


@sentence("two runs are the same")
def _():
    same_results(plain(FIRST), trained(FIRST))
    no_misuse(plain(FIRST))


for row in ROWS[PROGRAM]:
    for share in SHARES:
        @sentence(f"{row}: the same fingerprints within {share} % of the peak")
        def _(row=row, share=share):
            finished = same_within(row, share)
            moved = finished.copied("d2h") - plain(row).copied("d2h")
            print(f"# {finished.peak} of {peak(row) * share // 100} bytes, {moved} bytes moved out, {finished.seconds:.1f} s", flush=True)
            if share <= 60:
                require(moved > 0, "nothing was moved, so nothing was tested", finished.describe())


for row in ROWS[PROGRAM]:
    @sentence(f"{row}: the iteration is found, and planned for within 60 % of the peak")
    def _(row=row):
        finished = budgeted(row, 60)
        succeeded(finished)
        require(is_planned_for(finished), "no plan was made", finished.describe())


for row in {"gpt": (FIRST, "compiled"), "lstm": (FIRST,), "resnet": (FIRST,)}.get(PROGRAM, ()):
    @sentence(f"{row}: kernels are run again by plan, and nothing is different for it")
    def _(row=row):
        steps, budget = 16, peak(row) * 40 // 100
        finished = trained(row, budget=budget, steps=steps, env=SCALE)
        same_results(plain(row, steps=steps), finished)
        no_misuse(finished)
        within(budget, finished)
        learned = finished.summary["devices"][0]["learned"]
        print(f"# {learned['replayable']} of {learned['operations']} operations can be run again, "
              f"{finished.summary['replayed']['by_plan_count']} were", flush=True)
        require(learned["replayable"] > learned["operations"] * 2 // 3, "what its kernels make cannot be made again", learned, finished.describe())
        require(finished.summary["replayed"]["by_plan_count"] > 0, "nothing was run again", finished.summary["replayed"], finished.describe())


def traced(row, *more, steps):
    path = os.path.join(folder.name, "trace")
    finished = trained(row, *more, steps=steps, options=["--mode", "trace", "--output", path])
    same_results(plain(row, *more, steps=steps), finished)
    no_misuse(finished)
    return path


def report(path, *options):
    done = subprocess.run([SPILLWAY, "report", "--time-limit=0", *options, path], env=environment({}), capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    require(done.returncode == 0, f"spillway report: exit status {done.returncode}", done.stderr)
    return done.stdout


@sentence("a trace has as many allocations in its iteration as PyTorch counts in a step, and its peak")
def _():
    steps = 8
    counted = told(plain(FIRST, "--log-every", "1000", steps=steps, allocator=NATIVE))["allocations_of_steps"]
    path = traced(FIRST, "--log-every", "1000", steps=steps)
    said = json.loads(report(path, "--json"))
    require(said["iteration"], "no iteration was found", said["shapes"])
    require(said["run"]["ended"] and said["run"]["lost_records"] == 0, said["run"])
    tensors = said["iteration"]["tensors"]
    made = sum(ordinal is not None and kind in ("async", "plain") for ordinal, kind in zip(tensors["ordinal"], tensors["kind"]))
    print(f"# {made} allocations in an iteration of {said['iteration']['operations']} operations; PyTorch counts {counted}", flush=True)
    require(made == counted[-1], f"{made} allocations in the iteration, PyTorch counts {counted}", said["shapes"])
    live, limit = said["devices"][0]["peak_bytes"], told(plain(FIRST, "--log-every", "1000", steps=steps))["peak_bytes"]
    require(abs(live - limit) <= limit // 100, f"{live} bytes at the peak of the trace, PyTorch counts {limit}")
    page = os.path.join(os.environ.get("PAGES", folder.name), PROGRAM + ".html")
    report(path, "--html", page)
    require(os.path.getsize(page) > 10000, "no page")


def lied_to(switch, place, more):
    budget = peak(FIRST) * 60 // 100
    try:
        finished = trained(FIRST, budget=budget, env={"SIMGPU_SABOTAGE": f"{switch}:{place}{more}"})
        same_results(plain(FIRST), finished)
        no_misuse(finished)
        within(budget, finished)
    except Failed:
        return True
    return False


for switch, (least, tries, more) in BROKEN.items():
    @sentence(f"{switch}: a device that does this is found out")
    def _(switch=switch, least=least, tries=tries, more=more):
        require_found_out(switch, budgeted(FIRST, 60).stats["sabotage"][switch], least, lambda place: lied_to(switch, place, more), tries)


if PROGRAM == "mlp":
    @sentence("a kernel that the table does not have is named, and the program told of an error")
    def _():
        with open(LAYOUTS, encoding="utf-8") as file:
            lines = file.readlines()
        shorter = os.path.join(folder.name, "shorter")
        with open(shorter, "w", encoding="utf-8") as file:
            file.writelines(line for line in lines if "multi_tensor_apply" not in line.split(" ")[0])
        finished = trained(FIRST, env={"SIMGPU_LAYOUTS": shorter})
        require(finished.status == 1 and "CUDA error" in finished.errors, finished.describe())
        require(re.search(r"^simgpu: .*multi_tensor_apply", finished.errors, re.MULTILINE), finished.describe())

    @sentence("a retry inside PyTorch, for want of memory, is the same in a budget")
    def _():
        limit = told(plain(FIRST, allocator=NATIVE))["reserved_bytes"] - (2 << 20)
        without = plain(FIRST, "--limit-bytes", str(limit), allocator=NATIVE)
        require(told(without)["retries"] > 0, "PyTorch had memory enough", told(without))
        budget = limit * 60 // 100
        finished = trained(FIRST, "--limit-bytes", str(limit), allocator=NATIVE, budget=budget)
        same_results(without, finished)
        no_misuse(finished)
        within(budget, finished)

finish()
