#!/usr/bin/env python3
"""A program that hides its pointers from its launches keeps every byte: in tables, in structures, in graphs, in symbols.

usage: hidden.py PROGRAM"""
import sys

from harness import Skipped, finish, no_misuse, run, same_results, sentence, within

PROGRAM = sys.argv[1]
WAYS = ("plain", "struct", "table", "chain", "moved", "within", "uneven", "rewritten", "symbol", "graph", "graph-table", "graph-nodes")
ROOMY = {"SIMGPU_MEMORY": "1GiB", "SIMGPU_GRANULARITY": "2MiB"}


def hidden(way):
    # promise: nothing-on-missing-memory
    @sentence(f"pointers hidden in the way '{way}': the same results within half the peak")
    def _():
        plain = run([PROGRAM, way], env=ROOMY)
        if "the simulated device doesn't have this" in plain.errors:
            raise Skipped("the simulated device does not have this")
        budget = plain.peak // 2
        finished = run([PROGRAM, way], budget=budget, env=ROOMY)
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)


for name in WAYS:
    hidden(name)
finish()
