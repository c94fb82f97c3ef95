#!/usr/bin/env python3
"""The program replay, run until its kernels have been tried and another plan is followed: those that can't be launched again are found out,
whatever changes what a tensor was made of, and others are launched again beside them."""
import functools
import re

from harness import BENCH, EXIT_CUDA_ERROR, finish, named_budget, require, run, same_in_budget, sentence, succeeded

LEGAL = "plain,matmul,atomics,global,in-place,struct,copy,set,chain,two-outputs"

# Layers small and many enough that, even within little, what a kernel is tried with fits beside what the program uses; for so many steps
# that it has been tried, another plan made by what was found, and followed.
SLOW = {"SIMGPU_PROFILE": "rtx4090", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000", "SIMGPU_BLOCK_ORDER": "varying"}
LEARNING = {**SLOW, "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on", "SPILLWAY_LOG": "info"}
MET = ("--rounds", "10", "--rows", "256", "--steps", "20")
VARIES, DEPENDS = "it gives something else from one run to the next", "it depends on something that its parameters do not lead to"
CAUGHT = {"clock_kernel": (VARIES,), "atomics_kernel": (VARIES, DEPENDS)}  # blocks of two launches in a row may come in the same order


@functools.cache
def run_plain(command):
    finished = run(command, env=SLOW)
    succeeded(finished)
    return finished


def plain(command):
    """The run without spillway."""
    return run_plain(tuple(command))


def caught(finished, kernel, reasons):
    lines = [line for line in finished.errors.splitlines() if kernel in line and "is not run again: " in line]
    require(any(reason in line for line in lines for reason in reasons), f"{kernel} was not caught by the test", lines, finished.describe())


def replays_right(finished):
    replayed, verified = finished.summary["replayed"], finished.summary["verified"]
    require(replayed["operations"] > 0 and verified["equal_count"] > 0, "nothing was replayed", replayed, verified)
    require(replayed["twin_count"] > 0, "what is launched again runs in a second instance of its module", replayed)
    require(verified["mismatch_count"] == 0 and verified["lost_count"] == 0, verified, finished.errors)


def met(share, **bounds):
    @sentence(f"each kind that can't is found out by the test, and others are launched again beside it: {share} % of the peak")
    def _():
        command = ["replay", "--kinds", "plain,clock,half,old,atomics", *MET]
        without = plain(command)
        budget = without.peak * share // 100
        finished = run(command, budget=budget, env={**LEARNING, **bounds})
        same_in_budget(without, finished, budget)
        replays_right(finished)
        for kernel, reasons in CAUGHT.items():
            caught(finished, kernel, reasons)


for percent in (80, 60, 30):
    met(percent)
met(40, SIMGPU_BOUNDS="1")  # whatever bytes a kernel is tried on, it touches its own


@sentence("a program that evaluates after every third step is learned from in parts, and comes to launch kernels again")
def _():
    command = ["mlp", *BENCH["programs"]["mlp"], "--steps", "32", "--evaluate-every", "3"]
    without = run(command, env=BENCH["device"])
    budget = without.peak // 2
    finished = run(command, budget=budget, env={**LEARNING, **BENCH["device"]})
    same_in_budget(without, finished, budget)
    require(finished.summary["replayed"]["by_plan_count"] > 0, "nothing was replayed by plan", finished.describe())


@sentence("where there is no room to find anything out nothing is launched again: the smallest feasible budget")
def _():
    command = ["replay", "--kinds", "plain,clock,half,old,atomics", *MET]
    without = plain(command)
    budget = without.peak // 50
    for _ in range(4):
        finished = run(command, budget=budget, env=LEARNING)
        if finished.status == 0:
            break
        budget = named_budget(finished)
    same_in_budget(without, finished, budget)
    require(finished.summary["replayed"]["operations"] == 0, finished.summary["replayed"])
    require("the budget is too small to find out what can be recomputed" in finished.errors, finished.errors)
    print(f"# smallest feasible budget {budget}, {budget * 100 / without.peak:.0f} % of {without.peak}")


def gives_way(what, command):
    @sentence(f"what finding out takes for itself refuses nothing in the smallest budget that evictions on demand need: {what}")
    def _():
        device = {"SIMGPU_PROFILE": "v100-16g", "SIMGPU_GRANULARITY": "2MiB", "SIMGPU_MEMORY": "4GiB"}
        without = run(command, env=device)
        succeeded(without)
        budget = without.peak // 8
        for _ in range(8):
            on_demand = run(command, budget=budget, env={**device, "SPILLWAY_PLAN": "off"})
            if on_demand.status == 0:
                break
            budget = named_budget(on_demand)
        same_in_budget(without, on_demand, budget)
        for planning in ("wait", "on"):
            same_in_budget(without, run(command, budget=budget, env={**device, "SPILLWAY_PLAN": planning}), budget)


gives_way("each step is like the others", ["harm", "--layers", "10", "--size", "1024", "--steps", "24"])
gives_way("a batch that grows later", ["gpt", "--sequence", "32", "--batch-schedule", ",".join(["16"] * 24 + ["64"] * 4), "--steps", "28"])


# What is tried runs in modules of our own, so that each launch of the program's finds what its own launches have left.
def stateful(kind, share, *kernels):
    @sentence(f"what kernels of kind {kind} leave in variables of their module is what the program's own launches do: {share} % of the peak")
    def _():
        command = ["replay", "--kinds", f"plain,{kind}", "--rounds", "16", "--rows", "256", "--steps", "20"]
        without = plain(command)
        budget = without.peak * share // 100
        finished = run(command, budget=budget, env=LEARNING)
        same_in_budget(without, finished, budget)
        replays_right(finished)
        for kernel in kernels:
            require(not any(f"{kernel}" in line and "is not run again" in line for line in finished.errors.splitlines()), finished.errors)
        calls = [re.search(r"^calls (\d+)$", f.output, re.MULTILINE).group(1) for f in (without, finished)]
        require(calls[0] == calls[1], f"{calls[1]} launches counted where the program has made {calls[0]}")


for percent in (60, 40):
    stateful("counter", percent, "counter_kernel")
    stateful("tally", percent, "tallied_kernel", "tally_kernel")
    stateful("random", percent, "random_kernel")


# The program's own calls come first: it has loaded all that it uses when anything is tried. (What it loads to print a count at its end is
# one more.)
def without_second_module(call, first):
    @sentence(f"a module of which there is no second one, since {call} fails, is named, and what its kernels make is copied")
    def _():
        command = ["replay", "--kinds", "plain,matmul,chain", *MET]
        without = run(command, env={**SLOW, "SIMGPU_FAIL": f"{call}:1000000000=999"})
        succeeded(without)
        budget = without.peak * 60 // 100
        failure = f"{call}:{without.stats['calls'][call] + first}=CUDA_ERROR_OUT_OF_MEMORY"
        finished = run(command, budget=budget, env={**LEARNING, "SIMGPU_FAIL": failure})
        same_in_budget(without, finished, budget)
        require(finished.stats["injected_failures"] == 1, finished.describe())
        require(f"the driver refused {call} of ours" in finished.errors, finished.errors)
        named = [line for line in finished.errors.splitlines() if "is not run again: its module cannot be loaded a second time" in line]
        require(named, finished.errors)


without_second_module("cuLibraryLoadData", 0)
without_second_module("cuLibraryGetKernel", 1)


# Two kinds that were right when they were tried become others by a number alone: one adds to what is there, the other changes what it
# was believed to read. Whoever took either for what it was would use wrong bytes in the same step.
@sentence("kernels that a number makes others after many steps are met by nobody, whatever is launched again beside them")
def _():
    command = ["replay", "--kinds", f"{LEGAL},clock,half,old,scale,turns", "--rows", "256", "--rounds", "3", "--steps", "32"]
    without = plain(command)
    budget = without.peak * 40 // 100
    finished = run(command, budget=budget, env=LEARNING)
    same_in_budget(without, finished, budget)
    replays_right(finished)


# Inputs that are changed once an output was made of them: an output that is dropped then is made again before, or cannot be.
def hazard(kind, title, share, check):
    @sentence(f"{title}: {share} % of the peak")
    def _():
        command = ["replay", "--kinds", f"plain,{kind}", "--rounds", "14", "--rows", "256", "--steps", "28"]
        without = plain(command)
        budget = without.peak * share // 100
        finished = run(command, budget=budget, env=LEARNING)
        same_in_budget(without, finished, budget)
        check(finished)


def rescued(finished):
    replayed, verified = finished.summary["replayed"], finished.summary["verified"]
    require(replayed["rescued_count"] > 0 and verified["equal_count"] > 0, "nothing was at stake", replayed, verified)
    require(verified["mismatch_count"] == 0 and verified["lost_count"] == 0, verified, finished.errors)


def refused_as_told(finished):
    require(finished.summary["replayed"]["operations"] == 0, finished.summary["replayed"])
    caught(finished, "told_kernel", ("it touches memory that is not the program's device memory alone",))


hazard("updated", "what was made of a tensor that is updated in place is made again before", 40, rescued)
hazard("reused", "what was made of a tensor that was freed is made of its bytes, whoever has its address", 60, replays_right)
hazard("tracks", "what a kernel changes in some layers only is not changed once more", 60, replays_right)
hazard("aside", "what was made of a tensor is made again before another stream writes a part of it", 60, rescued)
hazard("told", "what was made of the host's memory, which a function of the host writes, is not made again", 60, refused_as_told)


# The kernel of kind scale leaves one of its tensors alike for 24 steps. That tensor is used once in each step, and leaves in between,
# without a copy as long as it is the same.
@sentence("a tensor that a kernel changes only after many steps loses nothing")
def _():
    command = ["replay", "--kinds", "plain,matmul,struct,copy,chain,scale", "--rounds", "1", "--steps", "36"]
    without = run(command)
    budget = without.peak * 60 // 100
    finished = run(command, budget=budget, env={"SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on"})
    same_in_budget(without, finished, budget)
    proofs = finished.summary["proofs"]
    require(proofs["proven_count"] > 0 and proofs["refuted_count"] == 0, "it was believed of a launch that is given another number", proofs)


# The kernel of kind turns overwrites its output for fourteen steps, in which it is tried, and adds to what is there from then on.
def turning(share):
    @sentence(f"a kernel whose second launch is right for fourteen steps is not launched again behind them: {share} % of the peak")
    def _():
        device = {"SIMGPU_PROFILE": "rtx4090", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
        command = ["replay", "--kinds", "turns,matmul", "--rounds", "16", "--steps", "24"]
        without = run(command, env=device)
        budget = without.peak * share // 100
        finished = run(command, budget=budget, env={**device, "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on", "SPILLWAY_VERIFY": "1"})
        same_in_budget(without, finished, budget)
        verified = finished.summary["verified"]
        require(verified["equal_count"] > 0 and verified["mismatch_count"] == 0 and verified["lost_count"] == 0, verified, finished.errors)


for percent in (60, 40):
    turning(percent)


def run_worn(verify_every, percent):
    command = ["replay", "--kinds", "plain,wears", "--rounds", "16", "--steps", "60"]
    without = run(command, env=SLOW)
    return run(command, budget=without.peak * percent // 100, env={**LEARNING, "SPILLWAY_VERIFY": str(verify_every)})


# The kernel of kind wears gives the same for 600 launches, and from then on what a clock says, so the program is not deterministic
# any more. It is compared by digests then: there is nothing to go back to.
@sentence("a kernel that is not right any more after it was for long stops the program")
def _():
    finished = run_worn(4, 45)
    verified = finished.summary["verified"]
    require(finished.status == EXIT_CUDA_ERROR, finished.describe())
    require(verified["equal_count"] > 0 and verified["mismatch_count"] > 0 and verified["lost_count"] > 0, verified)
    told = [line for line in finished.errors.splitlines() if "wears_kernel" in line and "again gave other bytes than it had made" in line]
    require(told and "of which there is no copy" in told[0], finished.errors)
    require("whatever needs them is refused" in finished.errors, finished.errors)


# Where each one is compared there is: nobody gets wrong bytes, and the program goes on.
@sentence("where each one is compared its bytes are restored, and the program goes on without launching it again")
def _():
    finished = run_worn(1, 50)
    verified = finished.summary["verified"]
    succeeded(finished)
    require("unstable: 0" in finished.output.splitlines(), finished.output)
    require(verified["mismatch_count"] > 0 and verified["repaired_count"] > 0 and verified["lost_count"] == 0, verified)


# Kind global reads variables of its module, which copies change between the forward and the backward part of every few steps. No parameter
# leads there: only that the copies are seen tells that what was made before has to be made again before them.
@sentence("what depends on a module's variables is made again before a copy changes them, and no replay is wrong")
def _():
    device = {"SIMGPU_PROFILE": "rtx4090", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
    command = ["replay", "--kinds", "plain,global", "--rounds", "6", "--steps", "36"]
    without = run(command, env=device)
    budget = without.peak * 65 // 100
    finished = run(command, budget=budget, env={**device, "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on", "SPILLWAY_LOG": "info"})
    same_in_budget(without, finished, budget)
    replayed, verified = finished.summary["replayed"], finished.summary["verified"]
    require(replayed["by_plan_count"] > 0 and replayed["rescued_count"] > 0, "nothing was at stake", replayed)
    require(verified["equal_count"] > 0 and verified["mismatch_count"] == 0, verified, finished.errors)
    require("global_kernel" not in finished.errors, finished.errors)


finish()
