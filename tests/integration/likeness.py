"""likeness.py - factors that make small training programs cost on the simulated device what big models cost.

Each program stands for a model of tests/graphs: with the factors its peak takes as long to copy as the model's, and its
step takes as long, on the device that the model's durations are for. On other devices the same factors make it the same
model there. `./dev bench likeness` finds them anew."""
from typing import NamedTuple

PROFILES = ("v100-16g", "a100-40g", "rtx4090", "h200")


class Like(NamedTuple):
    graph: str  # in tests/graphs
    profile: str  # that its durations are for
    scale_bytes: int  # SIMGPU_SCALE_BYTES
    scale_ops: int  # SIMGPU_SCALE_OPS


LIKE = {
    "gpt": Like("gpt2-medium-b16-s1024-flash-h200-bf16", "h200", 498, 8864),
    "resnet": Like("resnet50-b190-v100-16g-fp32", "v100-16g", 601, 7586),
    "lstm": Like("lstm-t512-h1024-b64-v100-16g-fp32", "v100-16g", 35, 3740),
    "mlp": Like("vgg16-b64-v100-16g-fp32", "v100-16g", 213, 19426),
}


def device_like(name, profile):
    """Settings of the device on which the program `name` costs what its model does."""
    like = LIKE[name]
    return {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "1GiB", "SIMGPU_PROFILE": profile,
            "SIMGPU_SCALE_BYTES": str(like.scale_bytes), "SIMGPU_SCALE_OPS": str(like.scale_ops)}


def program_like(name, steps, *more):
    """The command whose steps are those of the model."""
    return [name, "--size", "small", "--steps", str(steps), "--step-times", *more]
