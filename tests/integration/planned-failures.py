#!/usr/bin/env python3
"""A driver call that fails late in a run, when plans are followed, once or from then on: the same bits, or a clean CUDA error;
the budget holds, and where the program is not told, a line of the log names the call.

usage: planned-failures.py once | forever"""
import sys

from following import within_budget, without
from harness import finish, require, same_in_budget, same_or_clean_error, sentence

HOW = {"once": "", "forever": "+"}
REPEAT = sys.argv.pop(1)
WORKLOAD, STEPS, OPTIONS = "mlp", 14, ["--streams", "2", "--evaluate-every", "9"]
# What the library calls on its own account while a plan is followed, and which error to expect of it.
CALLS = {
    "cuMemCreate": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemMap": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemSetAccess": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuMemUnmap": "CUDA_ERROR_INVALID_VALUE", "cuMemRelease": "CUDA_ERROR_INVALID_VALUE", "cuMemHostRegister": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuMemHostAlloc": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemcpyDtoHAsync": "CUDA_ERROR_INVALID_VALUE",
    "cuMemcpyHtoDAsync": "CUDA_ERROR_INVALID_VALUE", "cuEventCreate": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuEventRecord": "CUDA_ERROR_INVALID_VALUE", "cuEventQuery": "CUDA_ERROR_INVALID_VALUE",
    "cuEventSynchronize": "CUDA_ERROR_INVALID_VALUE", "cuEventElapsedTime": "CUDA_ERROR_INVALID_VALUE",
    "cuEventDestroy": "CUDA_ERROR_INVALID_VALUE", "cuStreamWaitEvent": "CUDA_ERROR_INVALID_VALUE",
    "cuStreamSynchronize": "CUDA_ERROR_INVALID_VALUE", "cuStreamQuery": "CUDA_ERROR_INVALID_VALUE", "cuCtxSetCurrent": "CUDA_ERROR_INVALID_VALUE",
    "cuStreamCreate": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostUnregister": "CUDA_ERROR_INVALID_VALUE",
    "cuThreadExchangeStreamCaptureMode": "CUDA_ERROR_INVALID_VALUE", "cuCtxPushCurrent": "CUDA_ERROR_INVALID_VALUE", "cuCtxPopCurrent": "CUDA_ERROR_INVALID_VALUE", "cuLaunchKernel": "CUDA_ERROR_INVALID_VALUE",
}
WHERE = (0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9)  # of all calls of that name

plain = without(WORKLOAD, STEPS, *OPTIONS)
budget = plain.peak // 2


def disturbed(rules):
    return within_budget(WORKLOAD, STEPS, *OPTIONS, budget=budget, env={"SIMGPU_FAIL": rules})


def never():
    """The undisturbed run, in which the calls are counted."""
    return disturbed(",".join(f"{call}:1000000000=999" for call in CALLS))


usual = never()


def refusal_is_told(finished, call):
    return any(line.startswith("spillway: ") and call in line for line in finished.errors.splitlines())


def failing(call, code):
    # promise: surprise-is-slow
    @sentence(f"{call} failing {REPEAT} with {code} while a plan is followed: the same bits and a line in the log, or a clean error")
    def _():
        made = usual.stats["calls"][call]
        outcomes = []
        for place in sorted({max(1, int(made * share)) for share in WHERE}) if made else ():
            finished = disturbed(f"{call}:{place}{HOW[REPEAT]}={code}")
            same_or_clean_error(plain, finished, budget)
            require(finished.stats["injected_failures"] > 0, f"call {place} of {made} did not come", finished.describe())
            require(finished.status != 0 or refusal_is_told(finished, call), f"call {place} of {made}: no line names it", finished.describe())
            outcomes.append(f"{place}: " + ("same bits" if finished.status == 0 else "clean error"))
        print(f"# of {made} calls " + (", ".join(outcomes) or "none is made"))


@sentence("without failures the run is under pressure to its end, and right")
def _():
    same_in_budget(plain, usual, budget)
    require(usual.copied("d2h") > plain.copied("d2h"), usual.describe())


for name, error in CALLS.items():
    failing(name, error)
finish()
