#!/usr/bin/env python3
"""transformer.py - the small transformer of tests/gpu/programs/train_jax.py, in the size that a CPU trains, on the simulated device.

Its lines about time and memory begin with "memory" here, as those of mlp.py do."""
import contextlib
import io
import json
import os
import re
import runpy
import sys

from jax._src import hardware_utils

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "gpu", "programs", "train_jax.py")
MEASURED = re.compile(r"(steps took|step_ms|reserved_bytes|peak_bytes) ")

hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for files in /dev, which the simulated device has not
said = io.StringIO()
sys.argv = [PROGRAM, "--tiny", *sys.argv[1:]]
sys.path.insert(0, os.path.dirname(PROGRAM))
with contextlib.redirect_stdout(said):
    runpy.run_path(PROGRAM, run_name="__main__")
for line in said.getvalue().splitlines():
    if not MEASURED.match(line):
        print(line)
print("memory", json.dumps({"peak_bytes": int(re.search(r"^peak_bytes (\d+)", said.getvalue(), re.MULTILINE).group(1))}))
