"""covering.py TOUCHES WORKLOAD - what the exported iteration says that operations read and write covers what the kernels touch.

TOUCHES prints traces (touches.c). What the kernels touch is told by the device's memory, which knows of no trace and of no parameter."""
import sys

from harness import finish, require, sentence
from touched import Seen

TOUCHES, WORKLOAD = sys.argv[1:]
VARIANTS = {"plain steps": (),
            "cudaMalloc": ("--alloc", "plain"),
            "gradient accumulation over 2 batches": ("--accumulate", "2"),
            "three streams": ("--streams", "3")}
if WORKLOAD in ("gpt", "resnet"):  # one for each rule of optimizers
    VARIANTS["a fused optimizer"] = ("--fused",)
STEPS = "5"


for variant, options in VARIANTS.items():
    @sentence(f"every page that a kernel of the iteration touches is listed, written ones as written: {variant}")
    def _(variant=variant, options=options):
        seen = Seen(TOUCHES, [WORKLOAD, "--size", "tiny", "--steps", STEPS, *options])
        kernels, listed, untouched = seen.require_exported()
        require(kernels > 10, f"only {kernels} kernels touched anything")
        print(f"# {variant}: {kernels} kernels, {listed} tensors listed by them, {untouched} of these not touched", flush=True)


@sentence("every page that any kernel of the run touches lies in what the trace says that it touches")
def _():
    require(Seen(TOUCHES, [WORKLOAD, "--size", "tiny", "--steps", "2", "--evaluate-every", "1"]).require_all() == 0, "everything may be touched")


finish()
