"""covering.py TOUCHES WORKLOAD - what the exported iteration says that operations read and write covers what the kernels touch.

TOUCHES prints traces (touches.c). What the kernels touch is told by the device's memory, which knows of no trace and of no parameter."""
import json
import subprocess
import sys

from harness import SPILLWAY, environment, finish, require, sentence
from touched import LAUNCH, LISTED, Seen

TOUCHES, WORKLOAD = sys.argv[1:]
VARIANTS = {"plain steps": (),
            "cudaMalloc": ("--alloc", "plain"),
            "gradient accumulation over 2 batches": ("--accumulate", "2"),
            "three streams": ("--streams", "3")}
STEPS = "5"


def spillway(*arguments):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({}), capture_output=True, text=True, timeout=60, check=False)
    require(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def exported(seen):
    """The operations of the iteration that was chosen, each with the allocations that the graph has it read and write."""
    first = spillway("report", "--json", seen.trace)["iteration"]["first_operation"]
    graph = spillway("export", seen.trace)
    allocation = {tensor["id"]: int(tensor["name"].rsplit(" ", 1)[1]) for tensor in graph["tensors"]}
    for tensor in graph["tensors"]:
        require(seen.allocations[allocation[tensor["id"]]][1] == tensor["bytes"], "another allocation's size", tensor)
    for index, op in enumerate(graph["ops"]):
        yield (seen.operations[first + index], [allocation[tensor] for tensor in op["reads"]],
               [allocation[tensor] for tensor in op["writes"]])


for variant, options in VARIANTS.items():
    @sentence(f"every page that a kernel of the iteration touches is listed, written ones as written: {variant}")
    def _(variant=variant, options=options):
        seen = Seen(TOUCHES, [WORKLOAD, "--size", "tiny", "--steps", STEPS, *options])
        said, kernels, listed, untouched = [], 0, 0, 0
        for op, reads, writes in exported(seen):
            said += seen.missing(op, {*reads, *writes}, writes)
            if op.kind == LAUNCH:
                kernels += any(kernel["reads"] or kernel["writes"] for kernel in op.kernels)
                listed += len({*reads, *writes})
                untouched += seen.idle(op, {*reads, *writes})
        require(kernels > 10, f"only {kernels} kernels touched anything")
        require(not said, f"{len(said)} in all:", *said[:LISTED])
        print(f"# {variant}: {kernels} kernels, {listed} tensors listed by them, {untouched} of these not touched", flush=True)


@sentence("every page that any kernel of the run touches lies in what the trace says that it touches")
def _():
    require(Seen(TOUCHES, [WORKLOAD, "--size", "tiny", "--steps", "2", "--evaluate-every", "1"]).require_all() == 0, "everything may be touched")


finish()
