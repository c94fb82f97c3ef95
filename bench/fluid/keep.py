#!/usr/bin/env python3
"""Keeps the best of what `fluid` prints, one object a line on standard input, in tests/graphs/bounds.json.

usage: build/bench/fluid/fluid --budget 50% --operations 24 tests/graphs/NAME.json | bench/fluid/keep.py"""
import json
import os
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "graphs", "bounds.json")
KINDS = ("lb_both_us", "lb_offload_us", "lb_recompute_us")


def key(case):
    return case["graph"], -case["budget_bytes"], next(kind for kind in KINDS if kind in case)


def better(one, other):
    """No schedule (null) beats every bound."""
    kind = key(one)[2]
    return one if one[kind] is None or (other[kind] is not None and one[kind] > other[kind]) else other


def main():
    with open(FILE) as file:
        kept = {key(case): case for case in json.load(file)["cases"]}
    for line in filter(str.strip, sys.stdin):
        case = json.loads(line)
        kept[key(case)] = better(case, kept.get(key(case), case))
    with open(FILE, "w") as file:
        print('{"produced_by": "bench/fluid --budget BYTES --operations N --smallest BYTES [--swap-only] GRAPH.json", "units": "us, bytes",',
              file=file)
        print(' "cases": [\n  ' + ",\n  ".join(json.dumps(kept[name]) for name in sorted(kept)) + "\n ]}", file=file)


main()
