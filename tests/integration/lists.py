#!/usr/bin/env python3
"""Kernels that get lists of tensors, as PyTorch's do, need what their blocks name, not what else lies in their parameters.

usage: lists.py TOUCHES PROGRAM MANY"""
import sys

from harness import finish, require, run, same_in_budget, sentence
from touched import Seen

TOUCHES, PROGRAM, MANY = sys.argv[1:]
WAYS = {"small": 8, "large": 8, "fused": 16, "fused-large": 16, "scalars": 8, "scalars-large": 8, "ex": 8}  # tensors of a launch
LOOSE = 4  # beside what a touch in a trace says of reading and writing
KERNEL = "25multi_tensor_apply_kernel"


def launched(way, named):
    @sentence(f"lists in the way '{way}': the same results in memory for what is named and little more")
    def _():
        plain = run([PROGRAM, way])
        budget = plain.peak // 5
        same_in_budget(plain, run([PROGRAM, way], budget=budget), budget)

    @sentence(f"lists in the way '{way}': a trace says that {named} tensors are touched, and these are")
    def _():
        seen = Seen(TOUCHES, [PROGRAM, way])
        require(seen.require_all() == 0, "there are operations that may touch everything")
        counts = {len(op.touches) for op in seen.operations if KERNEL in (op.name or "")}
        require(counts == {named}, f"touched: {sorted(counts)}")


for name, count in WAYS.items():
    launched(name, count)


def longer_and_shorter(how, mode, env):
    @sentence(f"launches are recognised by all that their lists name, now more, now fewer, {how}")
    def _():
        seen = Seen(TOUCHES, [PROGRAM, "turns"], env, mode)
        launches = [op for op in seen.operations if KERNEL in (op.name or "")]
        counts = {len(op.touches) for op in launches}
        require(counts == {6, 8}, f"touched: {sorted(counts)}")
        require(not any(access & LOOSE for op in launches for access in op.touches.values()), "what is named comes and goes")


longer_and_shorter("in a trace", "trace", {})
longer_and_shorter("within a budget", "swap+trace", {"SPILLWAY_BUDGET": "16MiB"})


@sentence("an iteration of such launches is recognised, whatever lies behind the lists")
def _():
    kernels, listed, _ = Seen(TOUCHES, [PROGRAM, "large", "8"]).require_exported()
    require(kernels and listed == kernels * WAYS["large"], f"{kernels} kernels, {listed} tensors")


@sentence("iterations of them go by plan, and what their kernels only read leaves without a copy")
def _():
    slow = {"SIMGPU_SCALE_BYTES": "100"}  # where bytes take that long, plans are not lost by what mapping costs
    plain = run([PROGRAM, "large", "12"], env=slow)
    budget = plain.peak // 3
    planned = run([PROGRAM, "large", "12"], budget=budget, env={"SPILLWAY_PLAN": "wait", **slow})
    same_in_budget(plain, planned, budget)
    require(planned.summary["devices"][0]["planned"]["planned_iterations"] > 0, "no plan was followed", planned.describe())
    require(planned.summary["proofs"]["proven_count"] > 0, "nothing was found to be only read", planned.describe())


def of_thousands(way, tensors):
    @sentence(f"a launch that is given {tensors} tensors by a {way}: the same bits within 60 % of the peak")
    def _():
        room = {"SIMGPU_MEMORY": "512MiB"}
        plain = run([MANY, way], env=room)
        budget = plain.peak * 60 // 100
        for plan in ("off", "on"):
            same_in_budget(plain, run([MANY, way], budget=budget, options=["--plan", plan], env=room), budget)


of_thousands("table", 2000)
of_thousands("struct", 1000)
finish()
