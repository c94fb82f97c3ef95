#!/usr/bin/env python3
"""Every command that the documents and the help texts name is one: `./dev NAME`, `spillway NAME`.

usage: commands.py SOURCE_FOLDER"""
import glob
import os
import re
import subprocess
import sys

from harness import SPILLWAY, environment, finish, require, sentence

SOURCE = sys.argv[1]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(glob.glob("docs/**/*.md", root_dir=SOURCE, recursive=True)),
         *sorted(glob.glob("tests/**/*.md", root_dir=SOURCE, recursive=True))]


def ask(*command):
    return subprocess.run(command, cwd=SOURCE, env=environment({}), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def named(pattern):
    """Each word that follows the pattern's beginning in some page, and the first page that has it."""
    found = {}
    for page in PAGES:
        with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
            for word in re.findall(pattern, file.read()):
                found.setdefault(word, page)
    return found


DEV = os.path.join(SOURCE, "dev")


@sentence("./dev knows each command that a page names, by itself and in its help")
def _():
    told = re.findall(r"^    ([a-z][a-z-]+)", ask(DEV, "help").stdout, re.MULTILINE)
    pages = named(r"\./dev ([a-z][a-z-]*)\b")
    require(len(told) > 8 and len(pages) > 5, told, pages)
    for command in {*told, *pages}:
        # Help is asked for, or of those that hand their arguments on, something that they refuse: nothing is built for that.
        done = ask("bash", "-c", f"set -- help; source {DEV} >/dev/null; declare -F cmd_{command}")
        require(done.stdout.strip() == f"cmd_{command}", f"./dev {command}, which {pages.get(command, './dev help')} names, is no command", done.stderr)
        require(command in told or command == "help", f"./dev {command}, which {pages.get(command)} names, is not in ./dev help")


@sentence("./dev answers --help for each of its commands, and names one that it does not have")
def _():
    for command in ("build", "check", "torch-sim", "jax-sim", "format", "lint", "clean"):
        done = ask(DEV, command, "--help")
        require(done.returncode == 0 and "usage: ./dev COMMAND" in done.stdout, command, done.stderr)
    for command in ("jaxsim", "--all", "need", "cmd_build"):
        done = ask(DEV, command)
        require(done.returncode == 2 and f"unknown command '{command}'" in done.stderr, command, done.stdout, done.stderr)


@sentence("spillway knows each command that a page names")
def _():
    pages = named(r"(?:`|\$ |tools/|\n    )spillway ([a-z]+)")
    require({"run", "trace", "report", "plan", "doctor"} <= set(pages), pages)
    for command in set(pages) - {"help"}:
        done = ask(SPILLWAY, command, "--help")
        require(done.returncode == 0, f"spillway {command}, which {pages[command]} names, is no command", done.stderr)


finish()
