"""covering-hidden.py TOUCHES PROGRAM - a trace says what kernels touch whose parameters do not show it: through tables, structures, symbols, graphs.

Where it cannot say, it says that the operation may touch everything."""
import sys

from harness import finish, require, sentence
from touched import Seen

TOUCHES, PROGRAM = sys.argv[1:]
ROUNDS = "8"
WAYS = ("plain", "struct", "table", "chain", "moved", "within", "uneven", "rewritten", "symbol", "graph", "graph-table", "graph-nodes")


def hidden(way):
    @sentence(f"pointers hidden in the way '{way}': all that kernels touch is in the trace")
    def _():
        seen = Seen(TOUCHES, [PROGRAM, way])
        everything = seen.require_all()
        require(any(op.kernels for op in seen.operations), "no kernel ran")
        print(f"# {way}: {everything} operations may touch everything", flush=True)

    @sentence(f"pointers hidden in the way '{way}': all that kernels touch is in the exported iteration")
    def _():
        kernels, listed, untouched = Seen(TOUCHES, [PROGRAM, way, ROUNDS]).require_exported()
        print(f"# {way}: {kernels} kernels, {listed} tensors listed by them, {untouched} of these not touched", flush=True)


for name in WAYS:
    hidden(name)
finish()
