#!/usr/bin/env python3
"""No two files of the library need each other, be it by way of others, but for the modules that are stated here.

usage: circles.py BUILD ROOM...

A file needs another where its object uses a function or variable that the other one's object defines (nm). Rooms need none of a
higher one (rooms.py), so that circles lie within a room."""
import collections
import pathlib
import re
import subprocess
import sys

# Several files that are one thing, with one header that others include.
MODULES = [
    "stream/streams stream/marks",                                   # the records of streams
    "memory/phys_pool memory/split_merge",                           # physical memory in pieces: which are cut and joined
    "entry/api entry/edge entry/life entry/open entry/resolve",      # exported symbols: each opens the driver, which learns of each
    "entry/forward entry/forward.S",                                 # generated symbols, and what they jump to
    # the recorder, under one lock: recorder_parts.h says where its parts meet
    "recorder/definitions recorder/iteration_finder recorder/nvtx recorder/recorder recorder/recorder_memory recorder/recorder_touches",
]


def symbols(library):
    """(file, letter, name) of all that the objects of a library define or use."""
    listing = subprocess.run(["nm", "-A", str(library)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        *_, letter, name = line.split()
        file = re.search(r"([^/:]+)\.o:", line).group(1)
        yield file.removesuffix(".c").removeprefix("meson-generated_.._"), letter, name


def uses_of(build, rooms):
    """file -> {file that it needs: names}, by ROOM_NAME as the build calls objects."""
    defined, used = {}, collections.defaultdict(set)
    for room in rooms:
        for file, letter, name in symbols(build / "shim" / f"libspillway-{room}.a"):
            file = f"{room}/{file.removeprefix(room + '_')}"
            if letter in "TDBRVWC":
                defined[name] = file
            elif letter == "U":
                used[file].add(name)
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for file, names in used.items():
        for name in names:
            if defined.get(name, file) != file:
                uses[file][defined[name]].add(name)
    return uses


def reached_from(file, uses):
    seen, ahead = set(), [file]
    while ahead:
        for other in uses.get(ahead.pop(), ()):
            if other not in seen:
                seen.add(other)
                ahead.append(other)
    return seen


def circles(uses):
    """Sets of files that all reach each other."""
    reached = {file: reached_from(file, uses) for file in list(uses)}
    found = {frozenset(other for other in there if file in reached.get(other, ())) for file, there in reached.items() if file in there}
    return sorted(found, key=sorted)


def main():
    build, rooms = pathlib.Path(sys.argv[1]), sys.argv[2:]
    uses = uses_of(build, rooms)
    found = circles(uses)
    stated = [frozenset(module.split()) for module in MODULES]
    bad = [circle for circle in found if circle not in stated]
    gone = [module for module in stated if module not in found]
    print("1..3")
    print(("not " if bad else "") + "ok 1 - no files need each other but those of a module")
    for circle in bad:
        print("# circle: " + " ".join(sorted(circle)))
        for file in sorted(circle):
            for other in sorted(circle & set(uses[file])):
                print(f"#     {file} -> {other}: {', '.join(sorted(uses[file][other])[:6])}")
    print(("not " if gone else "") + "ok 2 - each module that is stated is one")
    for module in gone:
        print("# no circle: " + " ".join(sorted(module)))
    many = len(uses) > 100 and circles({"a": {"b": 1}, "b": {"c": 1}, "c": {"b": 1}}) == [frozenset("bc")]
    print(("" if many else "not ") + f"ok 3 - circles are found where they are\n# {len(uses)} files use others")
    return 1 if bad or gone or not many else 0


sys.exit(main())
