"""killed.py - programs that are killed while they are traced, at moments drawn over their whole lives.

What the trace has to hold is told by two parties that know nothing of the tools: the file itself, whose frames are walked
here with the checksums of their heads, and the program, which prints each step that it has done."""
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from harness import DEVICE, SMALL_DEVICE, SPILLWAY, WORKLOADS, environment, finish, require, sentence

STEPS = {"gpt": 16, "lstm": 20, "resnet": 50, "mlp": 60}  # each some tenths of a second
SHORT, LONG = 22, 3   # moments of each program: over its whole life, and late in a longer one
LONGER = 8            # times as many steps
LOST_SECONDS = 0.75   # a trace ends at most half a second before the program's last call; and a quarter for the reader here
FILE_HEAD, FRAME_HEAD = 32, 56
APP = "app"  # a folder with copies of programs and device, gone when traces are read: finding names in them is what takes long


def frames_of(data):
    """First operations of the frames that are whole, and where the last one ends."""
    at, first_ops = FILE_HEAD, []
    while at + FRAME_HEAD <= len(data):
        head = data[at:at + FRAME_HEAD]
        require(head[:4] == b"\xf5SPW" and struct.unpack("<I", head[52:])[0] == zlib.crc32(head[:52]), f"no frame begins at {at}")
        end = at + FRAME_HEAD + struct.unpack("<I", head[4:8])[0]
        if end > len(data):
            break
        first_ops.append(struct.unpack("<Q", head[28:36])[0])
        at = end
    return first_ops, at


class Victim:
    """A traced run that is killed after `seconds`, None for never; what it printed until then, and what it left."""

    def __init__(self, folder, number, workload, steps, seconds):
        self.workload, self.steps = workload, steps
        self.path = os.path.join(folder, f"{number}.trace")
        command = [SPILLWAY, "trace", "--output", self.path, "--", os.path.join(folder, APP, workload), "--size", "tiny", "--steps", str(steps)]
        self.about = f"{workload}, {steps} steps, number {number}, killed after {seconds} s"
        with subprocess.Popen(command, env=environment({**SMALL_DEVICE, "LD_LIBRARY_PATH": os.path.join(folder, APP)}), cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
            began = time.monotonic()
            if seconds is not None:
                timer = threading.Timer(seconds, self.kill, [process])
                timer.start()
            self.killed_at = None
            self.steps_at = [time.monotonic() for line in process.stdout if re.match(rb"step \d+ loss", line)]
            self.status = process.wait()
            self.lived = time.monotonic() - began
            if seconds is not None:
                timer.cancel()

    def kill(self, process):
        self.killed_at = time.monotonic()
        process.send_signal(signal.SIGKILL)

    def report(self, *options):
        """The exit status, and what was printed."""
        done = subprocess.run([SPILLWAY, "report", "--time-limit=0", *options, self.path], env=environment({}), capture_output=True, text=True,
                              timeout=60, check=False)
        require(done.returncode in (0, 2) and len(done.stderr.splitlines()) == (done.returncode == 2), self.about,
                f"exit status {done.returncode}", done.stderr)
        return done.returncode, done.stdout

    def judge(self, step_operations):
        """Operations in the trace; None where the program had not begun one yet."""
        if not os.path.exists(self.path):
            require(not self.steps_at, self.about, "no trace, and yet steps")
            return None
        with open(self.path, "rb") as file:
            data = file.read()
        if len(data) < FILE_HEAD:
            require(self.report("--partial")[0] == 2, self.about, "a part of the head was taken for a trace")
            return None
        first_ops, end = frames_of(data)
        status, _ = self.report("--perfetto", os.devnull)
        require((status == 0) == (end == len(data)), self.about,
                f"status {status}; the last whole frame ends at {end} of {len(data)} bytes")
        part_status, part = self.report("--partial", "--json")
        require(part_status == status and part, self.about, f"status {part_status} with --partial, {status} without")
        said = json.loads(part)["run"]
        done = len(self.steps_at) == self.steps  # a program that is killed in its last moments has ended in the trace already
        require(said["ended"] <= done and said["ended"] >= (self.status == 0), self.about, self.status, said["ended"], done)
        require(said["lost_records"] == 0 and said["operations"] >= max(first_ops, default=0), self.about, said, first_ops)
        old = sum(1 for at in self.steps_at if at < (self.killed_at or 0) - LOST_SECONDS) if self.status else len(self.steps_at)
        require(said["operations"] >= old * step_operations, self.about,
                f"{said['operations']} operations of {old} steps with {step_operations} that are long done")
        return said["operations"]


def whole_runs(folder, workload):
    """Half of its steps, and all of them."""
    return [Victim(folder, f"{workload}-{steps}", workload, steps, None) for steps in (STEPS[workload] // 2, STEPS[workload])]


def step_operations(few, many):
    require(few.status == 0 and many.status == 0, few.workload, few.status, many.status)
    return (many.judge(0) - few.judge(0)) // (many.steps - few.steps)


def make_copies(folder):
    for path in [os.path.join(WORKLOADS, name) for name in STEPS] + glob.glob(os.path.join(DEVICE, "lib*.so*")):
        if os.path.isfile(path):
            shutil.copy(path, folder)


def moments_of(workload, lived):
    draw = random.Random(workload)
    return ([(STEPS[workload], draw.uniform(0, 1.1 * lived)) for _ in range(SHORT)]
            + [(LONGER * STEPS[workload], draw.uniform(1, 2) * max(lived, LOST_SECONDS)) for _ in range(LONG)])


@sentence("killed at a hundred moments of its life, a program leaves a trace that reads up to its last whole frame, and lacks no old step")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-killed-") as folder, ThreadPoolExecutor(2) as two:
        os.mkdir(os.path.join(folder, APP))
        make_copies(os.path.join(folder, APP))
        whole = dict(zip(STEPS, two.map(lambda workload: whole_runs(folder, workload), STEPS)))
        lives = [(f"{workload}-killed-{number}", workload, *moment) for workload in STEPS
                 for number, moment in enumerate(moments_of(workload, whole[workload][1].lived))]
        victims = list(two.map(lambda life: Victim(folder, *life), lives))
        shutil.rmtree(os.path.join(folder, APP))
        of_a_step = {workload: step_operations(*whole[workload]) for workload in STEPS}
        outcomes = list(two.map(lambda victim: (victim.status, victim.judge(of_a_step[victim.workload])), victims))
    killed = [operations for status, operations in outcomes if status == -signal.SIGKILL]
    require(len(outcomes) == 100 and len(killed) >= 60, f"{len(killed)} of {len(outcomes)} were killed")
    require(sum(1 for operations in killed if operations) >= 50, "hardly one was killed in the midst of its work", killed)
    print(f"# {len(killed)} of {len(outcomes)} killed, {killed.count(None)} of them before there was a trace,"
          f" {killed.count(0)} before the first operation was in it")


finish()
