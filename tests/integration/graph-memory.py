#!/usr/bin/env python3
"""What graphs allocate counts against the budget: tensors make room for it before it is there, or it is refused.

usage: graph-memory.py PROGRAM"""
import re
import sys

from harness import EXIT_CUDA_ERROR, finish, named_budget, no_misuse, nothing_left, require, run, same_results, sentence, within

PROGRAM = sys.argv.pop(1)
PIECE = 256 << 10
GRAPH_BYTES = 6 * PIECE
plain = {how: run([PROGRAM, *how]) for how in ((), ("--nodes",))}


def within_share(share, how):
    @sentence(f"within {share} % of the peak the results are the same and memory of graphs counts: {how or 'captured'}")
    def _():
        budget = plain[how].peak * share // 100
        finished = run([PROGRAM, *how], budget=budget)
        same_results(plain[how], finished)
        require(" NO" not in finished.output, finished.describe())
        no_misuse(finished)
        within(budget, finished)
        nothing_left(plain[how], finished)
        require(finished.copied("h2d") > plain[how].copied("h2d"), "nothing came back, so nothing was tested")


def refused(how):
    @sentence(f"what cannot be kept within the budget is refused, with a message, and never mapped: {how or 'captured'}")
    def _():
        budget = GRAPH_BYTES
        finished = run([PROGRAM, *how], budget=budget)
        require(finished.status == EXIT_CUDA_ERROR, "expected a clean error", finished.describe())
        within(budget, finished)
        require(re.search(r"out of device memory: an allocation .*graph.* takes 262144 bytes.*the budget of device 0 is 1572864 bytes",
                          finished.errors), "no message says so", finished.describe())
        require(budget < named_budget(finished) <= budget + PIECE, "the smallest budget is not that for what there was by then")
        enough = run([PROGRAM, *how], budget=budget + 4 * PIECE)  # what goes in and comes out is pinned; two are on their way
        same_results(plain[how], enough)
        within(budget + 4 * PIECE, enough)


def failing(call, code, how=()):
    @sentence(f"{call} refused: the budget holds, and the program goes on or is told: {how or 'captured'}")
    def _():
        budget = plain[how].peak * 60 // 100
        finished = run([PROGRAM, *how], budget=budget, env={"SIMGPU_FAIL": f"{call}={code}"})
        within(budget, finished)
        if finished.status != EXIT_CUDA_ERROR:
            same_results(plain[how], finished)
        no_misuse(finished)


for kind in plain:
    for percent in (80, 60, 40):
        within_share(percent, kind)
    refused(kind)
for what in ("cuMemAllocAsync:4", "cuStreamEndCapture:2", "cuGraphInstantiateWithFlags:2", "cuGraphLaunch:3", "cuGraphDestroy:1",
             "cuGraphExecDestroy:1", "cuDeviceGraphMemTrim:1", "cuDeviceGetGraphMemAttribute:5", "cuDeviceGetGraphMemAttribute:1+",
             "cuStreamGetCaptureInfo:1+"):
    failing(what, "CUDA_ERROR_NOT_SUPPORTED")
for what in ("cuGraphAddMemAllocNode:2", "cuGraphAddNode:2"):
    failing(what, "CUDA_ERROR_OUT_OF_MEMORY", ("--nodes",))
finish()
