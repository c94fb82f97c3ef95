#!/usr/bin/env python3
"""A program that knows of spillway: the budget raised and lowered while it runs, iterations marked, tensors named.

usage: control.py RESTLESS MODULE     a library that changes the budget all the time; the folder of the Python module"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PRELOAD, SPILLWAY, TINY, finish, no_misuse, require, run, same_results, sentence, succeeded

RESTLESS, MODULE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MIB = 1 << 20

# What every program below begins with: tensors of 1 MiB, by way of the driver's own calls.
HEAD = f"""import ctypes, os, sys
sys.path.insert(0, {MODULE!r})
sys.dont_write_bytecode = True
import spillway
MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")

def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, (name, result)

def start():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)

def tensor(value, size=MIB):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    call("cuMemsetD8_v2", address, ctypes.c_ubyte(value), ctypes.c_size_t(size))
    return address

def is_intact(address, value, size=MIB):
    host = ctypes.create_string_buffer(size)
    call("cuMemcpyDtoH_v2", host, address, ctypes.c_size_t(size))
    return host.raw == bytes([value]) * size

def physical():
    return spillway.report()["devices"][0]["physical_bytes"]
"""


def talk(text, budget=None, **options):
    finished = run([sys.executable, "-c", HEAD + text], budget=budget, **options)
    require(finished.status == 0, finished.describe(), finished.output)
    return finished


@sentence("where spillway is not preloaded the module says so, and marks and names do nothing")
def _():
    talk("""
assert not spillway.active()
spillway.step()
assert spillway.name(4711, "w") is False
for forbidden in lambda: spillway.budget("1G"), spillway.report:
    try:
        forbidden()
    except spillway.NotActive:
        continue
    assert False, "it did something"
""")


@sentence("before CUDA has started nothing is active; then it is, but for modes off and trace")
def _():
    text = "print(spillway.active())\nstart()\nprint(spillway.active())\nspillway.step()\n"
    require(talk(text, budget="64MiB").output.split() == ["False", "True"], "active within a budget")
    require(talk(text, options=["--mode", "off"]).output.split() == ["False", "False"], "mode off")
    require(talk(text, options=["--mode", "trace"]).output.split() == ["False", "False"], "mode trace")


@sentence("a lower budget holds when the call returns, with every byte kept; a higher one is used")
def _():
    finished = talk("""
start()
tensors = [tensor(i) for i in range(40)]
before = physical()
assert before >= 40 * MIB, before
spillway.budget("16MiB")
assert physical() <= 16 * MIB, physical()
assert all(is_intact(t, i) for i, t in enumerate(tensors))
assert physical() <= 16 * MIB, physical()
spillway.budget(48 * MIB)
assert all(is_intact(t, i) for i, t in enumerate(tensors))
assert physical() >= 40 * MIB, physical()
with spillway.budget("8M"):
    assert physical() <= 8 * MIB
    inside = spillway.report()["devices"][0]["budget_bytes"]
assert inside == 8 * MIB and spillway.report()["devices"][0]["budget_bytes"] == 48 * MIB
print(cuda.cuMemFree_v2(tensors[0]))
""", budget="48MiB")
    succeeded(finished)
    no_misuse(finished)
    require(finished.stats["peak_mapped_bytes"] <= 48 * MIB, finished.stats)


@sentence("memory of the driver's own counts within the new budget too")
def _():
    talk("""
start()
tensors = [tensor(i) for i in range(20)]
own = ctypes.c_uint64()
call("cuMemAllocManaged", ctypes.byref(own), ctypes.c_size_t(4 * MIB), 1)
foreign = spillway.report()["devices"][0]["foreign_bytes"]
assert foreign >= 4 * MIB, foreign
spillway.budget(foreign + 6 * MIB)
assert physical() <= 6 * MIB, physical()
assert all(is_intact(t, i) for i, t in enumerate(tensors))
try:
    spillway.budget(foreign)
    assert False
except spillway.BudgetTooSmall as small:
    assert foreign < small.smallest <= foreign + 2 * MIB, (foreign, small.smallest)
""", budget="64MiB")


@sentence("a budget that cannot work is refused with the smallest that would, which then does")
def _():
    talk("""
start()
tensors = [tensor(i) for i in range(8)] + [tensor(99, 5 * MIB)]
try:
    spillway.budget(3 * MIB)
    assert False, "taken"
except spillway.BudgetTooSmall as small:
    assert small.smallest >= 5 * MIB, small.smallest
    smallest = small.smallest
assert spillway.report()["devices"][0]["budget_bytes"] == 32 * MIB
spillway.budget(smallest)
assert all(is_intact(t, i) for i, t in enumerate(tensors[:-1])) and is_intact(tensors[-1], 99, 5 * MIB)
""", budget="32MiB")


@sentence("where the host has no room for what would have to leave, the budget stays, and the number does")
def _():
    talk("""
start()
tensors = [tensor(i) for i in range(30)]
try:
    spillway.budget(4 * MIB)
    assert False, "taken"
except spillway.BudgetTooSmall as small:
    smallest = small.smallest
assert 4 * MIB < smallest < 32 * MIB, smallest
assert spillway.report()["devices"][0]["budget_bytes"] == 32 * MIB
spillway.budget(smallest)
assert all(is_intact(t, i) for i, t in enumerate(tensors))
""", budget="32MiB", options=["--host-budget", "16MiB"])


@sentence("nonsense is refused: amounts, devices, types")
def _():
    talk("""
start()
tensors = [tensor(1)]
for wrong in "much", "0", "-1", "8XB", "200%", "", 0:
    try:
        spillway.budget(wrong)
        assert False, wrong
    except ValueError:
        pass
for device in -1, 99999:
    try:
        spillway.budget("8M", device=device)
        assert False, device
    except (ValueError, OSError):
        pass
try:
    spillway.name("tensor", "w")
    assert False
except TypeError:
    pass
spillway.budget("50%")
assert spillway.report()["devices"][0]["budget_bytes"] == 128 * MIB, spillway.report()["devices"]
""", budget="64MiB")


@sentence("a budget may be set before anything is allocated, for each device")
def _():
    talk("""
start()
spillway.budget("8MiB")
tensors = [tensor(i) for i in range(20)]
assert spillway.report()["devices"][0]["budget_bytes"] == 8 * MIB
assert physical() <= 8 * MIB
assert all(is_intact(t, i) for i, t in enumerate(tensors))
""", budget="64MiB")


@sentence("the report tells where a named tensor is; the name goes with the allocation")
def _():
    talk("""
start()
tensors = [tensor(i) for i in range(20)]
small = tensor(5, 512)
class Like:
    def data_ptr(self):
        return tensors[0].value + 100
assert spillway.name(Like(), 'layers.0."weight"\\n\\\\') and spillway.name(small.value, "bias") and spillway.name(tensors[1].value, "x" * 100)
assert not spillway.name(4711, "nothing")
named = {each["name"]: each for each in spillway.report()["named"]}
assert set(named) == {'layers.0."weight"\\n\\\\', "bias", "x" * 63}, named
spillway.budget("6MiB")
assert all(is_intact(t, i) for i, t in enumerate(tensors[2:], 2))
named = {each["name"]: each for each in spillway.report()["named"]}
assert named['layers.0."weight"\\n\\\\'] == {"name": 'layers.0."weight"\\n\\\\', "device": 0, "bytes": MIB, "where": "host"}, named
assert named["bias"]["where"] == "device" and named["bias"]["bytes"] == 512
assert spillway.name(small.value, "")
call("cuMemFree_v2", tensors[0])
call("cuMemFree_v2", tensors[1])
assert spillway.report()["named"] == [], spillway.report()["named"]
tensors += [tensor(i) for i in range(20)]
assert spillway.report()["named"] == []
""", budget="64MiB")


@sentence("after fork() the child is left alone: nothing is active there, and the parent goes on")
def _():
    talk("""
start()
tensors = [tensor(i) for i in range(10)]
child = os.fork()
if child == 0:
    os._exit(spillway.active() or spillway.name(tensors[0].value, "x"))
assert os.waitpid(child, 0)[1] == 0
spillway.budget("6MiB")
assert all(is_intact(t, i) for i, t in enumerate(tensors))
""", budget="64MiB")


@sentence("python -m spillway says why the command cannot be run: an old glibc, another C library, another processor, nothing installed")
def _():
    talk("""
import platform
import spillway.__main__ as command
assert command.obstacle() is None
platform.libc_ver = lambda: ("glibc", "2.17")
assert "glibc 2.17" in command.obstacle() and "2.28 or newer" in command.obstacle()
platform.libc_ver = lambda: ("", "")
assert "musl" in command.obstacle()
""")
    with tempfile.TemporaryDirectory(prefix="spillway-control-") as folder:
        places = [os.path.join(folder, name) for name in ("bin", "libexec/spillway", "lib/site-packages/spillway")]
        for place in places:
            os.makedirs(place)
        for name in os.listdir(os.path.join(MODULE, "spillway")):
            if name.endswith(".py"):
                shutil.copy(os.path.join(MODULE, "spillway", name), places[2])

        def said():
            done = subprocess.run([sys.executable, "-B", "-m", "spillway", "--version"], cwd=os.path.dirname(places[2]), capture_output=True, text=True, check=False)
            require(done.returncode == 1 and "Traceback" not in done.stderr, done.stderr)
            require(done.stderr.endswith("(see troubleshooting: library-not-found)\n"), done.stderr)
            return done.stderr

        require("install spillway-cuda again" in said(), said())
        with open(SPILLWAY, "rb") as file:
            head = bytearray(file.read(4096))
        head[18:20] = (243).to_bytes(2, "little")  # the header's processor: RISC-V
        with open(os.path.join(places[0], "spillway"), "wb") as file:
            file.write(head)
        os.chmod(os.path.join(places[0], "spillway"), 0o755)
        shutil.copy(PRELOAD, places[1])
        require("is not for this processor" in said(), said())


def restless(name):
    """A workload whose budget is changed by another thread all the time."""
    plain = run([name, *TINY[name], "--steps", "40"])
    settings = {"RESTLESS_LOW": plain.peak * 5 // 10, "RESTLESS_HIGH": plain.peak * 12 // 10}
    finished = run([name, *TINY[name], "--steps", "40"], budget=plain.peak, via="none",
                   env={**settings, "LD_PRELOAD": f"{PRELOAD}:{RESTLESS}", "SPILLWAY_BUDGET": plain.peak}, timeout=200)
    same_results(plain, finished)
    no_misuse(finished)
    said = re.search(r"restless: (\d+) set, (\d+) refused, (\d+) wrong", finished.errors)
    require(said and int(said[1]) >= 5 and said[3] == "0", said and said[0], finished.describe())
    require(finished.summary["moved"]["out_bytes"] > 0, "nothing moved")


for workload in ("gpt", "resnet", "lstm"):
    sentence(f"{workload}: with a budget that changes every few milliseconds, from another thread, the bits are the same")(
        lambda workload=workload: restless(workload))



@sentence("after a lower budget the iterations are planned anew, within it")
def _():
    options = ["gpt", "--size", "small", "--steps", "60"]
    plain = run(options)
    low = plain.peak * 6 // 10
    finished = run(options, via="none", timeout=200, env={"RESTLESS_ONCE": 12, "RESTLESS_LOW": low, "LD_PRELOAD": f"{PRELOAD}:{RESTLESS}",
                                             "SPILLWAY_BUDGET": plain.peak * 8 // 10, "SPILLWAY_LOG": "info", "SPILLWAY_PLAN": "wait"})
    same_results(plain, finished)
    no_misuse(finished)
    require("restless: 1 set, 0 refused, 0 wrong" in finished.errors, finished.describe())
    within = [float(number) for number in re.findall(r"planned an iteration of \d+ operations within ([0-9.]+) MiB", finished.errors)]
    require(within and max(within) > low / MIB > min(within) and within[-1] <= low / MIB, within, low / MIB)


finish()
