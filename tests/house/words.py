#!/usr/bin/env python3
"""docs/words.md names what there is: each file and each identifier in it exists, and no word has two rows.

usage: words.py [FOLDER]        the source tree (default: this one)"""
import pathlib
import re
import sys

FOLDERS = ("shim", "planner", "trace")


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    sources = [path for folder in FOLDERS for path in (tree / folder).rglob("*.[ch]")]
    files = {path.name for path in sources}
    identifiers = set().union(*(re.findall(r"\b(?:spw|SPW)_\w+", path.read_text()) for path in sources))
    rows = [line.split("|")[1:-1] for line in (tree / "docs/words.md").read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in row] for row in rows if row[0].strip() != "word"]
    named = [name for row in rows for cell in row for name in re.findall(r"`([^`]+)`", cell)]
    missing = sorted({name for name in named if name not in (files if name.endswith((".c", ".h")) else identifiers)})
    words = [re.sub(r"\s*\(.*", "", row[0]) for row in rows]
    bad = sorted({word for word in words if words.count(word) > 1} | {row[0] for row in rows if len(row) != 4 or not all(row)})
    print("1..3")
    print(("not " if missing else "") + "ok 1 - each file and identifier that is named exists")
    for name in missing:
        print(f"# there is no {name}")
    print(("not " if bad else "") + "ok 2 - each word has one row, with a meaning, the field's term and a file")
    for word in bad:
        print(f"# {word}")
    print(("not " if len(rows) < 50 or len(named) < 80 else "") + f"ok 3 - words are found where they are\n# {len(rows)} words")
    return 1 if missing or bad or len(rows) < 50 or len(named) < 80 else 0


sys.exit(main())
