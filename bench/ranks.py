"""What streams cost PyTorch's programs within a budget: ranks that exchange gradients or parameters while they compute, and a loader that
copies batches ahead, each beside the same model on one device and one stream, without communication.

A step is that of the slowest rank. PyTorch calls from several threads, in real time, so figures of ranks are not the same to the
microsecond in every run."""
import functools
import os
import sys

from harness import BUILD
from pytorch import PATIENCE, PYTHON, SCALES, Program, of_one_device, ratio, table_of_kernels
from simulated import RANK_COUNT, beside_ranks, command_of_ranks, nccl_of, settings
from started_ranks import Ranks

MODEL, BATCH = "mlp", ("--batch", "16")  # small enough for the whole table to take some minutes
STEPS = 48
DEVICES, GOALS = ("h200", "a100-40g"), {60: 1.05, 40: 1.10}  # of one stream's step, by share of the peak
FROM_PLAN = 1.10
ONE = "one stream"
LOADERS = {ONE: (), "loader": ("--streams",)}
RANKED = {"DDP": ("--how", "shared"), "DDP, views": ("--how", "views"), "FSDP2": ("--how", "sharded")}
COLUMNS = ("", "budget", "unlimited, ms", "step", "of one stream's", "it predicts", "bound", "over prediction", "peak", "bits", "missed")


def trained(layouts, what, kind):
    env = {"SIMGPU_PROFILE": kind}
    if what in LOADERS:
        return of_one_device(layouts, MODEL, (*BATCH, *LOADERS[what]), env, STEPS)
    options = ("--program", MODEL, *BATCH, *RANKED[what], "--step-times", "--log-every", "1000")
    started = Ranks(RANK_COUNT, functools.partial(command_of_ranks, PYTHON), {**settings(BUILD, layouts), **beside_ranks(BUILD), **SCALES, **env})
    return lambda budgets: started.trained(what, options, STEPS, budgets, PATIENCE)


def row(program, share, one_stream):
    """`one_stream`: its step over that with enough memory, by share, which the first row of a device sets."""
    found, goal = program.measured(share), GOALS[share]
    over = one_stream.setdefault(share, found.took_ms / program.unlimited_ms)
    step = found.took_ms / program.unlimited_ms
    missed = [what for what, holds in (("bits", found.bits == "same"), ("one stream", 0 < step <= goal * over),
                                       ("prediction", 0 < found.took_ms <= FROM_PLAN * found.predicted_ms)) if not holds]
    return (program.name, f"{share} %", f"{program.unlimited_ms:.1f}", ratio(step, 1), ratio(step, over),
            *(ratio(ms, program.unlimited_ms) for ms in (found.predicted_ms, found.bound_ms)), ratio(found.took_ms, found.predicted_ms),
            ratio(found.peak, 1), found.bits, ", ".join(missed))


def ranks(table, only):
    """Programs and devices whose names, as in "DDP, views, h200", have `only` in them, and one stream beside each."""
    names = [*LOADERS, *(RANKED if os.path.exists(nccl_of(BUILD)) else ())]
    wanted = {kind: [what for what in names if what == ONE or only in f"{what}, {kind}"] for kind in DEVICES}
    layouts = None
    for kind, chosen in wanted.items():
        if chosen == [ONE] and only not in f"{ONE}, {kind}":
            continue
        layouts = layouts or table_of_kernels()
        if not layouts:
            return
        one_stream = {}
        found = [row(program, share, one_stream) for what in chosen for program in (Program(f"{what}, {kind}", trained(layouts, what, kind)),)
                 for share in GOALS]
        table(f"PyTorch's {MODEL} on ranks and with a loader, as multiples of the step with unlimited memory (simulated)", COLUMNS, found)
        sys.stdout.flush()
