#!/usr/bin/env python3
"""A block's residency changes in shim/ledger/residency.c alone: no other file of shim sets or clears its bits.

usage: residency.py [FOLDER]        the source tree (default: this one)

A new block is SPW_EMPTY, and one that is given out of the cache is 0: those assignments are the beginning of a block."""
import pathlib
import re
import sys

BITS = r"SPW_(?:EMPTY|EVICTED|DROPPED|ABSENT|EVICTING|RESTORING)\b"
CHANGE = re.compile(r"attention\s*(?:[|&^]=|=(?!=))[^;]*" + BITS)
BEGINNING = "attention = SPW_EMPTY"


def changes_in(text):
    return [found.group(0) for found in CHANGE.finditer(text) if BEGINNING not in found.group(0)]


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    wrong = [f"{path.relative_to(tree)}: {change}" for path in sorted((tree / "shim").rglob("*.[ch]"))
             if path.name != "residency.c" for change in changes_in(path.read_text())]
    print("1..2")
    print("not ok" if wrong else "ok", "1 - residency changes in one file alone")
    for line in wrong:
        print("#", line)
    blind = not changes_in("b->object.attention |= SPW_EVICTING;") or not changes_in("o->attention &= ~(uint32_t)(SPW_FREE | SPW_RESTORING);")
    print("not ok" if blind else "ok", "2 - and a change would be seen")
    return 1 if wrong or blind else 0


sys.exit(main())
