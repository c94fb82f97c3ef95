"""Finds the factors by which the simulated device makes a small training program cost what a big model costs.

The bytes' factor makes the program's peak that of the model; the operations' factor then makes its step take the model's
time, on the device that the model's durations are for. So copying everything takes the same share of a step as in the
model. tests/integration/likeness.py keeps what comes out."""
import json
import os
import re

from harness import run, succeeded
from likeness import LIKE, device_like, program_like

GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "graphs")
MOST_ATTEMPTS = 12
CLOSE = 0.002  # share of the model's step


def model_of(name):
    with open(os.path.join(GRAPHS, LIKE[name].graph + ".json"), encoding="utf-8") as file:
        return json.load(file)


def measured(name, size, scale_bytes, scale_ops):
    """Milliseconds of a step and peak of the program with these factors, on the model's device."""
    device = {**device_like(name, LIKE[name].profile, size), "SIMGPU_SCALE_BYTES": scale_bytes, "SIMGPU_SCALE_OPS": scale_ops}
    finished = run(program_like(name, 4, size=size), env=device)
    succeeded(finished)
    return finished.step_ms, int(re.search(r"^peak_bytes (\d+)", finished.output, re.MULTILINE).group(1))


def find(name, size):
    """Both factors; whole numbers, as what they are good for knows no fractions."""
    model = model_of(name)
    goal_ms = model["compute_us"] / 1000
    _, peak = measured(name, size, 1, 1)
    scale_bytes = round(model["peak_bytes"] / peak)
    low, low_ms = 1, measured(name, size, scale_bytes, 1)[0]
    if low_ms > goal_ms:
        raise RuntimeError(f"{name}: memory traffic alone takes {low_ms} ms, the model {goal_ms} ms")
    high, high_ms = 2, low_ms
    while high_ms < goal_ms:
        high *= 4
        high_ms = measured(name, size, scale_bytes, high)[0]
    for _ in range(MOST_ATTEMPTS):
        middle = round(low + (goal_ms - low_ms) * (high - low) / (high_ms - low_ms))
        ms = measured(name, size, scale_bytes, middle)[0]
        if abs(ms / goal_ms - 1) < CLOSE or middle in (low, high):
            break
        if ms < goal_ms:
            low, low_ms = middle, ms
        else:
            high, high_ms = middle, ms
    return scale_bytes, middle, ms


def likeness(table):
    rows = []
    for name, like in LIKE.items():
        model = model_of(name)
        copying = model["peak_bytes"] / model["copy_bytes_per_us"]["d2h"] / model["compute_us"]
        for size, kept in like.scales.items():
            scale_bytes, scale_ops, ms = find(name, size)
            rows.append((f"{name}, {size}", like.graph, scale_bytes, kept[0], scale_ops, kept[1], f"{ms:.1f}",
                         f"{model['compute_us'] / 1000:.1f}", f"{copying:.2f}"))
    table("Factors that make small programs cost what big models do (simulated), beside those in tests/integration/likeness.py",
          ("", "like", "bytes", "kept", "operations", "kept", "step, ms", "the model's", "its peak copied out, in steps"), rows)
