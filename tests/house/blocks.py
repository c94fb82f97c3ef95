#!/usr/bin/env python3
"""Each code block of the pages says in a comment before it whether a test runs it: `<!-- run -->`, which shown.py does, or
`<!-- not run: REASON -->` with one of few reasons. A page may say `<!-- no block is run: REASON -->` of all its blocks. Pages of the
design need it only for blocks that have commands.

usage: blocks.py [FOLDER]        the source tree (default: this one)"""
import collections
import pathlib
import re
import sys

# What a reason begins with, and who may have it.
REASONS = ("needs a GPU", "needs jq", "needs a cluster", "needs a container", "builds everything", "installs packages", "runs other tests", "takes long",
           "part of a program", "a drawing", "a formula", "a file's contents", "a message")
ALL = re.compile(r"^<!-- no block is run: ([^>]+?) -->$", re.MULTILINE)  # a page whose blocks are all of one kind
MARK = re.compile(r"<!-- (run|not run: [^>]+?) -->$")
COMMAND = re.compile(r"^\s*(?:\$ |(?:\w+=\S+ +)*(?:sudo |\./|build/|spillway |export |pip |meson |ninja |docker |srun |sbatch |apptainer |kubectl |torchrun |python3? ))")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/design/*.md", "docs/measurements/*.md", "docs/decisions/*.md")
DEEP = ("docs/design/", "docs/measurements/", "docs/decisions/", "docs/design.md", "CONTRIBUTING.md")

Block = collections.namedtuple("Block", "line mark lines")  # where it begins, "run", "not run: …" or None, its lines without the indent


def pages_of(tree):
    return sorted({path for pattern in PAGES for path in tree.glob(pattern)})


def blocks_of(text):
    """The code blocks of a page: fenced ones, and indented ones that follow an empty line outside of lists."""
    whole = ALL.search(text)
    usual = f"not run: {whole.group(1)}" if whole else None
    blocks, mark, before, listed, lines = [], usual, "", False, text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        fence = re.match(r"(```+)", line)
        if fence or (line.startswith("    ") and line.strip() and not before.strip() and not listed):
            begin, inside = at, []
            if fence:
                at += 1
                while at < len(lines) and not lines[at].startswith(fence.group(1)):
                    inside.append(lines[at])
                    at += 1
                at += 1
            else:
                while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                    inside.append(lines[at][4:])
                    at += 1
                while inside and not inside[-1].strip():
                    inside.pop()
            blocks.append(Block(begin + 1, mark, inside))
            mark, before = usual, ""
            continue
        found = MARK.match(line.strip())
        if found:
            mark = found.group(1)
        elif line.strip():
            mark = usual
            listed = bool(re.match(r"\s*(?:[-*]|\d+\.) ", line)) or (listed and line.startswith(" "))
        before = line
        at += 1
    return blocks


def wrong_with(name, text):
    for block in blocks_of(text):
        where = f"{name}:{block.line}"
        if block.mark is None:
            if not name.startswith(DEEP) or any(COMMAND.match(line) for line in block.lines):
                yield f"{where}: neither <!-- run --> nor <!-- not run: REASON --> stands before this block"
        elif block.mark == "run":
            if not any(line.startswith("$ ") for line in block.lines):
                yield f"{where}: is to be run, and has no command that begins with '$ '"
        elif not block.mark.removeprefix("not run: ").startswith(REASONS):
            yield f"{where}: {block.mark.removeprefix('not run: ')!r} is no reason; there are: {', '.join(REASONS)}"


def unnoticed():
    """Faults that would pass."""
    right = "text\n\n<!-- run -->\n\n    $ spillway top\n    nothing\n\n- a list\n\n    of two paragraphs\n\ntext\n\n<!-- not run: needs a GPU -->\n\n```\nspillway top\n```\n"
    faults = {"a block without a mark": "text\n\n    code\n", "a mark that belongs to another block": "<!-- run -->\n\ntext\n\n    $ spillway top\n",
              "a reason that is none": "<!-- not run: as I like -->\n\n    spillway top\n", "a block to be run without a command": "<!-- run -->\n\n    text\n",
              "a fenced block without a mark": "```\ncode\n```\n"}
    passed = [fault for fault, text in faults.items() if not list(wrong_with("docs/page.md", text))]
    return passed + [f"what is right does not pass: {each}" for each in wrong_with("docs/page.md", right)]


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    pages = {str(page.relative_to(tree)): page.read_text(encoding="utf-8") for page in pages_of(tree)}
    count = sum(len(blocks_of(text)) for text in pages.values())
    readme = len(pages["README.md"].splitlines())
    results = [("each code block is run by a test, or says why not", [fault for name, text in pages.items() for fault in wrong_with(name, text)]),
               ("the README has at most 120 lines", [f"{readme} lines"] * (readme > 120)),
               ("blocks are found where they are", [f"{count} blocks on {len(pages)} pages"] * (count < 30)),
               ("a block that is not marked, or wrongly, would be noticed", unnoticed())]
    print(f"1..{len(results)}")
    for number, (sentence, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {sentence}")
        print("".join(f"# {line}\n" for line in wrong), end="")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
