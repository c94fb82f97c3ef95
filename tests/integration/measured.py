"""measured.py - what the library says that it has measured is what the simulated device does, by its own profile."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

from following import COPIES, library_plans, settings, step_times, tiny, within_budget, without
from harness import DEVICE, SMALL_DEVICE, SPILLWAY, Skipped, environment, finish, program, require, run, sentence, succeeded

PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simgpu", "profiles")
HEAVY = {**SMALL_DEVICE, "SIMGPU_SCALE_BYTES": "1000"}  # beside its bytes, a copy's latency is nothing


def profile(name):
    with open(os.path.join(PROFILES, name + ".profile"), encoding="utf-8") as file:
        return {key: float(value) for key, value in re.findall(r"^(\w+) = ([0-9.e]+)", file.read(), re.MULTILINE)}


def about(value, expected, part=0.02):
    return value is not None and abs(value - expected) <= part * expected


@sentence("the speed of the link is measured from the copies of the first steps, on every profile")
def _():
    for name in ("v100-16g", "a100-40g", "rtx4090", "h200"):
        finished = run(["gpt", "--size", "small", "--steps", "3"], budget="9MiB", env={**HEAVY, "SIMGPU_PROFILE": name})
        succeeded(finished)
        link, truth = finished.summary["devices"][0]["bandwidth"], profile(name)
        require(link["measured"], name, link)
        for direction in ("d2h", "h2d"):
            bytes_per_us = truth[direction + "_gbps"] * 1000 / float(HEAVY["SIMGPU_SCALE_BYTES"])
            require(about(link[direction + "_bytes_per_us"], bytes_per_us), name, direction, link, bytes_per_us)


@sentence("a program that fits measures nothing, keeps no event for it, and says nothing of plans")
def _():
    finished = run(["gpt", "--size", "small", "--steps", "2"], budget="64MiB", env=SMALL_DEVICE)
    succeeded(finished)
    device = finished.summary["devices"][0]
    require(not device["bandwidth"]["measured"] and device["bandwidth"]["d2h_bytes_per_us"] is None, device)
    require(device["planned"]["iterations"] == 0 and device["planned"]["hidden_share"] is None, device)
    require(not any(finished.summary["carried"].values()), finished.summary["carried"])
    require("by plan" not in finished.errors and "nothing moved" in finished.errors, finished.errors)
    require(finished.summary["events_held"] == 0, finished.summary["events_held"])


def planned(name, share, steps=20):
    if not library_plans():
        raise Skipped("this library makes no plans")
    finished = within_budget(name, steps, budget=without(name, steps).peak * share // 100, env=COPIES)
    succeeded(finished)
    return finished, finished.summary["devices"][0]["planned"], finished.summary["devices"][0]["bandwidth"]


@sentence("the step time that is told is the one that the program measures, by plan and on demand")
def _():
    for name, share in (("gpt", 80), ("lstm", 60)):
        finished, told, _link = planned(name, share)
        require(told["planned_iterations"] >= 10 and told["plans"] >= 1 and told["lost"] == 0, name, told)
        last = step_times(finished)[-1 - min(told["planned_iterations"], 16):-1]  # iterations may begin elsewhere than steps
        require(about(told["step_us"], statistics.mean(last) * 1000, 0.04), name, told, last)
        require(told["on_demand_us"] > told["bound_us"] > 0 and told["predicted_us"] >= told["ops_us"] > 0, name, told)


@sentence("what the operations take by themselves is what a step takes without a budget")
def _():
    for name in ("gpt", "resnet", "lstm"):
        alone_us = statistics.median(step_times(without(name, 20))[3:-1]) * 1000
        _finished, told, _link = planned(name, 60)
        require(about(told["ops_us"], alone_us, 0.05), name, told, alone_us)


@sentence("the share of the copies' time that is hidden follows from the other figures, bytes from what the device copied")
def _():
    for name, share in (("gpt", 80), ("resnet", 60), ("lstm", 60)):
        finished, told, link = planned(name, share)
        copies_us = told["out_bytes"] / link["d2h_bytes_per_us"] + told["in_bytes"] / link["h2d_bytes_per_us"]
        require(about(told["copies_us"], copies_us, 0.001), name, told, link)
        hidden = min(1, max(0, 1 - max(0, told["step_us"] - told["ops_us"]) / copies_us))
        require(abs(told["hidden_share"] - hidden) < 0.01, name, told, hidden)
        for way, direction in (("out_bytes", "d2h"), ("in_bytes", "h2d")):
            copied = finished.stats["copies"][direction]["bytes"]
            require(0 < told[way] * told["planned_iterations"] <= copied, name, way, told, finished.stats["copies"])
        require(0 <= told["prefetches_in_time"] <= told["prefetches"] <= sum(finished.summary["carried"][k] for k in ("restored_count", "late_count")),
                name, told, finished.summary["carried"])


@sentence("the line at the end tells it in words, with the same figures")
def _():
    finished, told, _link = planned("lstm", 60)
    lines = [line for line in finished.errors.splitlines() if "device 0" in line]
    require(len(lines) == 1, "not one line", finished.errors)
    said = re.search(r"(\d+) of (\d+) iterations by plan \((\d+) made, left (\d+) times\): ([\d.]+) ms each, ([\d.]+) ms predicted", lines[0])
    require(said, lines[0])
    require([int(x) for x in said.groups()[:4]] == [told[k] for k in ("planned_iterations", "iterations", "plans", "lost")], said.groups(), told)
    require(about(float(said.group(5)) * 1000, told["step_us"]) and about(float(said.group(6)) * 1000, told["predicted_us"]), lines[0], told)
    share = re.search(r"(\d+) % of their time hidden", lines[0])
    require(share and abs(int(share.group(1)) / 100 - told["hidden_share"]) < 0.01, lines[0], told)


def top(pid, *how):
    return subprocess.run([SPILLWAY, "top", "--once", *how, str(pid)], env=environment({}), capture_output=True, text=True, timeout=20, check=False)


@sentence("spillway top tells of iterations by plan while they go on, as an object and in words")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    budget = without("lstm", 20).peak * 60 // 100
    with subprocess.Popen([SPILLWAY, "run", "--budget", str(budget), "--", *program(tiny("lstm", 100000))], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment({"LD_LIBRARY_PATH": DEVICE, **settings("lstm"), **COPIES})) as running:
        try:
            figures = text = None
            for _try in range(200):
                time.sleep(0.05)
                done = top(running.pid, "--json")
                figures = json.loads(done.stdout) if done.returncode == 0 else None
                if figures and figures["devices"][0]["planned"]["planned_iterations"] > 8:
                    text = top(running.pid).stdout
                    break
        finally:
            running.kill()
    require(text, "it did not come to that", figures)
    told, link = figures["devices"][0]["planned"], figures["devices"][0]["bandwidth"]
    require(told["plan"] >= 1 and told["plans"] >= 1 and told["out_bytes"] > 0 and told["in_bytes"] > 0, told)
    require(told["step_ns"] > 0 and told["predicted_ns"] > 0 and 0 <= told["hidden_permille"] <= 1000, told)
    require(link["d2h_bytes_per_s"] > 0 and link["h2d_bytes_per_s"] > 0, link)
    require(figures["carried"]["restored"] > 0 and figures["carried"]["left"] > 0, figures["carried"])
    for words in ("iterations by plan", "predicted", "of their time hidden", "tensors went", "/s to the host"):
        require(words in text, words, text)


sys.exit(finish())
