#!/usr/bin/env python3
"""One name, one thing: no type and no function of the product has the name of another one, nor of a type where it is a function; and arrays
grow in one file.

usage: names.py [FOLDER]        the source tree (default: this one)

Static functions and types of one file count as well where their names begin with spw_: whoever searches for one finds both."""
import collections
import pathlib
import re
import sys

FOLDERS = ("common", "shim", "planner", "trace", "tools")
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
TYPE = re.compile(r"^(?:typedef )?(struct|enum|union) (spw_\w+)[^;=(){]*\{", re.MULTILINE)
# A definition begins in the first column, has no ; before its brace, and ends its parameters there.
FUNCTION = re.compile(r"^(?!typedef|struct \w+ \{|#)[A-Za-z_][^;{}()#=]*?\b\*?(spw_\w+)\([^;{}]*?\)\s*(?:__attribute__\(\([^;{}]*?\)\)\s*)?\{", re.MULTILINE)
GROWS = re.compile(r"\brealloc(?:array)?\(")


def definitions(text):
    """(kind, name) of all that a file defines."""
    text = COMMENTS.sub("", text)
    yield from ((kind, name) for kind, name in TYPE.findall(text))
    yield from (("function", name) for name in FUNCTION.findall(text))


def found_in(tree):
    places = collections.defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((tree / folder).rglob("*.[ch]")):
            for kind, name in definitions(path.read_text()):
                places[name].add(f"{kind} in {path.relative_to(tree)}")
    return places


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    places = found_in(tree)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    known = {"spw_block": "struct", "spw_graph": "struct", "spw_block_create_locked": "function", "spw_settings_get": "function"}
    missed = [name for name, kind in known.items() if not any(where.startswith(kind) for where in places.get(name, ()))]
    growing = [path.relative_to(tree) for folder in FOLDERS for path in (tree / folder).rglob("*.[ch]") if GROWS.search(COMMENTS.sub("", path.read_text()))]
    print("1..3")
    print(("not " if twice else "") + "ok 1 - no name is that of two types or functions")
    for name, where in sorted(twice.items()):
        print(f"# {name}: {', '.join(sorted(where))}")
    print(("not " if missed or len(places) < 1500 else "") + "ok 2 - types and functions are found where they are")
    print(f"# {len(places)} names{', without ' + ', '.join(missed) if missed else ''}")
    print(("" if growing == [pathlib.Path("common/grow.h")] else "not ") + f"ok 3 - one file makes arrays larger: {', '.join(map(str, growing))}")


main()
