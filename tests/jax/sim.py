#!/usr/bin/env python3
"""JAX as its maker ships it for CUDA trains on the simulated device, with and without spillway.

XLA compiles its kernels while it runs, and the device makes functions of all that they are given of them: a byte that is lost, stale or in
another place changes every fingerprint after it. An executable keeps what lies between its kernels in one block of memory, which
moves as a whole.

./dev jax-sim sets it up; ONLY=text runs the sentences with that text in them."""
import functools
import json
import os
import re
import tempfile

from harness import BUILD, Failed, finish, no_misuse, require, require_found_out, run, same_results, sentence, succeeded, within
from simulated import FLAGS, HERE, NO_GRAPHS, settings

PYTHON = os.environ["JAX_PYTHON"]
PATIENCE = 240
# What is run, and within which shares of its peak, in %: the last is about as low as its largest launch lets it.
ROWS = {"a step that is one executable": ("mlp", ("--steps", "12"), (100, 80, 60)),
        "a step in pieces": ("mlp", ("--steps", "12", "--pieces"), (100, 80, 60, 40)),
        "evaluations": ("mlp", ("--steps", "12", "--pieces", "--evaluate-every", "4"), (60,)),
        "a transformer in pieces": ("transformer", ("--steps", "6"), (100, 80))}
FIRST, PIECES = list(ROWS)[:2]
folder = tempfile.TemporaryDirectory(prefix="spillway-jax-")


def trained(row, budget=None, flags=FLAGS, env=None):
    program, options, _ = ROWS[row]
    return run([PYTHON, os.path.join(HERE, "sim", program + ".py"), *options], budget=budget, timeout=PATIENCE,
               env={**settings(BUILD, folder.name, flags), "SPILLWAY_PLAN": "wait", "SPILLWAY_LOG": "info", **(env or {})})


@functools.cache
def plain(row):
    finished = trained(row, flags=f"{FLAGS} {NO_GRAPHS}")
    succeeded(finished)
    return finished


def peak(row):
    return json.loads(re.search(r"^memory (.*)$", plain(row).output, re.MULTILINE).group(1))["peak_bytes"]


@functools.cache
def budgeted(row, share):
    return trained(row, budget=peak(row) * share // 100, env={"SIMGPU_SABOTAGE": "skip-copy:1000000000"})


@sentence("two runs are the same")
def _():
    same_results(plain(FIRST), trained(FIRST, flags=f"{FLAGS} {NO_GRAPHS}"))
    no_misuse(plain(FIRST))


for row, (_, _, shares) in ROWS.items():
    for share in shares:
        @sentence(f"{row}: the same fingerprints within {share} % of the peak, with XLA's own flags")
        def _(row=row, share=share):
            finished = budgeted(row, share)
            same_results(plain(row), finished)
            no_misuse(finished)
            within(peak(row) * share // 100, finished)
            moved = finished.copied("d2h") - plain(row).copied("d2h")
            print(f"# {finished.peak} of {peak(row) * share // 100} bytes, {moved} bytes moved out, {finished.seconds:.1f} s", flush=True)
            if share <= 80:
                require(moved > 0, "nothing was moved, so nothing was tested", finished.describe())


@sentence("graphs that the user asks for are said to stay on the device, and fail in words where they do not fit")
def _():
    finished = trained(FIRST, budget=peak(FIRST) * 60 // 100, flags=f"{FLAGS} {NO_GRAPHS}FUSION,CUBLAS,CUBLASLT")
    require(finished.status == 1 and "RESOURCE_EXHAUSTED" in finished.errors, finished.describe())
    require(re.search(r"have to stay on device 0 from here on \(a graph uses .*smallest budget that would do", finished.errors), finished.describe())


@sentence("what no budget that small can hold is named, with the smallest that would do")
def _():
    finished = trained(FIRST, budget=peak(FIRST) * 20 // 100)
    require(finished.status == 1, finished.describe())
    require("smallest budget that would do" in finished.errors, finished.describe())


def lied_to(place):
    try:
        finished = trained(PIECES, budget=peak(PIECES) * 60 // 100, env={"SIMGPU_SABOTAGE": f"skip-copy:{place}"})
        same_results(plain(PIECES), finished)
    except Failed:
        return True
    return False


@sentence("a device that leaves copies out is found out")
def _():
    require_found_out("skip-copy", budgeted(PIECES, 60).stats["sabotage"]["skip-copy"], 3, lied_to)


finish()
