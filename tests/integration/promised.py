#!/usr/bin/env python3
"""promised.py PROGRAM DEVICE - what a trace promises of a budget is what a run within it plans, and about what it then takes.

The trace knows the link, the granules and what mapping costs as the run does: both have one model of memory and time."""
import json
import os
import subprocess
import sys
import tempfile

from following import library_plans, step_times, usual
from harness import DEVICE, SPILLWAY, Skipped, environment, finish, program, require, run, same_in_budget, sentence, succeeded
from likeness import LIKE, device_like, program_like

NAME, KIND = sys.argv[1:]
ENV = {**device_like(NAME, KIND), "SPILLWAY_PROFILE": "off"}
STEPS, STEADY = 40, 16
PLANNED, TAKEN = 1.05, 1.10  # times what was promised, at most, either way: what the run predicts; what it takes
ON_THE_PAGE = 1.03  # times what is planned, at most, for the page searches for less time


def spillway(*arguments):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({**ENV, "LD_LIBRARY_PATH": DEVICE}), capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"spillway {' '.join(arguments)}", done.stderr)
    return done.stdout


def steady_us(finished):
    return 1000 * usual(step_times(finished)[-STEADY - 1:-1])


def as_promised(share, trace, plain):
    @sentence(f"{NAME} on {KIND} within {share} %: the run plans and takes what its trace promises")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget = plain.peak * share // 100
        promised = json.loads(spillway("plan", trace, "--json", f"--budget={budget}"))["time_ratio"] * steady_us(plain)
        finished = run(program_like(NAME, STEPS), budget=budget, env={**ENV, "SPILLWAY_PLAN": "wait"}, timeout=600)
        same_in_budget(plain, finished, budget)
        predicted, took = finished.summary["devices"][0]["planned"]["predicted_us"], steady_us(finished)
        seen = f"{promised:.0f} us promised, {predicted:.0f} predicted, {took:.0f} taken, {steady_us(plain):.0f} with enough memory"
        require(1 / PLANNED <= predicted / promised <= PLANNED, seen)
        require(share < 60 or 1 / TAKEN <= took / promised <= TAKEN, seen)  # below, runs are slower than they predict


def knows_the_machine(trace):
    @sentence(f"{NAME} on {KIND}: the trace knows the device's link, its granules and what a move costs")
    def _():
        told = json.loads(spillway("export", trace))
        gbps, scale = {"h200": 55.2, "a100-40g": 26}[KIND], LIKE[NAME].scales["small"][0]
        require(told["copy_bytes_per_us_measured"] and told["machine"]["granule_bytes"] == 64 << 10 and told["machine"]["move_us"] == 300, told["machine"])
        require(all(abs(rate * scale / 1000 / gbps - 1) < 0.05 for rate in told["copy_bytes_per_us"].values()), told["copy_bytes_per_us"])
        require(0.5 < told["machine"]["duplex"] < 1, told["machine"])


def shows_the_same(trace):
    @sentence(f"{NAME} on {KIND}: the page of a report promises what a plan of the same trace does")
    def _():
        curve = json.loads(spillway("report", trace, "--json"))["plan"]
        for point in (one for one in curve["points"] if round(one["budget_bytes"] / curve["peak_bytes"], 2) in (0.6, 0.4)):
            shown, planned = point["time_ns"] / 1000, json.loads(spillway("plan", trace, "--json", f"--budget={point['budget_bytes']}"))["time_us"]
            require(shown <= ON_THE_PAGE * planned, f"{point['budget_bytes']} bytes: {shown:.0f} us on the page, {planned:.0f} planned")


def main():
    with tempfile.TemporaryDirectory(prefix="spillway-promised-") as folder:
        trace, plain = os.path.join(folder, "trace"), run(program_like(NAME, STEPS), env=ENV, timeout=600)
        succeeded(plain)
        spillway("trace", "--output", trace, "--", *program(program_like(NAME, 7)))
        knows_the_machine(trace)
        shows_the_same(trace)
        for share in (60, 40):
            as_promised(share, trace, plain)
        finish()


main()
