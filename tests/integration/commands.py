#!/usr/bin/env python3
"""Every command that the documents and the help texts name is one: `./dev NAME`, `spillway NAME`.

usage: commands.py SOURCE_FOLDER"""
import glob
import os
import re
import subprocess
import sys
import tempfile

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


def listed():
    """The commands that ./dev help tells of."""
    return re.findall(r"^    ([a-z][a-z-]+)", ask(DEV, "help").stdout, re.MULTILINE)


@sentence("./dev knows each command that a page names, by itself and in its help")
def _():
    told = listed()
    pages = named(r"\./dev ([a-z][a-z-]*)\b")
    require(len(told) > 8 and len(pages) > 5, told, pages)
    for command in {*told, *pages}:
        # Help is asked for, or of those that hand their arguments on, something that they refuse: nothing is built for that.
        done = ask("bash", "-c", f"set -- help; source {DEV} >/dev/null; declare -F cmd_{command}")
        require(done.stdout.strip() == f"cmd_{command}", f"./dev {command}, which {pages.get(command, './dev help')} names, is no command", done.stderr)
        require(command in told or command == "help", f"./dev {command}, which {pages.get(command)} names, is not in ./dev help")


@sentence("./dev help lists each command that there is, and each answers --help without building anything")
def _():
    with open(DEV, encoding="utf-8") as file:
        functions = set(re.findall(r"^cmd_([a-z][a-z-]*)\(\)", file.read(), re.MULTILINE))
    require(functions - {"help"} == set(listed()), functions.symmetric_difference(listed()))
    for command in functions - {"help"}:
        done = ask(DEV, command, "--help")
        require(done.returncode == 0 and "usage: " in done.stdout and "dev: " not in done.stderr, command, done.stdout, done.stderr)


@sentence("./dev calls the function of each command, with what is given to it")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-dev-") as folder, open(DEV, encoding="utf-8") as file:
        text, count = re.subn(r"^cmd_([a-z][a-z-]*)\(\) \{.*$", r'\g<0>\n    echo "called: \1 $*"; return', file.read(), flags=re.MULTILINE)
        require(count > 8, text)
        copy = os.path.join(folder, "dev")
        with open(copy, "w", encoding="utf-8") as changed:
            changed.write(text)
        for command in {*listed(), *named(r"\./dev ([a-z][a-z-]*)\b")}:
            done = ask("bash", copy, command, "one", "two")
            require(done.returncode == 0 and done.stdout == f"called: {command} one two\n", command, done.stdout, done.stderr)


@sentence("./dev names a command that it does not have")
def _():
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
