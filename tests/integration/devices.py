#!/usr/bin/env python3
"""A program on three devices, each with a budget of its own or none, does what it does without.

usage: devices.py PROGRAM"""
import sys

from harness import finish, no_misuse, nothing_left, require, run, same_results, sentence

PROGRAM = sys.argv.pop(1)
THREE = {"SIMGPU_DEVICES": "3"}
plain = run([PROGRAM], env=THREE)
peaks = [device["peak_mapped_bytes"] for device in (plain.stats or {"devices": []})["devices"]]


@sentence("without a budget the program does what it means to, on all three")
def _():
    require(plain.status == 0 and len(peaks) == 3 and min(peaks) > 0, plain.describe(), peaks)


def within(shares):
    said = ",".join(f"{device}={peaks[device] * share // 100}" for device, share in enumerate(shares) if share)

    @sentence(f"the same with {', '.join(f'{share} %' if share else 'no budget' for share in shares)} of their peaks")
    def _():
        finished = run([PROGRAM], budget=said, env=THREE)
        same_results(plain, finished)
        no_misuse(finished)
        nothing_left(plain, finished)
        for device, share in enumerate(shares):
            for peak in ("peak_mapped_bytes", "peak_physical_bytes"):
                got = finished.stats["devices"][device][peak]
                require(not share or got <= peaks[device] * share // 100, f"device {device}: {peak} {got}", said)
        moved = finished.copied("d2h") - plain.copied("d2h")
        require((moved > 0) == (min(share or 100 for share in shares) < 100), f"{moved} bytes moved to the host", said)


for each in ((60, 60, 60), (50, 100, 80), (None, 60, None), (70, None, 40), (150, 150, 150)):
    within(each)
finish()
