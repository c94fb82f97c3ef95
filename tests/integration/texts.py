#!/usr/bin/env python3
"""What --help, the man pages, the completions and docs/use.md say of the commands is the same, and the completions complete.

usage: texts.py SOURCE_FOLDER"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from harness import BUILD, DEVICE, SMALL_DEVICE, SPILLWAY, Failed, Skipped, environment, finish, program, require, sentence

SOURCE = sys.argv[1]
TEXTS = os.path.join(BUILD, "tools")
COMPLETIONS = {"bash": "spillway", "zsh": "_spillway", "fish": "spillway.fish"}


def say(*arguments, status=0):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({}), capture_output=True, text=True, check=False, timeout=20)
    require(done.returncode == status, arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def man(command=None):
    return read(TEXTS, f"spillway-{command}.1" if command else "spillway.1").replace("\\-", "-")


def completion(shell):
    return read(TEXTS, "completions", COMPLETIONS[shell])


def program_of(shell):
    path = shutil.which(shell)
    if not path:
        raise Skipped(f"{shell} is not installed")
    return path


def quiet(command):
    """Runs a checker, which has nothing to say."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"})
    require(done.returncode == 0 and not done.stderr and not done.stdout, command, done.stdout, done.stderr)


def same(what, expected, got):
    require(sorted(expected) == sorted(got), f"{what}: expected {sorted(expected)}, got {sorted(got)}")


# glibc's argp sometimes begins an option's line where the description before it was (after each 200 bytes or so of buffer).
HELP = re.compile(r"^(?: {29})?  (?:-., |    )--([\w-]+)(?:=(\S+)|\[=(\S+)\])?", re.MULTILINE)
COMMANDS = re.findall(r"^  (\w+) +\S", say("--help"), re.MULTILINE)
# By name: how its value is called, or "".
OPTIONS = {command: {name: value or may for name, value, may in HELP.findall(say("help", command))} for command in COMMANDS}


def words(value):
    """Those of a value's name that are meant as they are."""
    return [word.split("[")[0] for word in value.split("|") if word[:1].islower()]


def bash(line, cwd=None, first=SPILLWAY):
    """What bash offers for the last of the words into which it has split the line; a = is one."""
    script = 'source "$0"; complete -p "$(basename "$1")" >&2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _spillway; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", script, os.path.join(TEXTS, "completions", "spillway"), first, *line], cwd=cwd,
                          capture_output=True, text=True, check=False, timeout=20)
    require(done.returncode == 0 and done.stderr == "complete -F _spillway spillway\n", line, done.stdout, done.stderr)
    return [reply for reply in done.stdout.splitlines() if reply]


# ------------------------------------------------------------------------------------------------ the same everywhere
@sentence("there are commands, and each has options")
def _():
    require({"run", "trace", "report", "top", "doctor"} <= set(COMMANDS), COMMANDS)
    require("budget" in OPTIONS["run"] and "html" in OPTIONS["report"] and all("help" in options for options in OPTIONS.values()), OPTIONS)


@sentence("docs/use.md, the man page and each completion name the commands that --help names")
def _():
    table = read(SOURCE, "docs/use.md").split("<!-- commands: begin", 1)[1].split("\n", 1)[1].split("<!-- commands: end", 1)[0]
    require(table == say("texts", "commands"), "the table of docs/use.md is not what `spillway texts commands` prints")
    same("docs/use.md", COMMANDS, re.findall(r"^\| `spillway (\w+)`", table, re.MULTILINE))
    same("spillway(1)", COMMANDS, re.findall(r"^\.TP\n\.BR spillway-(\w+) \(1\)", man(), re.MULTILINE))
    same("man pages", COMMANDS, re.findall(r"^spillway-(\w+)\.1$", "\n".join(os.listdir(TEXTS)), re.MULTILINE))
    same("bash", [*COMMANDS, "help", "--help", "--version"], bash([""]))
    same("zsh", [*COMMANDS, "help"], re.findall(r"^        '([a-z]+):", completion("zsh"), re.MULTILINE))
    same("fish", [*COMMANDS, "help"], re.findall(r"-n __spillway_first -a (\w+)", completion("fish")))


for name in COMMANDS:
    @sentence(f"spillway {name}: man page and completions name the options that --help names, and no others")
    def _(name=name):
        mine = OPTIONS[name]
        same("man page", mine, re.findall(r"^\.TP\n(?:\\fB-.\\fR, )?\\fB--([\w-]+)", man(name), re.MULTILINE))
        same("bash", [f"--{option}{'=' if value else ''}" for option, value in mine.items()], bash([name, "--"]))
        zsh = completion("zsh").split(f"\n    {name})\n", 1)[1].split(";;", 1)[0]
        same("zsh", [f"{option}{'=' if value else ''}" for option, value in mine.items()], re.findall(r"'--([\w-]+=?)\[", zsh))
        same("fish", mine, re.findall(f"__spillway_is {name}' -l ([\\w-]+)", completion("fish")))

    @sentence(f"spillway {name}: where a value is one of some words, each completion offers them")
    def _(name=name):
        for option, value in OPTIONS[name].items():
            known = words(value)
            if not known:
                continue
            same(f"bash --{option}", known, bash([name, f"--{option}", "=", ""]))
            zsh = completion("zsh").split(f"\n    {name})\n", 1)[1].split(";;", 1)[0]
            require(re.search(rf"'--{option}=\[.*:\({re.escape(' '.join(known))}\)'", zsh), f"zsh does not offer {known} for --{option}")
            require(re.search(rf"__spillway_is {name}' -l {option} -x -a '{re.escape(' '.join(known))}'", completion("fish")),
                    f"fish does not offer {known} for --{option}")

    @sentence(f"spillway {name}: its man page has the example, the exit status and the way to the other pages; help is --help")
    def _(name=name):
        page = man(name)
        require(say("help", name) == say(name, "--help"))
        require(say("help", name).split("Example:\n")[1].strip() in page, "its example")
        require(".SH EXIT STATUS\n" in page and "Exit status:" in say("help", name), "its exit status")
        same("see also", [other for other in COMMANDS if other != name], re.findall(r"^\.BR spillway-(\w+) \(1\)", page, re.MULTILINE))


@sentence("every setting is in spillway(1)")
def _():
    same("settings", re.findall(r"\| `(SPILLWAY_\w+)`", say("texts", "settings")), re.findall(r"^\.B (SPILLWAY_\w+)$", man(), re.MULTILINE))


# ------------------------------------------------------------------------------------------------ forms
@sentence("groff finds nothing to warn of in the man pages, and man finds their names")
def _():
    groff = program_of("groff")
    for command in [None, *COMMANDS]:
        page = os.path.join(TEXTS, f"spillway-{command}.1" if command else "spillway.1")
        quiet([groff, "-man", "-ww", "-z", "-Tutf8", page])
        if shutil.which("lexgrog"):
            named = subprocess.run(["lexgrog", page], capture_output=True, text=True, check=False).stdout
            require(f': "{os.path.basename(page)[:-2]} - ' in named, named)


for shell in COMPLETIONS:
    @sentence(f"{shell} can read its completion")
    def _(shell=shell):
        quiet([program_of(shell), "-n", os.path.join(TEXTS, "completions", COMPLETIONS[shell])])


@sentence("shellcheck finds nothing in the completion of bash")
def _():
    quiet([program_of("shellcheck"), os.path.join(TEXTS, "completions", "spillway")])


# ------------------------------------------------------------------------------------------------ completing
def folder_of_traces():
    folder = tempfile.TemporaryDirectory(prefix="spillway-texts-")
    for file in ("one.trace", "the other.trace", "notes"):
        with open(os.path.join(folder.name, file), "w", encoding="utf-8"):
            pass
    os.mkdir(os.path.join(folder.name, "runs"))
    return folder


BASH_LINES = {
    "run --mode s": ["swap", "swap+trace"],
    "run --mode = s": ["swap", "swap+trace"],
    "run --mode=s": ["--mode=swap", "--mode=swap+trace"],
    "run --budget 8G --mo": ["--mode="],
    "run --budget = 8G --mo": ["--mode="],
    "report --html n": ["notes"],
    "report --html = n": ["notes"],
    "report ": ["one.trace", "the other.trace", "runs"],
    "report --weight = peak o": ["one.trace"],
    "report --json o": ["one.trace"],
    "report -- --": [],
    "help d": [name for name in COMMANDS if name.startswith("d")],
    "run printenv-is-no-program n": ["notes"],
    "run -- program --mode n": ["notes"],
    "run --budget = 8G program --budget n": ["notes"],
    "top --o": ["--once"],
    "nonsense ": [],
}
for line, expected in BASH_LINES.items():
    @sentence(f"bash completes `spillway {line}` to {', '.join(expected) or 'nothing'}")
    def _(line=line, expected=expected):
        with folder_of_traces() as here:
            same(line, expected, bash(line.split(" "), cwd=here))


@sentence("bash completes the program that is to be run")
def _():
    for line in (["run", "printen"], ["trace", "--budget", "8G", "--", "printen"]):
        require("printenv" in bash(line), line, bash(line))


@sentence("fish completes options, values, traces and the program that is to be run")
def _():
    fish = program_of("fish")
    for line, expected in {"spillway report --weight ": ["idle", "peak", "time"], "spillway report on": ["one.trace"],
                           "spillway run --mode trace -- printen": ["printenv"], "spillway help do": ["doctor"]}.items():
        with folder_of_traces() as here:
            done = subprocess.run([fish, "-c", f"source {TEXTS}/completions/spillway.fish; complete -C '{line}'"], cwd=here,
                                  capture_output=True, text=True, check=False, timeout=60)
        same(line, expected, [reply.split("\t")[0] for reply in done.stdout.splitlines()])


@sentence("top is completed with the processes that run under spillway")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        command = [SPILLWAY, "run", "--", *program(["gpt", "--size", "small", "--steps", "2000"])]
        settings = environment({**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE, "SPILLWAY_SUMMARY": os.path.join(folder, "summary")})
        process = subprocess.Popen(command, cwd=folder, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                require(process.poll() is None, f"the program has ended with {process.poll()}")
                if str(process.pid) in bash(["top", ""]):
                    require(f"{process.pid}\t{command[3]} --size" in say("texts", "pids"), say("texts", "pids"))
                    return
                time.sleep(0.05)
            raise Failed(f"{process.pid} is not among {bash(['top', ''])}")
        finally:
            process.kill()
            process.wait()
            say("top", "--once")


# ------------------------------------------------------------------------------------------------ what is no command
for typed, meant in {"repotr": "report", "rnu": "run", "doctr": "doctor", "REPORT": None, "zzzzzz": None, "x": None}.items():
    @sentence(f"spillway {typed}: refused" + (f", {meant} is the nearest" if meant else ", there is none that is near"))
    def _(typed=typed, meant=meant):
        for arguments in ([typed], ["help", typed]):
            said = say(*arguments, status=2)
            require(f"no such command: {typed}" in said, said)
            require((f"the nearest is {meant}" in said) if meant else ("nearest" not in said), said)


finish()
