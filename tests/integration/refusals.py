#!/usr/bin/env python3
"""What cannot be computed again is named with its reason wherever a user looks: in the log, the summary, the report and `spillway top`."""
import json
import os
import re
import subprocess
import tempfile
import time

from harness import DEVICE, SMALL_DEVICE, SPILLWAY, environment, finish, program, require, run, same_in_budget, sentence, succeeded

SLOW_LINK = {"SIMGPU_PROFILE": "rtx4090", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
RECOMPUTING = {**SLOW_LINK, "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on", "SPILLWAY_LOG": "info"}
COMMAND = ["replay", "--kinds", "plain,matmul,in-place,clock,half,old,atomics", "--rounds", "3"]
# Kernel, and why it is not launched again; the others of these kinds can be.
REASONS = {"clock_kernel": "differs"}
WORDS = {"differs": "it gives something else from one run to the next"}


def budget():
    if not hasattr(budget, "bytes"):
        plain = run([*COMMAND, "--steps", "2"])
        succeeded(plain)
        budget.bytes = plain.peak * 55 // 100
    return budget.bytes


def tool(*arguments):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({}), capture_output=True, text=True, timeout=20, check=False)
    require(done.returncode == 0, done.stdout, done.stderr)
    return done.stdout


def short(kernel):
    """shrink_kernel of _Z13shrink_kernelPfm."""
    return re.sub(r"^_Z\d+(\w+_kernel).*", r"\1", kernel)


def are_named(refused, what):
    # What does not fit into the time or the scratch memory of learning depends on the budget.
    found = {short(entry["kernel"]): entry["reason"] for entry in refused if entry["reason"] not in ("not-tried", "too-large")}
    for kernel, reason in REASONS.items():
        require(found.get(kernel) == reason, f"{what}: {kernel} is {found.get(kernel)}, not {reason}", refused)
    others = set(found) - set(REASONS) - {"a set"}
    require(not others, f"{what}: {others} could have been launched again", refused)
    for entry in refused:
        require(entry["operations"] > 0, what, entry)
    waiting = [entry["bytes"] for entry in refused]
    require(sum(waiting) > 0 and waiting == sorted(waiting, reverse=True), f"{what}: not by bytes", refused)


@sentence("summary, log and last line name each kernel with its reason, and what that keeps from being dropped")
def _():
    finished = run([*COMMAND, "--steps", "22"], budget=budget(), env=RECOMPUTING)
    succeeded(finished)
    learned = finished.summary["devices"][0]["learned"]
    are_named(learned["refused"], "the summary")
    refused = sum(entry["operations"] for entry in learned["refused"]) + learned["replayable"]
    require(0 < learned["replayable"] < refused <= learned["operations"] and learned["refused_left_out"] == 0, learned)
    for kernel, reason in REASONS.items():
        require(re.search(rf": {kernel} is not run again: {WORDS[reason]} \(\d+ operations of an iteration; [0-9.]+ MiB", finished.errors),
                kernel, finished.errors)
    last = [line for line in finished.errors.splitlines() if "iterations by plan" in line][-1]
    first = learned["refused"][0]
    require(f"{learned['replayable']} of {learned['operations']} operations can be run again" in last, last)
    require(f"for {short(first['kernel'])}:" in last and "cannot be dropped for others" in last, last)


@sentence("where recomputation is off, or everything fits, there is nothing of it in the summary")
def _():
    for settings, bytes_ in (({"SPILLWAY_RECOMPUTE": "off"}, budget()), ({}, 1 << 27)):
        finished = run([*COMMAND, "--steps", "14"], budget=bytes_, env={**RECOMPUTING, **settings})
        succeeded(finished)
        require(finished.summary["devices"][0]["learned"] is None, finished.summary["devices"][0])
        require("not run again" not in finished.errors and "can be run again" not in finished.errors, finished.errors)


@sentence("a driver that does not take the kernel which compares memory: that is said once, nothing is recomputed, and the bits are the same")
def _():
    plain = run([*COMMAND, "--steps", "22"], env=SLOW_LINK)
    finished = run([*COMMAND, "--steps", "22"], budget=budget(), env={**RECOMPUTING, "SIMGPU_FAIL": "cuModuleLoadData:1+=CUDA_ERROR_INVALID_PTX"})
    same_in_budget(plain, finished, budget())
    said = [line for line in finished.errors.splitlines() if "nothing is recomputed" in line]
    require(len(said) == 1 and "cuModuleLoadData" in said[0], "said how often?", *said)
    counted = finished.summary["replayed"]
    require(counted["dropped_count"] == counted["operations"] == 0, counted)
    learned = finished.summary["devices"][0]["learned"]
    require(learned and all(entry["reason"] == "not-tried" for entry in learned["refused"] if "_kernel" in entry["kernel"]), learned)


@sentence("the report of a run with a trace lists them, as text, as JSON and on the page")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        trace, page = os.path.join(folder, "some.trace"), os.path.join(folder, "page.html")
        finished = run([*COMMAND, "--steps", "22"], budget=budget(), env=RECOMPUTING, options=("--mode", "swap+trace", "--output", trace))
        succeeded(finished)
        report = json.loads(tool("report", trace, "--json", "--time-limit=0"))
        are_named(report["not_replayed"], "the report")
        told = {(entry["kernel"], entry["reason"], entry["operations"], entry["bytes"]) for entry in report["not_replayed"]}
        known = {(short(entry["kernel"]), entry["reason"], entry["operations"], entry["bytes"])
                 for entry in finished.summary["devices"][0]["learned"]["refused"]}
        require(told == known, "other than the summary", told ^ known)
        text = tool("report", trace, "--time-limit=0")
        tool("report", trace, "--html", page)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        for kernel, reason in REASONS.items():
            require(re.search(rf"in \d+ +{kernel}: {WORDS[reason]}", text), kernel, text)
            require(re.search(rf'"kernel": *"{kernel}", *"reason": *"{reason}"', html), f"{kernel} is not on the page")


@sentence("`spillway top` shows, while the program runs, what was computed again and what cannot be")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        process = subprocess.Popen([SPILLWAY, "run", "--budget", str(budget()), "--", *program([*COMMAND, "--steps", "4000"])], cwd=folder,
                                   env=environment({**SMALL_DEVICE, **RECOMPUTING, "LD_LIBRARY_PATH": DEVICE, "SPILLWAY_LOG": "quiet"}),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                time.sleep(0.05)
                figures = [f for f in json.loads(tool("top", "--once", "--json")) if f["pid"] == process.pid]
                if figures and figures[0]["recomputed"]["by_plan"] > 20:
                    break
            require(process.poll() is None and figures, "it came to no recomputation")
            shown = figures[0]
            are_named(shown["not_replayed"], "top")
            again = shown["recomputed"]
            require(again["dropped"] >= again["by_plan"] > 20 and again["by_plan_bytes"] > 0 and again["operations"] > 20, again)
            require(again["verified"]["equal"] > 0 and again["verified"]["mismatches"] == again["verified"]["lost"] == 0, again)
            require(0 < again["records"]["bytes"] <= again["records"]["peak_bytes"] < again["records"]["limit_bytes"] == 64 << 20, again)
            text = tool("top", "--once", str(process.pid))
        finally:
            process.kill()
            process.wait()
            tool("top", "--once")
        for start in ("recomputed  ", "verified    ", "unchanged   ", "records     ", "not again   "):
            require(re.search(f"^{start}\\S", text, re.MULTILINE), f"no line {start}", text)
        for kernel, reason in REASONS.items():
            require(re.search(rf"in \d+ operations of {kernel}: {WORDS[reason]}", text), kernel, text)


finish()
