#!/usr/bin/env python3
"""A capture in global mode that another thread begins at any moment stays valid, whatever the library does meanwhile.

usage: elsewhere.py ELSEWHERE INCIDENTS SOURCES"""
import os
import re
import sys
from pathlib import Path

from harness import TINY, finish, no_misuse, require, run, same_results, sentence, within

ELSEWHERE, INCIDENTS, SOURCES = (os.path.abspath(name) for name in sys.argv[1:4])
del sys.argv[1:4]
# Questions that only read what the driver has in its memory.
QUESTIONS = {"cuCtxGetCurrent", "cuCtxGetDevice", "cuStreamGetCtx", "cuPointerGetAttribute", "cuStreamIsCapturing"}
FIRST = {"cuInit", "cuGetErrorName", "cuThreadExchangeStreamCaptureMode"}  # of no context, or the exchange itself
COSTS = {"SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 300000, "SIMGPU_PROFILE": "rtx4090"}
LINGERING = {"SIMGPU_LINGER": 300}  # another thread's calls come between what is submitted and that it is waited for
WATCHED = {"SIMGPU_CAPTURE_ELSEWHERE": 1}
COMMAND = [ELSEWHERE, "--steps", "60"]
NETS = [INCIDENTS, "--steps", "20"]
plain = run(COMMAND, env=COSTS)


@sentence("without a budget all graphs are captured")
def _():
    require(plain.status == 0 and "graphs made what they should" in plain.output, plain.describe())


def valid_within(share, planning, recompute, lingering=False):
    how = ", each wait a long one" if lingering else ""
    @sentence(f"captures of another thread stay valid within {share} % of the peak, plan {planning}, recomputation {recompute}{how}")
    def _():
        budget = plain.peak * share // 100
        settings = {"SPILLWAY_PLAN": planning, "SPILLWAY_RECOMPUTE": recompute, **(LINGERING if lingering else {})}
        finished = run(COMMAND, budget=budget, via="hasty" if planning == "wait" else "command", env={**COSTS, **settings})
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)
        require(int(re.search(r"elsewhere: (\d+) captures", finished.errors).group(1)) > 0, "nothing was captured meanwhile")
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")
        require("the driver refused" not in finished.errors, "a call of ours was refused", finished.describe())


for percent in (80, 60, 40):
    for plans, replays in (("on", "on"), ("wait", "on"), ("wait", "off"), ("off", "on")):
        valid_within(percent, plans, replays)
    valid_within(percent, "off", "on", lingering=True)
    valid_within(percent, "wait", "on", lingering=True)


@sentence("every call of ours but questions is made by a thread that is relaxed; what the program calls is passed on as it is")
def _():
    astray = []
    for file in sorted(Path(SOURCES, "shim").rglob("*.[ch]")):
        function = None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            head = re.match(r"[A-Za-z_][\w *]*?\b(\w+)\([^;]*$", line)
            function = head.group(1) if head else function
            astray += [f"{file.name}:{number}: {call} in {function}()" for call in re.findall(r"spw_driver\.(cu\w+)\(", line)
                       if call not in QUESTIONS | FIRST and function != "spw_on_" + call]
    require(not astray, "not through SPW_ASK() or SPW_ASK_QUIETLY():", *astray)


def unbound(what, command, env=None, share=None, options=(), contexts_that_go=0):
    @sentence(f"whenever a capture began, no call of ours would end it: {what}")
    def _():
        alone = run(command, env={**COSTS, **WATCHED})
        budget = alone.peak * share // 100 if share else None
        via = "hasty" if (env or {}).get("SPILLWAY_PLAN") == "wait" else "command"
        finished = run(command, budget=budget, via=via, options=options, env={**COSTS, **WATCHED, **(env or {})})
        same_results(alone, finished)
        ours = {call: count - alone.stats["bound"].get(call, 0) for call, count in finished.stats["bound"].items()
                if call not in QUESTIONS and count > alone.stats["bound"].get(call, 0)}
        if ours.get("cuCtxSynchronize", 0) <= contexts_that_go:  # with them go their captures
            ours.pop("cuCtxSynchronize", None)
        require(not ours, f"calls while a capture might forbid them: {ours}", finished.describe())
        require(sum(alone.stats["bound"].values()) > 0, "the device counted nothing")


for name in ("gpt", "resnet", "lstm"):
    unbound(f"{name}, on demand", [name, *TINY[name]], share=70, env={"SPILLWAY_PLAN": "off"})
for replays in ("on", "off"):
    for percent in (75, 45):
        unbound(f"a net by plan, recomputation {replays}, {percent} %", NETS, share=percent,
                env={"SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": replays, "SPILLWAY_VERIFY": 2})
unbound("a plan made beside the program", NETS, share=55)
unbound("a plan with recomputation of gpt", ["gpt", "--size", "small", "--steps", "14"], share=50,
        env={"SPILLWAY_PLAN": "wait", "SPILLWAY_VERIFY": 2})
unbound("a program that is traced", ["gpt", *TINY["gpt"]], options=["--mode", "trace", "--output", "/dev/null"], env={"SPILLWAY_TIMED": "all"})
unbound("one that is traced within a budget", ["gpt", *TINY["gpt"]], share=60, options=["--mode", "swap+trace", "--output", "/dev/null"],
        env={"SPILLWAY_TIMED": "all"})
for incident in ("child-exits", "renew", "anew", "another", "graph", "evaluates"):
    unbound(f"incident {incident}", [*NETS, "--at", "10", incident], share=70, env={"SPILLWAY_PLAN": "wait"},
            contexts_that_go=int(incident in ("renew", "another")))
finish()
