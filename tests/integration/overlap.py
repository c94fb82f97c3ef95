#!/usr/bin/env python3
"""Launches that may begin before the kernel ahead of them has ended do so only where that kernel is the program's own.

usage: overlap.py PROGRAM"""
import sys

from harness import finish, no_misuse, require, run, same_results, sentence, within

PROGRAM = sys.argv[1]
HOW = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}


@sentence("as long as memory suffices launches overlap with the one ahead as without spillway, but for those behind an allocation")
def _():
    plain = run([PROGRAM], env=HOW)
    roomy = run([PROGRAM], budget=plain.peak, env=HOW)
    same_results(plain, roomy)
    overlapping, without = (each.stats["overlapping_launches"] for each in (roomy, plain))
    require(0.9 * without <= overlapping <= without and without > 300, overlapping, without)


@sentence("once memory is short none overlaps: what is ahead of it may be a kernel that the program knows nothing of")
def _():
    # promise: never-silently-wrong
    plain = run([PROGRAM], env=HOW)
    for share, plan in ((80, "wait"), (60, "on"), (60, "off"), (40, "wait")):
        short = run([PROGRAM], budget=plain.peak * share // 100, env=HOW, options=["--plan", plan])
        same_results(plain, short)
        no_misuse(short)
        within(plain.peak * share // 100, short)
        require(short.stats["overlapping_launches"] < 32, share, plan, short.stats["overlapping_launches"])


finish()
