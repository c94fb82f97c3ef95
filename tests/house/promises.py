#!/usr/bin/env python3
"""Each promise of docs/design.md is proved by a test: the tests that it names say `promise: ID` in a comment, and no test names an id that no
promise has.

usage: promises.py [FOLDER]        the source tree (default: this one)"""
import pathlib
import re
import sys

# "1. **The program's addresses stay** (`addresses-stay`). …", up to the next number or heading.
PROMISE = re.compile(r"^(\d+)\. \*\*[^*]+\*\* \(`([a-z-]+)`\)(.*?)(?=^\d+\. |^#|\Z)", re.MULTILINE | re.DOTALL)
TESTED = re.compile(r"Tests?: (.*?)\.(?=\s|\Z)(?!\w)", re.DOTALL)
COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*) ?promise: ([a-z-]+)", re.MULTILINE)
SOURCES = (".py", ".c", ".cu", ".h")


def promised(text):
    """Number, id and the names of tests of each promise in the text."""
    promises = []
    for number, promise, rest in PROMISE.findall(text):
        named = TESTED.search(rest + "\n")
        promises.append((int(number), promise, re.findall(r"`([^`]+)`", named[1]) if named else []))
    return promises


def wrong_with(text, comments):
    """What does not agree, in sentences. comments: the ids that each test names, by its path."""
    promises = promised(text)
    ids = [promise for _, promise, _ in promises]
    found = [f"the promises are not numbered from 1 on: {[number for number, _, _ in promises]}"] * ([n for n, _, _ in promises] != list(range(1, len(ids) + 1)))
    found += [f"the id {promise} stands for two promises" for promise in sorted(set(ids)) if ids.count(promise) > 1]
    for _, promise, tests in promises:
        carriers = {path.rsplit("/", 1)[-1] for path, named in comments.items() if promise in named}
        if not carriers:
            found.append(f"{promise}: no test has the comment line 'promise: {promise}'")
        if not tests:
            found.append(f"{promise}: the page names no test")
        found += [f"{promise}: the page names {test}, which has no such comment line" for test in tests if test not in carriers]
    return found + [f"{path} names {promise}, which is no promise" for path, named in sorted(comments.items()) for promise in sorted(named) if promise not in ids]


def of_tree(tree):
    comments = {}
    for path in sorted((tree / "tests").rglob("*")):
        if path.suffix in SOURCES and path.is_file() and path.name != "promises.py":
            named = set(COMMENT.findall(path.read_text(errors="replace")))
            if named:
                comments[str(path.relative_to(tree))] = named
    return (tree / "docs/design.md").read_text(), comments


def unnoticed():
    """What would pass although it is wrong: the test is tried on small pages that have one fault each."""
    page = "## 1\n\n1. **Addresses stay** (`stay`). Good until freed.\n   Tests: `a.py`, `b.c`.\n2. **Fits** (`fits`). Test: `a.py`.\n\n## 2\n"
    right = {"tests/a.py": {"stay", "fits"}, "tests/b.c": {"stay"}}
    faults = {"a promise without a test": (page, {"tests/a.py": {"stay"}, "tests/b.c": {"stay"}}),
              "an id that no promise has": (page, {**right, "tests/c.c": {"gone"}}),
              "a test that does not name the promise": (page.replace("`b.c`", "`c.c`"), right),
              "a promise that names no test": (page.replace(" Test: `a.py`.", ""), right),
              "a number that is left out": (page.replace("2. **", "3. **"), right)}
    passed = [fault for fault, (text, comments) in faults.items() if not wrong_with(text, comments)]
    return passed + [f"what is right does not pass: {each}" for each in wrong_with(page, right)]


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    text, comments = of_tree(tree)
    results = [("each promise is named by its tests, and tests name promises only", wrong_with(text, comments)),
               ("promises are found where they are", [] if len(promised(text)) >= 8 else [f"only {len(promised(text))} are found"]),
               ("a promise without a test, and an id without a promise, would be noticed", unnoticed())]
    print(f"1..{len(results)}")
    for number, (sentence, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {sentence}")
        print("".join(f"# {line}\n" for line in wrong), end="")
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
