#!/usr/bin/env python3
"""run-seek-ptx.py SEEK.PTX - carries spillway_seek out as a device would, thread by thread, and holds what it finds against what
is there. No GPU needed."""
import importlib.util
import os
import random
import sys

SPEC = importlib.util.spec_from_file_location("run_ptx", os.path.join(os.path.dirname(os.path.abspath(__file__)), "run-ptx.py"))
PTX = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PTX)

ADDRESS, ANSWER = 0x7f0000000000, 0x600000000000
LOW, HIGH = 0x200000000000, 0x200000100000
OTHER_LOW, OTHER_HIGH = 0x7f1200000000, 0x7f1200000008


class Memory:
    def __init__(self, data):
        self.data, self.read, self.told, self.sum = data, set(), set(), None

    def load(self, at, count):
        assert at % (8 * count) == 0, f"a load of {8 * count} bytes from {at:#x}"
        at -= ADDRESS
        assert 0 <= at and at + 8 * count <= len(self.data), f"{at} is read"
        self.read.update(range(at, at + 8 * count))
        return [int.from_bytes(self.data[at + 8 * k:at + 8 * k + 8], "little") for k in range(count)]

    def store(self, at, value):
        assert at == ANSWER + 64 and self.sum is None, f"{at:#x} is written to"
        self.sum = value

    def store_byte(self, at, value):
        assert value == 1 and at - ANSWER in range(64), f"{at:#x} is written to"
        self.told.add(at - ANSWER)


def term(index, word):
    mixed = (word ^ index * 0x9E3779B97F4A7C15 & PTX.WORD) * 0xBF58476D1CE4E5B9 & PTX.WORD
    return PTX.fold(mixed) * 0x94D049BB133111EB


def seek(thread, words, tail, shift, blocks):
    """`words`: place and word, of those that are not noise below the range; place counts words."""
    count, places = words
    data = bytearray(random.Random(count).randbytes(8 * count + tail))
    for at in range(6, 8 * count, 8):
        data[at] = 1  # no noise looks like an address
    for place, word in places:
        data[8 * place:8 * place + 8] = word.to_bytes(8, "little")
    memory = Memory(bytes(data))
    for block in random.Random(blocks).sample(range(blocks), blocks):
        shared = PTX.Shared()
        threads = [thread({"address": ADDRESS, "bytes": len(data), "low": LOW, "extent": HIGH - LOW, "other_low": OTHER_LOW,
                           "other_extent": OTHER_HIGH - OTHER_LOW, "shift": shift, "answer": ANSWER}, memory, shared, tid, block, blocks)
                   for tid in range(256)]
        warps = [PTX.run_warp(threads[first:first + 32]) for first in range(0, 256, 32)]
        while any([next(warp, "gone") is None for warp in warps]): # up to the next barrier, all of them
            continue
    assert len(memory.read) == 8 * count, f"{8 * count - len(memory.read)} bytes are not read"
    wanted = {8 * place >> shift for place, word in places if LOW <= word < HIGH or OTHER_LOW <= word < OTHER_HIGH}
    assert memory.told == wanted, f"parts {sorted(memory.told)} are told in place of {sorted(wanted)}"
    terms = [term(place, word) for place, word in places if LOW <= word < HIGH or OTHER_LOW <= word < OTHER_HIGH]
    total = sum(terms) & PTX.WORD if len(data) < 16 << 10 and blocks == 1 else None
    assert memory.sum == total, f"the words come to {memory.sum} in place of {total}"


IN, BELOW, ABOVE, OTHER = LOW + 0x1234, LOW - 1, HIGH, OTHER_LOW + 5
CASES = [  # words and what is among them, bytes behind, shift, blocks
    ((0, []), 0, 14, 1), ((0, []), 7, 14, 2), ((1, [(0, IN)]), 0, 14, 1), ((1, [(0, BELOW)]), 5, 14, 1), ((2, [(1, ABOVE)]), 0, 14, 1),
    ((2, [(0, LOW), (1, HIGH - 1)]), 3, 14, 1), ((2047, [(0, IN), (3, IN), (300, OTHER), (1025, IN + 8), (2046, BELOW)]), 0, 14, 1), ((2048, [(2047, IN)]), 0, 14, 1), ((2049, [(2048, IN)]), 0, 14, 3),
    ((4096 + 700, [(0, IN), (4095, BELOW), (4700, IN)]), 0, 14, 2), ((3 * 2048, [(2048, IN)]), 4, 14, 2), ((6 * 2048, [(5 * 2048 - 1, IN)]), 0, 15, 2),
    ((3000, []), 0, 14, 2), ((4096 + 700, [(1, OTHER), (2049, OTHER_HIGH), (4097, OTHER_LOW - 1), (4796 - 1, OTHER)]), 0, 14, 2),
] + [((2048, [(at, IN)]), 0, 14, 1) for at in (0, 1, 511, 512, 513, 1024, 1025, 1536, 1537)] + [((2048, [(at, OTHER)]), 0, 14, 1) for at in (0, 513, 1536, 2047)]


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        thread = PTX.translate(file.read(), "spillway_seek")
    print(f"1..{len(CASES)}")
    failed = 0
    for number, case in enumerate(CASES, 1):
        try:
            seek(thread, *case)
            why = ""
        except AssertionError as error:
            why = f" # {error}"
        failed += bool(why)
        print(f"{'not ' if why else ''}ok {number} - {case[0][0]} words and {case[1]} bytes, in {case[3]} blocks{why}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
