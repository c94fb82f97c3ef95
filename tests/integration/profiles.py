#!/usr/bin/env python3
"""What a run learned of kernels is there for the next one: it recomputes from its first plan on, without trying anything again. Whatever a
profile says, the bits are the same, for it is checked like what a run found out itself.

usage: profiles.py HASTY       HASTY: the library with plans that are made in no time (tests/stress/hasty.c)"""
import concurrent.futures
import functools
import os
import random
import re
import shutil
import sys
import tempfile

import profile_file
from harness import BENCH, PRELOAD, finish, no_misuse, require, run, same_in_budget, same_results, sentence, succeeded

HASTY = os.path.abspath(sys.argv[1])
SIZES = {size: ["gpt", "--size", size, "--steps", "24", "--step-times"] for size in ("small", "tiny")}  # more steps than learning takes
HARM = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}


@functools.cache
def plain(size="tiny"):
    finished = run(SIZES[size], env=BENCH["device"])
    succeeded(finished)
    return finished


def with_profile(profile, share=60, size="tiny", library=HASTY, **more):
    budget = plain(size).peak * share // 100
    env = {**BENCH["device"], "SPILLWAY_PLAN": "wait", "SPILLWAY_PROFILE": profile, "SPILLWAY_BUDGET": budget, "LD_PRELOAD": library}
    finished = run(SIZES[size], via="none", env={**env, **more})
    same_in_budget(plain(size), finished, budget)
    return finished


def times(finished):
    return [float(ms) for ms in re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE).group(1).split()]


def first_steady(finished):
    """The first step, counted from 1, from which on all but one take at most a tenth longer than the last one."""
    each = times(finished)
    slow = [step for step, ms in enumerate(each, 1) if ms > 1.1 * each[-1]]
    return slow[-2] + 1 if len(slow) > 1 else 1


def complaints(finished):
    return [line for line in finished.errors.splitlines() if "profile" in line]


def in_folder(test):
    @functools.wraps(test)
    def inside():
        with tempfile.TemporaryDirectory(prefix="spillway-profile-") as folder:
            test(folder)
    return inside


@sentence("the second run of a program has its steady steps by the fourth, the first does not by the tenth")
@in_folder
def _(folder):
    profile = os.path.join(folder, "new", "gpt.profile")
    first, second = (with_profile(profile, size="small", library=PRELOAD) for _ in range(2))
    print(f"# steady from step {first_steady(first)}, then {first_steady(second)}", flush=True)
    require(first_steady(second) <= 4 and first_steady(first) > 10, times(first), times(second))
    require(first.summary["profile"]["used_classes"] == 0 < first.summary["profile"]["written_count"], first.summary["profile"])
    require(second.summary["profile"]["used_classes"] > 10, second.summary["profile"])
    require(second.summary["replayed"]["by_plan_count"] > first.summary["replayed"]["by_plan_count"], second.summary["replayed"])
    require(not complaints(first) + complaints(second), first.errors, second.errors)
    require(len(os.listdir(os.path.dirname(profile))) == 1, os.listdir(os.path.dirname(profile)))


@sentence("a run that waits for no plan begins with the one that the run before it had in the end")
@in_folder
def _(folder):
    profile = os.path.join(folder, "p")
    for _ in range(2):
        first = with_profile(profile, size="small", library=PRELOAD)
    second = with_profile(profile, size="small", library=PRELOAD, SPILLWAY_PLAN="on")
    print(f"# {times(first)[-1]} ms a step where plans are waited for, {times(second)[-1]} ms where not", flush=True)
    require(first_steady(second) <= 5 and times(second)[-1] <= 1.1 * times(first)[-1], times(first), times(second))
    require(second.summary["replayed"]["by_plan_count"] > 0, second.summary["replayed"])


@sentence("without a word about it profiles are kept in the user's cache folder, and not at all with off")
@in_folder
def _(folder):
    def default(value):
        env = {**BENCH["device"], "SPILLWAY_PLAN": "wait", "XDG_CACHE_HOME": folder, **value}
        finished = run(SIZES["tiny"], budget=plain().peak * 60 // 100, env=env, options=["--profile", "on"] if not value else [])
        same_results(plain(), finished)
        return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    require(not default({"SPILLWAY_PROFILE": "off"}), "off, and there is a file")
    files = default({})
    require(len(files) == 1 and files[0].startswith(os.path.join(folder, "spillway", "")) and files[0].endswith(".profile"), files)
    identity, known = profile_file.read(files[0])
    require("simulated" in identity and len(known) > 10, identity, known)


@sentence("nothing is written by a program that fits, or that is not to recompute")
@in_folder
def _(folder):
    profile = os.path.join(folder, "p")
    with_profile(profile, share=120)
    with_profile(profile, SPILLWAY_RECOMPUTE="off")
    require(not os.listdir(folder), os.listdir(folder))


@sentence("a damaged profile, one of another device, and what is none are told of in one line, not used, and replaced")
@in_folder
def _(folder):
    good = os.path.join(folder, "good")
    with_profile(good)
    identity, known = profile_file.read(good)
    with open(good, "rb") as file:
        data = file.read()
    other = os.path.join(folder, "other")
    profile_file.write(other, identity.replace("H200", "B300").replace("simulated", "imagined"), known)
    with open(other, "rb") as file:
        foreign = file.read()
    for what, bad in (("another byte", data[:99] + bytes([data[99] ^ 1]) + data[100:]), ("another device", foreign), ("no profile", b"#!/bin/sh\n" * 9)):
        path = os.path.join(folder, "bad")
        with open(path, "wb") as file:
            file.write(bad)
        finished = with_profile(path)
        told = complaints(finished)
        require(len(told) == 1 and path in told[0] and "is not used" in told[0], what, finished.errors)
        require(("imagined" in told[0]) == (what == "another device"), told)
        require(finished.summary["profile"]["used_classes"] == 0, what, finished.summary["profile"])
        require(len(profile_file.read(path)[1]) == len(known), what, "was not replaced")


@sentence("a profile that cannot be written is told of once, whatever the reason")
@in_folder
def _(folder):
    plain_file = os.path.join(folder, "plain")
    with open(plain_file, "w", encoding="ascii"):
        pass
    for path, lines in ((os.path.join(plain_file, "p"), 2), (folder, 2)):
        finished = with_profile(path)
        told = [line for line in complaints(finished) if "cannot be written" in line]
        require(len(told) == 1 and path in told[0] and len(complaints(finished)) <= lines, finished.errors)


@sentence("three processes that share a profile end up with what all have learned")
@in_folder
def _(folder):
    profile, alone = os.path.join(folder, "shared"), os.path.join(folder, "alone")
    with_profile(alone)
    with concurrent.futures.ThreadPoolExecutor(3) as workers:
        runs = list(workers.map(with_profile, [profile] * 3))
    require(not sum((complaints(each) for each in runs), []), *[each.errors for each in runs])
    keys = [{each.key for each in profile_file.read(path)[1]} for path in (profile, alone)]
    require(keys[0] == keys[1], len(keys[0]), len(keys[1]))
    require(sorted(os.listdir(folder)) == ["alone", "shared"], os.listdir(folder))


@sentence("kernels of which one wrote late what it was believed to read are learned anew by a later run, which recomputes as much before that")
@in_folder
def _(folder):
    command, profile = ("harm-untold", "--kind", "late-sum", "--steps", "40", "--late", "30"), os.path.join(folder, "p")
    without = run(command, env=HARM)
    replayed = []
    for _ in range(3):
        finished = run(command, via="none", env={**HARM, "SPILLWAY_PLAN": "wait", "LD_PRELOAD": HASTY, "SPILLWAY_PROFILE": profile,
                                                 "SPILLWAY_BUDGET": without.peak * 60 // 100})
        same_results(without, finished)
        require("had not changed it before" in finished.errors, finished.errors)
        require(any(each.flags & profile_file.REFUTED for each in profile_file.read(profile)[1]), "is not in the profile")
        replayed.append(finished.summary["replayed"]["by_plan_count"])
    require(replayed[0] > 0 and min(replayed) == replayed[0], replayed)


def lie(path, changed_of):
    """Of each class: it writes to one place alone, leaves all others alike, and gives the same each time."""
    identity, known = profile_file.read(path)
    for each in known:
        each.changed = changed_of(each.changed)
        each.seen = bytearray(0 if i >= each.hits or each.changed >> i & 1 else 2 for i in range(64))
        each.looks, each.tries, each.verdict, each.flags = 2, 2, 1, 0
        each.numbers[len(each.numbers) // 2:] = [1] * (len(each.numbers) // 2)
    profile_file.write(path, identity, known)


LIES = {"its lowest place": lambda changed: changed & -changed, "its highest place": lambda changed: 1 << changed.bit_length() >> 1 if changed else 0,
        "nothing": lambda changed: 0, "what it leaves alone": lambda changed: ~changed & 1}


def deceived(folder, kind):
    """The program with an honest profile, then with lies: the bits are those without spillway, and nothing is refused."""
    command, honest = ("harm-untold", "--kind", kind, "--steps", "40", "--late", "30"), os.path.join(folder, kind)
    without = run(command, env=HARM)
    succeeded(without)
    for told in ("the truth", *LIES):
        path = honest if told not in LIES else shutil.copy(honest, f"{honest} {told}")
        if told in LIES:
            lie(path, LIES[told])
        finished = run(command, via="none", env={**HARM, "SPILLWAY_PLAN": "wait", "LD_PRELOAD": HASTY, "SPILLWAY_PROFILE": path,
                                                 "SPILLWAY_BUDGET": without.peak // 2})
        same_results(without, finished)
        no_misuse(finished)
        require("refused" not in finished.errors, kind, told, finished.describe())
        require(os.path.exists(honest), kind, "left no profile")


@sentence("lies about iterations, how long they take and what plans for them are made of, change no bit")
@in_folder
def _(folder):
    honest, path, draw = os.path.join(folder, "honest"), os.path.join(folder, "p"), random.Random(7)
    with_profile(honest)
    for share in (0.5, 0.1, 0.01, 0.003, 0.001, 0.001, 0.0003, 0.0003):
        identity, known = profile_file.read(honest)
        told = bytearray(known.iterations)
        for at in draw.sample(range(32, len(told)), max(1, int(share * len(told)))):     # behind the numbers of bytes, which are only counted
            told[at] = draw.randrange(256)
        known.iterations = bytes(told)
        profile_file.write(path, identity, known)
        with_profile(path)


# promise: never-silently-wrong
@sentence("lies about what kernels write, and which of them give the same again, change no bit, and nothing is refused")
@in_folder
def _(folder):
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        list(workers.map(functools.partial(deceived, folder), ("scatter", "late-sum", "counter", "running", "two-outputs")))


finish()
