"""measured.py - what the library says that it has measured is what the simulated device does, by its own profile."""
import os
import re
import sys

from harness import SMALL_DEVICE, finish, require, run, sentence, succeeded

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


sys.exit(finish())
