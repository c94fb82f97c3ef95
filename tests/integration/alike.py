"""alike.py - a program says and ends the same under spillway as without: for programs whose framework finds no GPU here."""
import os
import subprocess
import tempfile

from harness import PRELOAD, SPILLWAY, Failed, environment, require, sentence

PATIENCE = 300
PRELOADED = "the preload alone"
WAYS = {"spillway run": [SPILLWAY, "run", "--"], "a budget": [SPILLWAY, "run", "--budget", "1GiB", "--"],
        "a trace": [SPILLWAY, "run", "--mode", "trace", "--"], PRELOADED: []}


def said(command, way, settings, folder):
    """Status, output and errors of a program that is started so; None: without spillway."""
    settings = {"PYTHONUNBUFFERED": "1", "SPILLWAY_TRACE_FILE": os.path.join(folder, "trace"), **settings(folder, way)}
    if way == PRELOADED:
        settings["LD_PRELOAD"] = PRELOAD
    line = [*WAYS.get(way, []), *command]
    try:
        done = subprocess.run(line, env=environment(settings), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(line)}: still running after {PATIENCE} s") from late
    return done.returncode, done.stdout, done.stderr


def as_without(title, command, settings, ways=tuple(WAYS), status=0, errors=True, output=True):
    """A sentence; `settings` makes variables of a folder and a way, `errors` says whether stderr counts, `output` whether some is expected."""
    @sentence(f"{title}: the same as without spillway, by " + ", ".join(ways))
    def _():
        with tempfile.TemporaryDirectory(prefix="spillway-alike-") as folder:
            plain = said(command, None, settings, folder)
            require(plain[0] == status and (plain[1] or not output), f"without spillway: status {plain[0]}, {status} expected", *plain[1:])
            for way in ways:
                under = said(command, way, settings, folder)
                same = under[0] == plain[0] and under[1] == plain[1] and (not errors or under[2] == plain[2])
                require(same, f"by {way}: status {under[0]}", *under[1:], f"without: status {plain[0]}", *plain[1:])
