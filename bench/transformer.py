#!/usr/bin/env python3
"""A training iteration of a transformer of any number of operations, in the form of spillway-iteration/1, for timing the planner.

usage: transformer.py OPERATIONS >FILE

Shapes as of a small GPT; durations by the same roofline for all layers, so that a longer iteration is a deeper network."""
import json
import sys

MIB = 1 << 20
WIDTH_MIB = 24  # of one activation of the residual stream
COMPUTE_US_PER_MIB, MATMUL_US_PER_MIB = 1.7, 4.3


class Iteration:
    def __init__(self):
        self.tensors, self.ops, self.last = [], [], {}

    def tensor(self, name, mib, persistent=False):
        number = len(self.tensors)
        self.tensors.append({"id": number, "name": name, "bytes": int(mib * MIB)})
        if persistent:
            self.tensors[-1]["persistent"] = True
        return number

    def op(self, name, us, reads, writes, replayable=True):
        number = len(self.ops)
        self.ops.append({"name": name, "us": round(us, 3), "reads": reads, "writes": writes, "replayable": replayable})
        for tensor in reads + writes:
            self.tensors[tensor].setdefault("alloc_before", number)
            self.tensors[tensor]["free_after"] = number
        return writes[0]

    def finished(self, name):
        for tensor in self.tensors:
            if tensor.get("persistent"):
                tensor.pop("alloc_before", None)
                tensor.pop("free_after", None)
        live = [0] * (len(self.ops) + 1)
        for tensor in self.tensors:
            if not tensor.get("persistent"):
                live[tensor["alloc_before"]] += tensor["bytes"]
                live[tensor["free_after"] + 1] -= tensor["bytes"]
        for number in range(1, len(live)):
            live[number] += live[number - 1]
        persistent = sum(tensor["bytes"] for tensor in self.tensors if tensor.get("persistent"))
        return {"format": "spillway-iteration/1", "name": name, "profile": "modelled",
                "copy_bytes_per_us": {"d2h": 24000.0, "h2d": 24000.0}, "persistent_bytes": persistent,
                "peak_bytes": persistent + max(live), "compute_us": sum(op["us"] for op in self.ops),
                "tensors": self.tensors, "ops": self.ops}


def cheap(mib):
    return mib * COMPUTE_US_PER_MIB


def matmul(mib):
    return mib * MATMUL_US_PER_MIB


def forward(it, layer, x, weights):
    def name(what):
        return f"h{layer}.{what}"

    def make(what, mib, us, reads):
        return it.op(name(what), us, reads, [it.tensor(name(what) + ".out", mib)])
    w = WIDTH_MIB
    norm = make("ln", w, cheap(w), [x])
    qkv = make("qkv", 3 * w, matmul(3 * w), [norm, weights[0]])
    attention = make("attention", w, matmul(4 * w), [qkv])
    proj = make("proj", w, matmul(w), [attention, weights[1]])
    middle = make("res", w, cheap(2 * w), [x, proj])
    wide = make("fc1", 4 * w, matmul(4 * w), [middle, weights[2]])
    gelu = make("gelu", 4 * w, cheap(4 * w), [wide])
    narrow = make("fc2", w, matmul(4 * w), [gelu, weights[3]])
    out = make("res2", w, cheap(2 * w), [middle, narrow])
    return out, (x, norm, qkv, attention, middle, wide, gelu)


def backward(it, layer, gradient, saved, weights, sums):
    x, norm, qkv, attention, middle, wide, gelu = saved

    def make(what, mib, us, reads):
        return it.op(f"h{layer}.{what}", us, reads, [it.tensor(f"h{layer}.{what}.out", mib)])
    w = WIDTH_MIB
    d_gelu = make("fc2.bwd_data", 4 * w, matmul(4 * w), [gradient, weights[3]])
    it.op(f"h{layer}.fc2.bwd_weight", matmul(4 * w), [gelu, gradient], [sums[3]])
    d_wide = make("gelu.bwd", 4 * w, cheap(6 * w), [wide, d_gelu])
    d_middle = make("fc1.bwd_data", w, matmul(4 * w), [d_wide, weights[2]])
    it.op(f"h{layer}.fc1.bwd_weight", matmul(4 * w), [middle, d_wide], [sums[2]])
    d_attention = make("proj.bwd_data", w, matmul(w), [d_middle, weights[1]])
    it.op(f"h{layer}.proj.bwd_weight", matmul(w), [attention, d_middle], [sums[1]])
    d_qkv = make("attention.bwd", 3 * w, matmul(8 * w), [qkv, d_attention])
    d_norm = make("qkv.bwd_data", w, matmul(3 * w), [d_qkv, weights[0]])
    it.op(f"h{layer}.qkv.bwd_weight", matmul(3 * w), [norm, d_qkv], [sums[0]])
    return make("ln.bwd", w, cheap(4 * w), [x, d_norm, d_middle])


OPS_PER_LAYER, OPS_BESIDE = 9 + 11 + 4, 4


def transformer(operations):
    layers = max(1, (operations - OPS_BESIDE) // OPS_PER_LAYER)
    it = Iteration()
    weights = [[it.tensor(f"h{layer}.{what}.w", mib, True) for what, mib in (("qkv", 6.75), ("proj", 2.25), ("fc1", 9), ("fc2", 9))]
               for layer in range(layers)]
    moments = [[it.tensor(f"m.h{layer}.{what}", mib, True) for what, mib in (("qkv", 6.75), ("proj", 2.25), ("fc1", 9), ("fc2", 9))]
               for layer in range(layers)]
    x = it.op("input.copy", 5, [], [it.tensor("input", WIDTH_MIB)], False)
    saved = []
    for layer in range(layers):
        x, kept = forward(it, layer, x, weights[layer])
        saved.append(kept)
    logits = it.op("head", matmul(8 * WIDTH_MIB), [x], [it.tensor("logits", 8 * WIDTH_MIB)])
    loss = it.op("loss", cheap(8 * WIDTH_MIB), [logits], [it.tensor("d.logits", 8 * WIDTH_MIB)])
    gradient = it.op("head.bwd", matmul(8 * WIDTH_MIB), [loss], [it.tensor("d.x", WIDTH_MIB)])
    sums = {}
    for layer in reversed(range(layers)):
        sums[layer] = [it.tensor(f"d.h{layer}.{what}.w", mib) for what, mib in (("qkv", 6.75), ("proj", 2.25), ("fc1", 9), ("fc2", 9))]
        gradient = backward(it, layer, gradient, saved[layer], weights[layer], sums[layer])
    for layer in range(layers):
        for weight, moment, gradient in zip(weights[layer], moments[layer], sums[layer]):
            it.op(f"adam.{layer}", cheap(it.tensors[weight]["bytes"] / MIB * 4), [weight, moment, gradient], [weight, moment])
    return it.finished(f"transformer-{len(it.ops)}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit(__doc__)
    json.dump(transformer(int(sys.argv[1])), sys.stdout)
