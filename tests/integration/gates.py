#!/usr/bin/env python3
"""Streams that wait for what the program does later: nobody waits for tensors of theirs while others can go.

usage: gates.py PROGRAM [GATE...]     host-function, value, another-stream, graph, at-last; all of them by default"""
import sys

from harness import finish, no_misuse, require, run, same_results, sentence, within

PROGRAM = sys.argv.pop(1)
GATES = sys.argv[1:] or ["host-function", "value", "another-stream", "graph", "at-last"]
PLAIN = {gate: run([PROGRAM, gate]) for gate in GATES}


def gated(gate, share, plan):
    # promise: never-silently-wrong
    @sentence(f"{gate}: the program ends, with the same bits, within {share} % of the peak, --plan {plan}")
    def _():
        plain = PLAIN[gate]
        budget = plain.peak * share // 100
        finished = run([PROGRAM, gate], budget=budget, options=["--plan", plan], timeout=60)
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)
        require(finished.copied("h2d") > plain.copied("h2d"), "nothing came back, so nothing was tested", finished.describe())


for kind in GATES:
    for percent in (80, 60, 40):
        for planned in ("off", "on"):
            gated(kind, percent, planned)
finish()
