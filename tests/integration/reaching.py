#!/usr/bin/env python3
"""However a program reaches the driver, the library sees every call that the device sees.

usage: reaching.py PROGRAM LINKED_PROGRAM"""
import os
import re
import sys
import tempfile

from harness import BUILD, DEVICE, PRELOAD, TINY, finish, read_json, require, run, same_in_budget, same_results, sentence, succeeded

PROGRAM, LINKED = (os.path.abspath(path) for path in sys.argv[1:3])
WAYS = {"direct link": [LINKED, "linked"], "dlopen and dlsym": [PROGRAM, "dlsym"], "cuGetProcAddress": [PROGRAM, "resolver1"],
        "cuGetProcAddress_v2": [PROGRAM, "resolver2"], "per-thread default stream": [PROGRAM, "per-thread"]}
RUNTIME = {f"shared runtime ({name}, {how})": [name, *TINY[name], "--streams", "2", "--alloc", how]
           for name in TINY for how in ("plain", "async")}


def counts(finished):
    """What the device counted."""
    stats = finished.stats
    copies = stats["copies"].values()
    return {"launches": stats["launches"], "allocations": stats["allocations"], "frees": stats["frees"], "sets": stats["sets"],
            "copies": sum(copy["count"] for copy in copies), "copied_bytes": sum(copy["bytes"] for copy in copies)}


def seen(finished):
    """What the library counted. A copy whose direction is in its addresses only is one of `other`, so directions are summed."""
    require(finished.summary is not None, "the library wrote no summary", finished.describe())
    kinds = ("copies_h2d", "copies_d2h", "copies_d2d", "copies_other")
    return {"launches": finished.summary["launches"], "allocations": finished.summary["allocations"],
            "frees": finished.summary["frees"], "sets": finished.summary["sets"],
            "copies": sum(finished.summary[kind] for kind in kinds),
            "copied_bytes": sum(finished.summary[kind + "_bytes"] for kind in kinds)}


def traced(name, command):
    @sentence(f"{name}: in trace mode the library counts what the device counts")
    def _():
        plain, finished = run(command), run(command, options=["--mode", "trace", "--output", "/dev/null"])
        same_results(plain, finished)
        require(counts(plain) == counts(finished), "tracing changed what the device does", counts(plain), counts(finished))
        require(counts(finished) == seen(finished), "the device counted", counts(finished), "the library saw", seen(finished))


def counted_itself(name, command):
    @sentence(f"{name}: the device counts what the program says it did")
    def _():
        plain = run(command)
        succeeded(plain)
        said = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", plain.output)}
        for key in ("launches", "allocations", "frees"):
            require(plain.stats[key] == said[key], f"{key}: {plain.stats[key]} by the device, {said[key]} by the program")
        for key in ("h2d", "d2h", "d2d"):
            require(plain.stats["copies"][key]["count"] == said[key], f"{key} copies: {plain.stats['copies'][key]}, {said[key]}")


def swapped(name, command):
    @sentence(f"{name}: the same bits within half the memory")
    def _():
        plain = run(command)
        budget = plain.peak // 2
        finished = run(command, budget=budget)
        same_in_budget(plain, finished, budget)
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so the library saw nothing")


def from_a_relative_path(way, command, via, goes):
    then = "then going elsewhere, " if goes else ""

    @sentence(f"{way}, started by {via}, {then}all paths relative: the same bits in the budget, files where meant")
    def _():
        plain = run(command)
        budget = plain.peak // 2
        with tempfile.TemporaryDirectory(prefix="spillway-relative-", dir=BUILD) as here:
            near = {"LD_LIBRARY_PATH": os.path.relpath(DEVICE, here), "SPILLWAY_LOG": "info:said", "SPILLWAY_SUMMARY": "summary %%"}
            if via == "preload":
                near.update(LD_PRELOAD=os.path.relpath(PRELOAD, here), SPILLWAY_BUDGET=budget)
            finished = run([*command, *(["/"] if goes else [])], via="none" if via == "preload" else via, budget=budget, env=near,
                           start_in=here)
            finished.summary = read_json(os.path.join(here, "summary %"))
            require(finished.summary is not None, "no summary where the program was started", os.listdir(here), finished.describe())
            require(os.path.exists(os.path.join(here, "said")), "no log where the program was started", os.listdir(here))
        same_in_budget(plain, finished, budget)
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so the library saw nothing")


@sentence("a shell that goes elsewhere and starts the program there: log and summary are where `spillway run` was started")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-100%p-", dir=BUILD) as here:
        finished = run(["sh", "-c", f"cd / && exec '{PROGRAM}' dlsym"], budget="1GiB", start_in=here,
                       options=["--log", "info:said", "--summary", "at %r"])
        succeeded(finished)
        require(sorted(os.listdir(here)) == ["at 0", "said"], os.listdir(here), finished.describe())


@sentence("an empty entry of LD_LIBRARY_PATH is the current folder, as it is to the loader")
def _():
    for path in (":/nowhere", "/nowhere:", "/nowhere::/nowhere"):
        finished = run([PROGRAM, "dlsym"], budget="1GiB", start_in=DEVICE, env={"LD_LIBRARY_PATH": path})
        succeeded(finished)


for way, line in WAYS.items():
    counted_itself(way, line)
    traced(way, line)
    swapped(way, line)
for way, line in RUNTIME.items():
    traced(way, line)
for started_by in ("command", "preload"):
    from_a_relative_path("shared runtime", ["mlp", *TINY["mlp"]], started_by, goes=False)
    for way in ("direct link", "dlopen and dlsym"):
        for leaves in (False, True):
            from_a_relative_path(way, WAYS[way], started_by, leaves)
finish()
