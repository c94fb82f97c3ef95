#!/usr/bin/env python3
"""What a product of cuBLAS only reads needs no showing: what was made of it may be away while such products run.

usage: cublas.py PROGRAM LIBRARY"""
import json
import os
import subprocess
import sys
import tempfile

from harness import SPILLWAY, finish, require, run, same_in_budget, sentence

PROGRAM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
DEVICE = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_GRANULARITY": "64KiB", "SPILLWAY_PLAN": "wait"}
WAYS = {"linked": ["--way", "linked"], "looked up": ["--way", "named", "--library", LIBRARY], "past it": ["--way", "past"]}
WAYS |= {f"{way}, with a workspace": [*options, "--workspace", "131072"] for way, options in WAYS.items()}
WAYS |= {f"{way}, in parts": [*WAYS[way], "--workspace", "524288"] for way in ("linked", "past it")}
WAYS |= {f"{way}, on two streams": [*WAYS[way], "--towers", "2"] for way in ("linked, with a workspace", "linked, in parts")}
plain = {way: run([PROGRAM, *options], env=DEVICE) for way, options in WAYS.items()}
again = {}


def within(way, share, **more):
    budget = plain[way].peak * share // 100
    finished = run([PROGRAM, *WAYS[way]], budget=budget, env={**DEVICE, **more})
    same_in_budget(plain[way], finished, budget)
    return finished


for each in WAYS:
    @sentence(f"{each}: the same bits within 60 and 40 % of the peak, each recomputation compared")
    def _(way=each):
        for share in (60, 40):
            summary = within(way, share, SPILLWAY_VERIFY="1").summary
            again[way, share] = summary["replayed"]["operations"]
            require(summary["verified"]["mismatch_count"] == 0, "something was made again in another way", summary["verified"])


for kind in ("", ", with a workspace"):
    @sentence(f"by calls of cuBLAS{kind} what products made is made again, which by its kernels alone is not")
    def _(kind=kind):
        for share in (60, 40):
            few = again[f"past it{kind}", share]
            require(all(again[f"{way}{kind}", share] > 2 * few + 20 for way in ("linked", "looked up")), "as without the calls", again)


@sentence("a trace says what products only read, where they are made by calls of cuBLAS")
def _():
    written = {}
    for way in ("linked", "past it"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace")
            finished = run([PROGRAM, *WAYS[way], "--steps", "8"], options=["--mode", "trace", "--output", path], env=DEVICE)
            require(finished.status == 0, finished.describe())
            graph = json.loads(subprocess.run([SPILLWAY, "export", path], capture_output=True, check=True).stdout)
        written[way] = sum(len(op["writes"]) for op in graph["ops"] if op["name"].startswith("simple_product"))
    require(0 < 2 * written["linked"] <= written["past it"], written)


@sentence("off and traced the calls go through as they are")
def _():
    for options in (["--mode", "off"], ["--mode", "trace", "--output", "/dev/null"]):
        for way in ("linked", "looked up"):
            finished = run([PROGRAM, *WAYS[way]], options=options, env=DEVICE)
            require(finished.status == 0 and finished.results == plain[way].results, "other results", finished.describe())


finish()
