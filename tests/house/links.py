#!/usr/bin/env python3
"""The pages agree with the tree: every relative link in a Markdown file leads to a file, and to a heading where it names one; the pages of the
design name files and identifiers that exist, each header of shim/ is listed on the page of its room and of no other, and the pages
that are read most have lines of at most 130 characters.

usage: links.py [FOLDER]        the source tree (default: this one)"""
import functools
import os
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FILE = re.compile(r"`([\w-]+\.(?:c|h|py|cu|ptx|list))`")
IDENTIFIER = re.compile(r"\b(?:spw_\w+|SPW_\w+)\b")
WIDTH = 130
DESIGN = ("docs/design.md", "docs/design/*.md", "docs/decisions/*.md", "CONTRIBUTING.md")
NARROW = (*DESIGN, "README.md", "docs/planning.md", "docs/testing.md", "docs/use.md", "docs/promises.md", "docs/packaging.md", "docs/troubleshooting.md",
          "docs/clusters.md", "docs/comparison.md", "docs/faq.md")
SKIPPED = {"build", ".git", "subprojects", "shared"}


def pages_of(tree):
    """Build folders are not entered: one may have a whole Debian root in it, whose files come and go while its packages are tried."""
    pages = []
    for where, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith("build")]
        pages += [pathlib.Path(where, name) for name in names if name.endswith(".md")]
    return sorted(pages)


@functools.cache
def anchors(path):
    """The names by which the headings of a page are linked to, as GitHub makes them."""
    found, seen = set(), {}
    for heading in HEADING.findall(re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def broken(path):
    """The links of a page that lead nowhere."""
    for target in LINK.findall(re.sub(r"`[^`]*`", "", FENCE.sub("", path.read_text()))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            yield target


def listed(page):
    """The files that a page says ideas are in: those of its first table, and of what is said before that."""
    head, _, rest = page.read_text().partition("\n|")
    return set(FILE.findall(head + "\n|" + rest.partition("\n\n")[0]))


def misplaced(tree):
    """Headers of shim/ that their room's page does not list, or that another one's does."""
    rooms = [path for path in sorted((tree / "shim").iterdir()) if any(path.glob("*.h"))]
    headers = {path.name: room.name for room in rooms for path in room.glob("*.h")}
    lists = {room.name: listed(tree / "docs/design" / f"{room.name}.md") for room in rooms}
    for header, room in headers.items():
        if header not in lists[room]:
            yield f"docs/design/{room}.md does not list {header}"
        yield from (f"docs/design/{other}.md lists {header}, which is of {room}" for other in lists if other != room and header in lists[other])


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]).resolve()
    pages = pages_of(tree)
    design, narrow = (sorted({path for pattern in patterns for path in tree.glob(pattern)}) for patterns in (DESIGN, NARROW))
    sources = [path for folder in ("common", "shim", "planner", "trace", "tools", "tests", "bench") for path in (tree / folder).rglob("*") if path.is_file()]
    files = {path.name for path in sources}
    identifiers = set().union(*(IDENTIFIER.findall(path.read_text(errors="replace")) for path in sources if path.suffix in (".c", ".h", ".py")))
    name = lambda path: path.relative_to(tree)  # noqa: E731
    count = sum(len(LINK.findall(path.read_text())) for path in pages)
    results = [
        ("every relative link leads to a file, and to a heading of it", [f"{name(path)}: {target}" for path in pages for target in broken(path)]),
        ("each file that a page of the design names exists",
         [f"{name(path)}: {each}" for path in design for each in sorted(set(FILE.findall(path.read_text())) - files)]),
        ("each identifier that a page of the design names exists",
         [f"{name(path)}: {each}" for path in design for each in sorted(set(IDENTIFIER.findall(path.read_text())) - identifiers) if not each.endswith("_")]),
        ("each header of shim/ is listed on the page of its room alone", list(misplaced(tree))),
        (f"no line of the pages that are read most is longer than {WIDTH} characters",
         [f"{name(path)}:{number}" for path in narrow for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > WIDTH]),
        ("pages and links are found where they are", [] if len(pages) > 12 and count > 60 and len(listed(tree / "docs/design/pager.md")) > 20 else [f"{len(pages)} pages, {count} links"]),
    ]
    print(f"1..{len(results)}")
    for number, (sentence, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {sentence}")
        print("".join(f"# {line}\n" for line in wrong), end="")
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
