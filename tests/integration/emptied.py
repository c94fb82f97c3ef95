#!/usr/bin/env python3
"""A program that empties its cache after each step pays nothing for it within a budget; without one, its memory goes back to the device.

usage: emptied.py PROGRAM"""
import os
import sys

from harness import finish, require, run, same_in_budget, same_results, sentence

PROGRAM = os.path.abspath(sys.argv[1])
FEW, MANY = 2, 10


def made(finished):
    return finished.stats["map_operations"]["create"]


@sentence("within a budget with room for all, later steps make no memory, map none and see no byte more reserved")
def _():
    plain = run([PROGRAM, str(MANY)])
    few, many = (run([PROGRAM, str(steps)], budget="512MiB") for steps in (FEW, MANY))
    same_in_budget(plain, many, 512 << 20)
    for what in ("create", "map", "unmap", "set_access"):
        require(few.stats["map_operations"][what] == many.stats["map_operations"][what], what, few.describe(), many.describe())


@sentence("within a tight budget results are the same, and the budget holds")
def _():
    plain = run([PROGRAM, str(MANY)])
    same_in_budget(plain, run([PROGRAM, str(MANY)], budget="20MiB"), 20 << 20)


@sentence("within a budget, on a device that has less free than is cached, it goes back to the device as well")
def _():
    full = {"SIMGPU_MEMORY": "48MiB"}  # of which the program caches 32
    plain = run([PROGRAM, str(MANY)], env=full)
    few, many = (run([PROGRAM, str(steps)], budget="48MiB", env=full) for steps in (FEW, MANY))
    same_results(plain, many)
    require(made(many) >= made(few) * MANY // FEW, few.describe(), many.describe())


@sentence("without a budget, what is given back goes to the device")
def _():
    plain = run([PROGRAM, str(MANY)])
    few, many = (run([PROGRAM, str(steps)], via="preload") for steps in (FEW, MANY))
    same_results(plain, many)
    require(made(many) >= made(few) * MANY // FEW, few.describe(), many.describe())


finish()
