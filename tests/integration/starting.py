#!/usr/bin/env python3
"""How people start a program: what they may ask for, what is refused, and that both ways of starting are the same."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from harness import (EXIT_CUDA_ERROR, PRELOAD, SPILLWAY, TINY, Skipped, environment, finish, program, require, run, same_in_budget,
                     same_or_clean_error, same_results, sentence)

COMMAND = ["mlp", *TINY["mlp"]]
plain = run(COMMAND)
budget = plain.peak * 6 // 10

REFUSED = {"SPILLWAY_BUDGET": ("12Q", "0", "8", "8GB", "-1", "150%", "", "8GiB,", "0=4G,0=5G"), "SPILLWAY_MODE": ("fast",),
           "SPILLWAY_HOST_BUDGET": ("-5", "lots"), "SPILLWAY_LOG": ("loud",)}


@sentence("LD_PRELOAD and variables alone do what `spillway run` does")
def _():
    by_command, by_variables = run(COMMAND, budget=budget), run(COMMAND, budget=budget, via="preload")
    same_in_budget(plain, by_command, budget)
    same_in_budget(plain, by_variables, budget)
    require(by_command.stats == by_variables.stats, "the device counted differently", by_command.stats, by_variables.stats)


@sentence("two runs are the same run, to the last count and nanosecond")
def _():
    first, second = run(COMMAND, budget=budget), run(COMMAND, budget=budget)
    require(first.stats == second.stats, "the device counted differently", first.stats, second.stats)


@sentence("mode off leaves everything to the driver")
def _():
    finished = run(COMMAND, budget=budget, options=["--mode", "off"])
    same_results(plain, finished)
    require(finished.stats == plain.stats, "the device noticed", plain.stats, finished.stats)


def refused(variable, value):
    @sentence(f"{variable}='{value}' is refused by name, before the program starts")
    def _():
        finished = run([SPILLWAY, "run", "--", *program(COMMAND)], env={variable: value})
        require(finished.status == 2, "expected exit status 2", finished.describe())
        require(variable in finished.errors and (value in finished.errors), "the message names neither", finished.describe())
        require("accepted" in finished.errors, "the message does not say what is accepted", finished.describe())
        require(finished.stats is None and not finished.output, "the program was started", finished.describe())

    @sentence(f"{variable}='{value}' in a plain preload is a CUDA error of the program's first call")
    def _():
        finished = run(COMMAND, via="preload", env={variable: value})
        require(finished.status == EXIT_CUDA_ERROR, "expected a clean CUDA error", finished.describe())
        require(variable in finished.errors, "the message does not name the variable", finished.describe())


@sentence("an option is refused like a variable, under the name that was typed")
def _():
    finished = run(COMMAND, budget="12Q")
    require(finished.status == 2 and "12Q" in finished.errors, finished.describe())
    require("--budget" in finished.errors and "accepted: bytes" in finished.errors, finished.describe())


@sentence("a variable SPILLWAY_… that does not exist is refused")
def _():
    finished = run(COMMAND, budget=budget, env={"SPILLWAY_BUGDET": "1G"})
    require(finished.status == 2 and "SPILLWAY_BUGDET" in finished.errors, finished.describe())
    require("accepted: SPILLWAY_BUDGET, " in finished.errors, "the message does not say what is accepted", finished.describe())
    require("nearest is SPILLWAY_BUDGET" in finished.errors, finished.describe())
    foo = run(COMMAND, budget=budget, env={"SPILLWAY_FOO": "1"})
    require(foo.status == 2 and "SPILLWAY_FOO=1" in foo.errors, foo.describe())
    require("nearest" not in foo.errors, "that is like nothing there is", foo.describe())


@sentence("doctor names a variable that is no setting, and looks at the driver all the same")
def _():
    finished = run([SPILLWAY, "doctor"], env={"SPILLWAY_FOO": "1"})
    require(finished.status == 1 and "PROBLEM: SPILLWAY_FOO=1 is not a setting" in finished.output, finished.output)
    require(re.search(r"devices +1\n", finished.output), "the driver did not start", finished.output)


def not_started(what, command, status, says):
    @sentence(f"{what}: {status}, as a shell would say")
    def _():
        with tempfile.TemporaryDirectory(prefix="spillway-programs-") as here:
            for name, text, mode in (("plain", "text", 0o644), ("train.py", "text", 0o644), ("lost", "#!/no/such/interpreter\n", 0o755)):
                path = os.path.join(here, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, mode)
            finished = run([command.replace("HERE", here)], budget=budget, start_in=here)
        require(finished.status == status and finished.errors.startswith("spillway: "), finished.describe())
        require(says in finished.errors and finished.errors.endswith("(see troubleshooting: not-started)\n"), f"expected: {says}", finished.describe())


not_started("a path where nothing is", "/nonexistent/program", 127, "/nonexistent/program: No such file or directory")
not_started("a name that PATH does not have", "no-such-program", 127, "no-such-program: command not found")
not_started("a name that only this folder has", "plain", 127, "./plain")
not_started("an empty name", "", 127, "the name of the command is empty")
not_started("a script whose interpreter is not there", "HERE/lost", 127, "interpreter")
not_started("a file that is not executable", "HERE/plain", 126, "Permission denied: the file is not executable")
not_started("a folder", "HERE", 126, "Is a directory")
not_started("a file of Python in this folder", "train.py", 127, "spillway run -- python train.py")
not_started("a file of Python that is not executable", "./train.py", 126, "spillway run -- python ./train.py")
not_started("a variable in the place of the program", "CUDA_VISIBLE_DEVICES=0", 127, "before spillway: CUDA_VISIBLE_DEVICES=0 spillway run")
not_started("a command in quotes", "sh -c true", 127, "leave them out")
not_started("an alias of the shell", "ll", 127, "aliases and functions of a shell are not known here")


@sentence("programs that pass LD_PRELOAD on to nothing are named, with where spillway goes; they are started all the same")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-programs-") as here:
        names = ["sudo", "docker", "other"]
        for name in names:
            path = os.path.join(here, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho started\n")
            os.chmod(path, 0o755)
        if os.getuid() == 0:  # a file that gives its user's rights to whoever starts it
            names.append("changing")
            shutil.copy(shutil.which("true"), os.path.join(here, "changing"))
            os.chown(os.path.join(here, "changing"), 65534, 65534)
            os.chmod(os.path.join(here, "changing"), 0o4755)
        for name in names:
            for command in (name, os.path.join(here, name)):
                finished = run([command], budget=budget, env={"PATH": f"{here}:{os.environ['PATH']}"})
                expected = name != "other"
                require(finished.status == 0 and (f"{command} ... spillway run -- COMMAND" in finished.errors) == expected, finished.describe())
                require("started" in finished.output or name == "changing", finished.describe())
            off = run([name], budget=budget, options=["--mode", "off"], env={"PATH": f"{here}:{os.environ['PATH']}"})
            require("spillway run" not in off.errors, off.describe())


@sentence("a program without `run`, and an option before a command, are told what to type")
def _():
    for wrong, says in (("python3", "as in: spillway run --budget"), ("--budget", "follow a command, as in: spillway run --budget"),
                        ("rnu", "the nearest is run"), ("no-such-thing", "Usage: ")):
        finished = run([SPILLWAY, wrong])
        require(finished.status == 2 and not finished.output and says in finished.errors, says, finished.describe())


@sentence("a summary that cannot be written is said before the program starts, and without the command at its end")
def _():
    refused = run(COMMAND, budget=budget, options=["--summary", "/nonexistent/summary"])
    require(refused.status == 2 and not refused.output, refused.describe())
    preloaded = run(COMMAND, budget=budget, via="preload", env={"SPILLWAY_SUMMARY": "/nonexistent/summary"})
    same_results(plain, preloaded)
    for finished in (refused, preloaded):
        require("/nonexistent/summary: No such file or directory" in finished.errors, finished.describe())


@sentence("the program's own exit status comes through")
def _():
    finished = run(["sh", "-c", "exit 42"], budget=budget)
    require(finished.status == 42, finished.describe())


# promise: host-budget
@sentence("too little host memory: the same bits or a clean error, and never more host memory than allowed")
def _():
    for allowed in (4096, 1 << 20, 2 << 20):
        finished = run(COMMAND, budget=budget, options=["--host-budget", str(allowed)])
        same_or_clean_error(plain, finished, budget)


# promise: budget-at-run-time
@sentence("a budget below what one operation needs: a clean error that names the operation and its bytes")
def _():
    finished = run(COMMAND, budget=64 * 1024)
    require(finished.status == EXIT_CUDA_ERROR, finished.describe())
    require("smallest budget that would do" in finished.errors, finished.describe())


def start_up_seconds(settings):
    """Of a process that does nothing: the median time that it computes, which another process does not make longer, and the shortest that it takes."""
    computes, takes = [], []
    for _ in range(41):
        started = time.perf_counter()
        process = subprocess.Popen(program(["python3", "-S", "-c", "pass"]), env=environment(settings))
        _, status, used = os.wait4(process.pid, 0)
        takes.append(time.perf_counter() - started)
        computes.append(used.ru_utime + used.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        require(process.returncode == 0, f"status {process.returncode}")
    return statistics.median(computes), min(takes)


# promise: good-guest
@sentence("a process that never starts CUDA: nothing is printed, and its start takes less than 2 ms more")
def _():
    silent = run([sys.executable, "-S", "-c", "pass"], via="preload", budget=budget)
    require(silent.status == 0 and not silent.errors and not silent.output, silent.describe())
    for _ in range(3):  # caches are shared with other processes
        preloaded, alone = start_up_seconds({"LD_PRELOAD": PRELOAD, "SPILLWAY_BUDGET": "1GiB"}), start_up_seconds({})
        computes, takes = (more - usual for more, usual in zip(preloaded, alone))
        print(f"# it computes {computes * 1e3:.2f} ms more, and takes {takes * 1e3:.2f} ms more")
        if computes < 0.002 and takes < 0.01:  # the processor may be another's for some of that time
            return
    require(False, f"{computes * 1e3:.2f} ms more of computation, {takes * 1e3:.2f} ms in all")


@sentence("beside another preload (jemalloc), before and after it: the same bits")
def _():
    other = "libjemalloc.so.2"
    if subprocess.run(["sh", "-c", f"LD_PRELOAD={other} true"], capture_output=True, check=False).stderr:
        raise Skipped(f"{other} is not installed")
    for preloads in (f"{PRELOAD}:{other}", f"{other}:{PRELOAD}"):
        finished = run(COMMAND, via="none", env={"LD_PRELOAD": preloads, "SPILLWAY_BUDGET": budget})
        same_in_budget(plain, finished, budget)


@sentence("no driver on the machine: the program meets what it would meet without spillway")
def _():
    nowhere = {"LD_LIBRARY_PATH": os.path.dirname(PRELOAD) + "/nowhere"}
    missing = "import ctypes\ntry: print(ctypes.CDLL('libcuda.so.1').cuInit(0))\nexcept OSError: print('no driver')"
    finished = run([sys.executable, "-c", missing], via="preload", budget=budget, env=nowhere)
    require(finished.status == 0 and finished.output.strip() in ("100", "no driver"), finished.output, finished.describe())
    without = run(COMMAND, env=nowhere)
    for via in ("preload", "command"):
        finished = run(COMMAND, via=via, budget=budget, env=nowhere)
        require(finished.status == without.status and finished.errors == without.errors, without.describe(), finished.describe())


for name, values in REFUSED.items():
    for wrong in values:
        refused(name, wrong)
finish()
