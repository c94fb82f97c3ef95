#!/usr/bin/env python3
"""Clocks that jump may cost a plan its worth, but never the result.

usage: planned-clock.py JUMPING_CLOCK"""
import os
import re
import sys

from following import within_budget, without
from harness import finish, require, same_in_budget, sentence

JUMPING_CLOCK = os.path.abspath(sys.argv.pop(1))
STEPS = 14


def jumping(seconds, planning):
    @sentence(f"clocks that jump by up to {seconds} s, plans made with {planning}: the same bits within half the peak")
    def _():
        for name in ("mlp", "resnet"):
            plain = without(name, STEPS, "--streams", "2")
            finished = within_budget(name, STEPS, "--streams", "2", budget=plain.peak // 2, planning=planning,
                                     env={"LD_PRELOAD": JUMPING_CLOCK, "JUMP": seconds})
            same_in_budget(plain, finished, plain.peak // 2)
            asked = re.search(r"jumping-clock: asked (\d+) times", finished.errors)
            require(asked and int(asked.group(1)) > 0, "nobody asked for the time", finished.describe())


for most in (1, 100000):
    for how in ("wait", "on"):
        jumping(most, how)
finish()
