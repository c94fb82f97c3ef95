#!/usr/bin/env python3
"""A driver call that fails while tracing asks or times something costs the trace a name or a duration: never the program a bit."""
import json
import os
import subprocess
import tempfile

from harness import SPILLWAY, TINY, environment, finish, require, run, same_or_clean_error, same_results, sentence

# What only tracing calls, and what the program's runtime calls too: there an error may be the program's own to get.
OURS = {"cuEventQuery": 400, "cuStreamGetCtx": 400, "cuStreamGetFlags": 400, "cuStreamGetPriority": 400,
        "cuDeviceGetName": 101, "cuFuncGetName": 400, "cuFuncGetParamInfo": 1, "cuMemGetInfo": 1, "cuCtxGetDevice": 201}
SHARED = {"cuEventCreate": 2, "cuEventRecord": 1, "cuEventElapsedTime": 400, "cuCtxGetCurrent": 201}
POSITIONS = ("1", "7", "2+")
COMMAND = ["mlp", *TINY["mlp"], "--streams", "2"]

plain = run(COMMAND)
FOLDER = tempfile.TemporaryDirectory(prefix="spillway-")


def traced(call, position, code):
    path = os.path.join(FOLDER.name, "some.trace")
    finished = run(COMMAND, options=["--mode", "trace", "--output", path],
                   env={"SPILLWAY_TIMED": "all", "SIMGPU_FAIL": f"{call}:{position}={code}"})
    done = subprocess.run([SPILLWAY, "report", "--json", "--time-limit=0", path], env=environment({}), capture_output=True,
                          text=True, timeout=60, check=False)
    require(done.returncode == 0, f"{call}:{position}: the trace does not read: {done.stderr}", finished.describe())
    return finished, json.loads(done.stdout)["run"]


def failing(call, code, ours):
    @sentence(f"{call} failing while traced and timed: {'the same bits' if ours else 'the same bits, or a clean error'}, and a trace of it")
    def _():
        injected = 0
        for position in POSITIONS:
            finished, said = traced(call, position, code)
            injected += finished.stats["injected_failures"] if finished.stats else 1
            if ours:
                same_results(plain, finished)
                require(said["operations"] == traced_operations, f"{call}:{position}", said["operations"], traced_operations)
            else:
                same_or_clean_error(plain, finished, None)
        print(f"# {injected} calls failed")
        require(injected > 0, "it was never called, so nothing is shown by this")


traced_operations = traced("cuCtxDetach", "1000000", 1)[1]["operations"]
for name, error in OURS.items():
    failing(name, error, True)
for name, error in SHARED.items():
    failing(name, error, False)
finish()
FOLDER.cleanup()
