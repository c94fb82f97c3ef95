#!/usr/bin/env python3
"""PyTorch's wheel for CUDA with NVIDIA's drivers, without a device: what programs ask and are told is the same with and without the library."""
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import alike  # noqa: E402
from harness import finish  # noqa: E402

ASKS = Path(__file__).resolve().parents[1] / "torch/programs/asks.py"
FOUND = sorted(path.parent for path in Path(os.environ["DRIVERS"]).glob("*/libcuda.so.1"))
for driver in dict.fromkeys((FOUND[0], FOUND[-1])):  # the oldest and the newest
    alike.as_without(f"driver {driver.name}", [os.environ["TORCH_PYTHON"], str(ASKS)],
                     lambda folder, way, at=str(driver): {"LD_LIBRARY_PATH": at, "OMP_NUM_THREADS": "1"}, ways=("a budget", alike.PRELOADED))
finish()
