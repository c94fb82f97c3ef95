#!/usr/bin/env python3
"""What the pages show is what happens: every code block behind `<!-- run -->` is run on the simulated device, and prints the lines that
it shows; every option of `spillway` in any block is one.

A block has commands, which begin with `$ `, and some of the lines that they print. `…` stands for anything. In a line of the
library's own, which begins with `spillway: ` or goes on from one, other numbers may stand, since they depend on the machine.

usage: shown.py SOURCE_FOLDER"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import BUILD, DEVICE, SPILLWAY, environment, finish, require, sentence

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tests" / "house"))
from blocks import blocks_of, pages_of  # noqa: E402  pylint: disable=wrong-import-position

PAGES = [page for page in pages_of(SOURCE) if any(block.mark == "run" for block in blocks_of(page.read_text(encoding="utf-8")))]
NUMBER = r"\d+(?:\.\d+)?"


def pattern_of(line):
    """What a shown line has to look like, without the spaces around it."""
    said = line.strip()
    loose = said.startswith(("spillway: ", "… "))
    parts = [re.sub(NUMBER, "@", part) if loose else part for part in map(str.strip, said.split("…"))]
    return re.compile(".*".join(re.escape(part).replace("@", NUMBER) if loose else re.escape(part) for part in parts))


def carry_out(command, folder, settings):
    """Runs one line of a block as a shell would; what it exports holds for the lines after it."""
    line = command.replace("./dev sim -- ", "")
    exported = re.match(r"export ((?:\w+=\S+ *)+)(?:#.*)?$", line)
    if exported:
        settings.update(word.split("=", 1) for word in exported.group(1).split())
        return ""
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment({"LD_LIBRARY_PATH": DEVICE, **settings}), capture_output=True, text=True,
                          check=False, timeout=240, stdin=subprocess.DEVNULL)
    require(done.returncode == 0, command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def try_block(block):
    with tempfile.TemporaryDirectory(prefix="spillway-shown-") as folder:
        os.symlink(BUILD, os.path.join(folder, "build"))
        settings, said, commands, shown = {}, [], 0, 0
        for line in block.lines:
            if line.startswith("$ "):
                said, commands = [each.strip() for each in carry_out(line[2:], folder, settings).splitlines()], commands + 1
                continue
            shown += 1
            require(any(pattern_of(line).search(each) if "…" in line else pattern_of(line).fullmatch(each) for each in said),
                    "not printed:", line, "but:", "\n".join(said))
        require(commands > 0 and shown > 0, "nothing is shown", block.lines)


for page in PAGES:
    @sentence(f"{page.relative_to(SOURCE)}: what its blocks show is what is printed")
    def _(page=page):
        for block in blocks_of(page.read_text(encoding="utf-8")):
            if block.mark == "run":
                try_block(block)


@sentence("there are such blocks, and a line that is not printed would be noticed")
def _():
    require(PAGES, "no page has a block that is run")
    require(pattern_of("  spillway: 25 of 37 by plan …").search("spillway: 3 of 4 by plan, and more"))
    require(not pattern_of("  spillway: 25 of 37 by plan …").search("spillway: 3 of 4 by hand, and more"))
    require(not pattern_of("  peak  40.7 MiB").fullmatch("peak  40.8 MiB"))


@functools.cache
def options_of(command):
    done = subprocess.run([SPILLWAY, command, "--help"], env=environment({}), capture_output=True, text=True, check=False, timeout=20)
    require(done.returncode == 0, f"spillway {command} is no command", done.stderr)
    return set(re.findall(r"--([\w-]+)", done.stdout))


@sentence("each command and option of spillway that a block shows is one")
def _():
    found = 0
    for page in pages_of(SOURCE):
        for block in blocks_of(page.read_text(encoding="utf-8")):
            for line in block.lines:
                for command, rest in re.findall(r"(?:^|[ /])spillway (run|trace|report|diff|export|plan|top|doctor)\b([^#|;]*)", line):
                    for option in re.findall(r" --([a-z][\w-]*)", rest.split(" -- ")[0]):
                        require(option in options_of(command), f"{page.relative_to(SOURCE)}: spillway {command} has no --{option}", line)
                        found += 1
    require(found > 3, "hardly any is found", found)


TOLERANCE = 0.05  # the plan in force is the one that was found by then, which depends on the machine


@sentence("./dev demo keeps the budget and the bits, and the README's results have what its last steps take")
def _():
    row = next(line for line in (SOURCE / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|") and "RTX 4090 | *simulated*" in line)
    done = subprocess.run([sys.executable, SOURCE / "tests/integration/demo", "--simulated"], env=environment({"SPILLWAY_BUILD": BUILD}), capture_output=True,
                          text=True, check=False, timeout=300)
    require(done.returncode == 0, done.stdout, done.stderr)
    plain, within = map(float, re.search(r"last 8 steps.* ([\d.]+) ms +([\d.]+) ms", done.stdout).groups())
    require(abs(float(row.split("|")[4]) / (within / plain) - 1) <= TOLERANCE, row, f"{within / plain:.2f}")


finish()
