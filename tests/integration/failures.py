#!/usr/bin/env python3
"""A driver call that fails, once or from then on, costs time or ends in a clean CUDA error: never a crash, never other bits.

usage: failures.py once | forever"""
import sys

from harness import TINY, finish, require, run, same_or_clean_error, sentence

HOW = {"once": "", "forever": "+"}
REPEAT = sys.argv.pop(1)
# What the library calls on its own account, and which error to expect of it.
CALLS = {
    "cuMemCreate": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemMap": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemSetAccess": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuMemUnmap": "CUDA_ERROR_INVALID_VALUE", "cuMemRelease": "CUDA_ERROR_INVALID_VALUE",
    "cuMemAddressReserve": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostRegister": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuMemHostAlloc": "CUDA_ERROR_OUT_OF_MEMORY", "cuMemcpyDtoHAsync": "CUDA_ERROR_INVALID_VALUE",
    "cuMemcpyHtoDAsync": "CUDA_ERROR_INVALID_VALUE", "cuEventCreate": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuEventRecord": "CUDA_ERROR_INVALID_VALUE", "cuEventQuery": "CUDA_ERROR_INVALID_VALUE",
    "cuEventSynchronize": "CUDA_ERROR_INVALID_VALUE", "cuStreamWaitEvent": "CUDA_ERROR_INVALID_VALUE",
    "cuStreamCreateWithPriority": "CUDA_ERROR_OUT_OF_MEMORY", "cuStreamCreate": "CUDA_ERROR_OUT_OF_MEMORY",
    "cuStreamSynchronize": "CUDA_ERROR_INVALID_VALUE", "cuMemGetAllocationGranularity": "CUDA_ERROR_INVALID_VALUE",
    "cuMemGetInfo": "CUDA_ERROR_INVALID_VALUE", "cuFuncGetParamInfo": "CUDA_ERROR_INVALID_VALUE",
    "cuMemAlloc": "CUDA_ERROR_OUT_OF_MEMORY", "cuLaunchKernel": "CUDA_ERROR_INVALID_VALUE",
}
POSITIONS = (1, 2, 5, 40)
# What the library says when the driver lets it do nothing at all, so that the program runs as without it.
UNABLE = "its allocations are passed through and the budget is not kept there"
COMMAND = ["mlp", *TINY["mlp"], "--streams", "2"]

plain = run(COMMAND)
budget = plain.peak // 2


def failing(call, code):
    # promise: surprise-is-slow
    @sentence(f"{call} failing {REPEAT} with {code}: the same bits, or a clean error")
    def _():
        outcomes = []
        for position in POSITIONS:
            settings = {"SIMGPU_FAIL": f"{call}:{position}{HOW[REPEAT]}={code}"}
            finished = run(COMMAND, budget=budget, env=settings)
            same_or_clean_error(plain, finished, None if UNABLE in finished.errors else budget)
            outcomes.append("same bits" if finished.status == 0 else "clean error")
        print("# " + ", ".join(f"{position}: {outcome}" for position, outcome in zip(POSITIONS, outcomes)))


@sentence("without failures the program is under pressure: it evicts and restores")
def _():
    finished = run(COMMAND, budget=budget)
    same_or_clean_error(plain, finished, budget)
    require(finished.status == 0 and finished.copied("d2h") > plain.copied("d2h"), finished.describe())


for name, error in CALLS.items():
    failing(name, error)
finish()
