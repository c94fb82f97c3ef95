#!/usr/bin/env python3
"""Programs that keep addresses in device memory which no call shows compute the same within any budget, and never fault.

usage: addresses.py PROGRAM MASKS [graphs|WAY...]       the ways of graphs alone; these ways"""
import sys

from harness import finish, no_misuse, require, run, same_results, sentence, within

PROGRAM, MASKS = sys.argv[1:3]
LOW = {"SIMGPU_WINDOW": "10100000000"}  # eight truth values are an address there
WAYS = ("upload-128k", "upload-2m", "upload-5m", "pinned", "pinned-at-once", "early", "kernel", "kernel-2m", "anew", "chained", "copied", "swapped",
        "reallocated", "list", "set", "value", "variable", "rebuilt", "passing", "overwritten", "rows", "freed")
OF_GRAPHS = ("graph", "graph-alone", "graph-captured", "graph-child", "graph-set", "graph-updated", "graph-host", "graph-behind-host")
# What the tables and one operation need at once is more than 40 % of the peak where the table is large.
SHARES = {"upload-5m": (80, 70), "rows": (80, 70), "upload-2m": (80, 60, 50), "kernel-2m": (80, 60, 50), "set": (60,), "value": (60,), "variable": (60, 50),
          "graph": (60, 50), "graph-alone": (60, 50), "graph-child": (60,), "graph-captured": (60,), "graph-set": (60,), "graph-updated": (60,),
          # Where a function of the host may change what a graph copies, all has to be there when it is launched.
          "graph-host": (90,), "graph-behind-host": (90,)}
# Where plans are searched for as usual, within so much: one way of each kind. Elsewhere the first that are found do.
SEARCHED, SEARCHED_AT = ("kernel", "copied", "list", "variable", "graph", "graph-host"), (90, 60)
PLANS = {90: ("on", "off"), 80: ("on",), 70: ("wait", "off"), 60: ("wait",), 50: ("off",), 40: ("wait", "on")}


def kept_in(way):
    # promise: nothing-on-missing-memory
    @sentence(f"addresses kept in the way '{way}': the same bits at every budget, planned or not")
    def _():
        plain = run([PROGRAM, way])
        require(plain.status == 0, plain.describe())
        for share in SHARES.get(way, (80, 60, 50, 40)):
            budget = plain.peak * share // 100
            for plan in PLANS[share]:
                searched = way in SEARCHED and share in SEARCHED_AT
                finished = run([PROGRAM, way], budget=budget, via="command" if searched else "hasty", env={"SPILLWAY_PLAN": plan})
                same_results(plain, finished)
                no_misuse(finished)
                within(budget, finished)


def beside_the_ways():
    @sentence("a tensor that is freed while a kernel follows its address: the same bits where everything fits")
    def _():
        plain = run([PROGRAM, "freed"])
        same_results(plain, run([PROGRAM, "freed"], budget="64MiB"))

    @sentence("addresses that are found while room is made for the kernel that follows them: the same bits")
    def _():
        plain = run([PROGRAM, "first"])
        budget = plain.peak - (1 << 20)
        finished = run([PROGRAM, "first"], budget=budget, options=["--plan", "off"])
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)
        require(finished.summary["addresses"]["sweeps"] == 1, finished.summary["addresses"])

    @sentence("a kernel that follows addresses keeps no other operation from being run again, and what it changes is rescued before")
    def _():
        plain = run([PROGRAM, "dropped", "40"])
        for share in (80, 60, 50):
            budget = plain.peak * share // 100
            finished = run([PROGRAM, "dropped", "40"], budget=budget, options=["--plan", "wait", "--recompute", "on"])
            same_results(plain, finished)
            no_misuse(finished)
            within(budget, finished)
            replayed = finished.summary["replayed"]
            require(replayed["by_plan_count"] > 100 and replayed["rescued_count"] > 10, replayed)

    @sentence("a program that keeps no addresses is looked at for a while, and then no more")
    def _():
        plain = run(["gpt", "--size", "small", "--steps", "1"])
        few, many = (run(["gpt", "--size", "small", "--steps", str(steps)], budget=plain.peak // 2, options=["--plan", "off"]).summary["addresses"]
                     for steps in (6, 16))
        require(few["looks"] > 0 and few["sweeps"] == 1, few)
        # Each time that the program has done as much again, each kernel is looked at once more.
        require(many["looks"] <= 2 * few["looks"] and many["sweeps"] == 1 and many["found"] == 0, few, many)

    @sentence("a program that fits is not looked through")
    def _():
        fits = run([PROGRAM, "kernel"], budget="64MiB").summary["addresses"]
        require(fits["looks"] == fits["sweeps"] == fits["host_bytes"] == 0, fits)

    @sentence("truth values are taken for no addresses, wherever the driver puts what it is asked for no place of")
    def _():
        plain = run([MASKS, "8"], env=LOW)
        budget = plain.peak * 60 // 100
        for plan in ("on", "off"):
            finished = run([MASKS, "8"], budget=budget, options=["--plan", plan], env=LOW)
            same_results(plain, finished)
            no_misuse(finished)
            within(budget, finished)
            require(finished.summary["addresses"]["sweeps"] == 1 and finished.summary["addresses"]["found"] == 0, finished.summary["addresses"])


chosen = sys.argv[3:]
if chosen != ["graphs"]:
    beside_the_ways()
for name in OF_GRAPHS if chosen == ["graphs"] else chosen or WAYS:
    kept_in(name)
finish()
