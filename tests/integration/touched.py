"""touched.py - a traced run beside what the device saw of it: for each operation, what the trace says and the pages that its kernels touched.

    seen = Seen(TOUCHES, ["gpt", "--size", "tiny"])
    for op in seen.operations:
        op.kernels[0]["writes"], op.touches

The device's side comes from its memory, by faults (SIMGPU_TOUCHED); what is read and what is written are ranges of pages."""
import json
import os
import subprocess
import tempfile

from harness import SMALL_DEVICE, SPILLWAY, environment, no_misuse, require, run, succeeded

PAGE = 4096
LAUNCH, GRAPH = 0, 1  # kinds of operations
READ, WRITE = 1, 2
LISTED = 8  # of what a message lists


class Operation:
    """What the trace says of it: `touches` has the access to each allocation. `kernels`: lines of the device."""

    def __init__(self, number, kind, name, flags, touches):
        self.number, self.kind, self.name, self.touches = number, kind, name, touches
        self.captured, self.everything = "c" in flags, "e" in flags
        self.kernels = []


def pages_of(allocation):
    address, size = allocation
    return address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE


def uncovered(ranges, allocations):
    """The parts of the ranges, pairs of address and bytes, that are in no page of the allocations: [(start, end)]."""
    covers = sorted(pages_of(allocation) for allocation in allocations)
    left = []
    for start, size in ranges:
        end = start + size
        for low, high in covers:
            if high <= start or low >= end:
                continue
            if low > start:
                left.append((start, low))
            start = max(start, high)
        if start < end:
            left.append((start, end))
    return left


class Seen:
    """A traced run. `allocations`: by number, address and bytes; `folder`/trace stays as long as the object."""

    def __init__(self, touches, command, env=None, mode="trace"):
        self.folder = tempfile.TemporaryDirectory(prefix="spillway-touched-")
        self.trace = os.path.join(self.folder.name, "trace")
        touched = os.path.join(self.folder.name, "touched")
        self.run = run(command, options=["--mode", mode, "--output", self.trace], env={**SMALL_DEVICE, **(env or {}), "SIMGPU_TOUCHED": touched})
        succeeded(self.run)
        no_misuse(self.run)
        self.allocations, self.freed, self.operations = {}, {}, []
        self.read_trace(touches)
        with open(touched, encoding="ascii") as file:
            self.match([json.loads(line) for line in file])

    def read_trace(self, touches):
        done = subprocess.run([touches, self.trace], env=environment({}), capture_output=True, text=True, timeout=60, check=False)
        require(done.returncode == 0, "the trace cannot be read", done.stderr)
        names = {"0": ""}
        for line in done.stdout.splitlines():
            kind, *words = line.split()
            if kind == "function":
                names[words[0]] = words[1]
            elif kind == "alloc":
                self.allocations[int(words[0])] = int(words[2]), int(words[3])
            elif kind == "free":
                self.freed[int(words[0])] = len(self.operations)
            elif kind == "op":
                pairs = [tuple(map(int, word.split(":"))) for word in words[4:]]
                touched = {}
                for allocation, access in pairs:
                    touched[allocation] = touched.get(allocation, 0) | access
                require(int(words[0]) == len(self.operations), "operations are missing in the trace", line)
                self.operations.append(Operation(int(words[0]), int(words[1]), names[words[2]], words[3], touched))

    def match(self, kernels):
        """Both sides have launches in the order in which they were submitted, and launches of graphs likewise."""
        kernels = [kernel for kernel in kernels if not kernel["kernel"].startswith("spillway_")]
        require(len(kernels) == self.run.stats["launches"], "kernels without a line", len(kernels), self.run.stats["launches"])
        kernels.sort(key=lambda kernel: kernel["operation"])
        single = [kernel for kernel in kernels if kernel["graph_launch"] == 0]
        launches = [op for op in self.operations if op.kind == LAUNCH and not op.captured]
        graphs = [op for op in self.operations if op.kind == GRAPH and not op.captured]
        require(len(single) == len(launches), f"{len(single)} kernels ran, the trace has {len(launches)}")
        for kernel, op in zip(single, launches):
            require(kernel["kernel"] == op.name, f"operation {op.number} is {op.name}, the device ran {kernel['kernel']}")
            op.kernels.append(kernel)
        for kernel in kernels:
            if kernel["graph_launch"]:
                graphs[kernel["graph_launch"] - 1].kernels.append(kernel)

    def spillway(self, *arguments):
        done = subprocess.run([SPILLWAY, *arguments, self.trace], env=environment({}), capture_output=True, text=True, timeout=60, check=False)
        require(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    def exported(self):
        """The operations of the iteration that was chosen, each with the allocations that the graph has it read and write."""
        found = self.spillway("report", "--json", "--time-limit=0")
        require(found["iteration"], "no iteration was found", found["shapes"])
        require(found["iteration"]["timed"], "the iteration was not timed", found["shapes"])
        first = found["iteration"]["first_operation"]
        graph = self.spillway("export")
        allocation = {tensor["id"]: int(tensor["name"].rsplit(" ", 1)[1]) for tensor in graph["tensors"]}
        for tensor in graph["tensors"]:
            require(self.allocations[allocation[tensor["id"]]][1] == tensor["bytes"], "another allocation's size", tensor)
        for index, op in enumerate(graph["ops"]):
            lists = ([allocation[tensor] for tensor in op[field]] for field in ("reads", "writes"))
            # What is freed is written by the next operation, in the graph, where it is small and may be told of once more.
            yield (self.operations[first + index], *([number for number in some if self.freed.get(number, first + index + 1) > first + index] for some in lists))

    def require_exported(self):
        """Each page that a kernel of the exported iteration touches is listed. How many kernels touched one, how many tensors are listed
        by launches, and how many of these not touched."""
        said, kernels, listed, untouched = [], 0, 0, 0
        for op, reads, writes in self.exported():
            said += self.missing(op, {*reads, *writes}, writes)
            kernels += sum(bool(kernel["reads"] or kernel["writes"]) for kernel in op.kernels)
            if op.kind in (LAUNCH, GRAPH):
                listed += len({*reads, *writes})
                untouched += self.idle(op, {*reads, *writes})
        require(not said, f"{len(said)} in all:", *said[:LISTED])
        require(kernels, "no kernel of the iteration touched anything")
        return kernels, listed, untouched

    def idle(self, op, listed):
        """How many of the listed allocations no kernel of the operation touched."""
        touched = [pages for kernel in op.kernels for pages in kernel["reads"] + kernel["writes"]]
        return sum(all(start + size <= low or high <= start for start, size in touched)
                   for low, high in (pages_of(self.allocations[number]) for number in listed))

    def whose(self, address):
        """For messages: the allocations that ever were there."""
        return [number for number, allocation in self.allocations.items() if uncovered([(address, 1)], [allocation]) == []]

    def missing(self, op, reached, written):
        """What the operation's kernels touched outside of the allocations `reached`, or wrote outside of `written`: sentences."""
        said = []
        for kernel in op.kernels:
            for what, ranges, listed in (("touched", kernel["reads"] + kernel["writes"], reached), ("wrote", kernel["writes"], written)):
                for start, end in uncovered(ranges, [self.allocations[number] for number in listed]):
                    said.append(f"operation {op.number}, {kernel['kernel']}, {what} {start:#x} to {end:#x} (allocation "
                                f"{self.whose(start)}), which is not listed: {sorted(listed)}")
        return said

    def require_all(self):
        """Each kernel of the run touched what the trace says, or the trace says that it may touch everything. The number of the latter."""
        said = []
        for op in self.operations:
            if not op.everything:
                said += self.missing(op, op.touches, [number for number, access in op.touches.items() if access & WRITE])
        require(not said, f"{len(said)} in all:", *said[:LISTED])
        return sum(op.everything for op in self.operations if op.kernels)
