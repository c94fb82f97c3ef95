"""likeness.py - factors that make small training programs cost on the simulated device what big models cost.

Each program stands for a model of tests/graphs: with the factors its peak takes as long to copy as the model's, and its
step takes as long, on the device that the model's durations are for. On other devices the same factors make it the same
model there. `./dev bench likeness` finds them anew."""
from typing import NamedTuple

PROFILES = ("v100-16g", "a100-40g", "rtx4090", "h200")


class Like(NamedTuple):
    graph: str  # in tests/graphs
    profile: str  # that its durations are for
    scales: dict  # size -> SIMGPU_SCALE_BYTES, SIMGPU_SCALE_OPS


LIKE = {
    "gpt": Like("gpt2-medium-b16-s1024-flash-h200-bf16", "h200", {"small": (498, 8864), "tiny": (2755, 78844)}),
    "resnet": Like("resnet50-b190-v100-16g-fp32", "v100-16g", {"small": (601, 7586), "tiny": (10769, 403878)}),
    "lstm": Like("lstm-t512-h1024-b64-v100-16g-fp32", "v100-16g", {"small": (35, 3740), "tiny": (242, 52314)}),
    "mlp": Like("vgg16-b64-v100-16g-fp32", "v100-16g", {"small": (213, 19426), "tiny": (3546, 678311)}),
}
GRANULES = {"small": "64KiB", "tiny": "4KiB"}


def device_like(name, profile, size="small"):
    """Settings of the device on which the program `name` of that size costs what its model does."""
    scale_bytes, scale_ops = LIKE[name].scales[size]
    return {"SIMGPU_GRANULARITY": GRANULES[size], "SIMGPU_MEMORY": "1GiB", "SIMGPU_PROFILE": profile, "SIMGPU_SCALE_BYTES": str(scale_bytes),
            "SIMGPU_SCALE_OPS": str(scale_ops)}


def program_like(name, steps, *more, size="small"):
    """The command whose steps are those of the model."""
    return [name, "--size", size, "--steps", str(steps), "--step-times", *more]
