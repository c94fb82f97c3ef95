#!/usr/bin/env python3
"""A stream that waits for a value which another one writes only later: the same bits, and nobody waits for ever.

usage: waiting.py PROGRAM"""
import sys

from harness import finish, no_misuse, run, same_results, sentence, within

PROGRAM = sys.argv[1]
HOW = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}


@sentence("streams in the order of a value in memory, which no call shows: the same bits at every budget, planned or not")
def _():
    # promise: never-silently-wrong
    plain = run([PROGRAM], env=HOW)
    for share, plan in ((100, "off"), (80, "wait"), (60, "on"), (60, "off"), (50, "wait")):
        finished = run([PROGRAM], budget=plain.peak * share // 100, env=HOW, options=["--plan", plan], timeout=60)
        same_results(plain, finished)
        no_misuse(finished)
        within(plain.peak * share // 100, finished)


finish()
