#!/usr/bin/env python3
"""Each warning and error names the section of docs/troubleshooting.md that explains it (SPW_SEE("section"), see.h), each section that is
named exists there, and each section there is named by a message.

A few messages need none: the summary at the end of a run, the system's own words about a file, and refusals of what was typed, which
list what is accepted.

usage: messages.py [FOLDER]        the source tree (default: this one)"""
import pathlib
import re
import sys

CALLS = {"shim": re.compile(r"\bspw_warn(?:_once|_of)?\s*\("), "tools": re.compile(r"\bfprintf\s*\(\s*stderr\s*,")}
SEE = re.compile(r'SPW_SEE\(\s*"([a-z-]+)"\s*\)')
HEADING = re.compile(r"^### ([a-z-]+)$", re.MULTILINE)
# What a message without a section says, by file.
EXEMPT = {
    "summary.c": ("device %d: up to", "on all devices: "),
    "recorder.c": ("traced %llu operations",),
    "main.c": ("spillway: which command?", "spillway: no such command", "spillway: no such option"),
    "texts_command.c": ("usage: ",),
    "program.c": ("spillway: %s: command not found",),  # which goes on in another call
    "progress.c": ("\\r",),
    "top_screen.c": ("spillway top: the terminal", "spillway top: no terminal", "%s\\n"),
}
SYSTEM = re.compile(r"\bstrerror\(")  # of a file that the user named: the reason is all that there is to say
DEFINITIONS = ("log.h",)
LITERAL = r'"((?:[^"\\]|\\.)*)"'
TOKEN = re.compile(LITERAL + r"|[()]")
PLACEHOLDER = re.compile(r"…|\b(?:KERNEL|FILE|LINE|CALL)\b")  # in what the page shows of a message


def calls_of(text, pattern):
    """Each call: its line and its text with spaces in place of line ends."""
    for found in pattern.finditer(text):
        depth = 1
        for token in TOKEN.finditer(text, found.end()):
            depth += {"(": 1, ")": -1}.get(token.group(), 0)
            if depth == 0:
                yield text[:found.start()].count("\n") + 1, " ".join(text[found.start():token.end()].split())
                break


def said(call):
    """The call's literals in a row."""
    return "".join(re.findall(LITERAL, SEE.sub("", call)))


def wrong_with(sources, page):
    """sources: texts by path."""
    sections, named = HEADING.findall(page), set()
    for path, text in sorted(sources.items()):
        room, file = path.split("/")[0], path.rsplit("/", 1)[-1]
        if file in DEFINITIONS:
            continue
        for line, call in calls_of(text, CALLS[room]):
            see = SEE.findall(call)
            named.update(see)
            yield from (f"{path}:{line}: there is no section {section}" for section in see if section not in sections)
            if not see and not said(call).startswith(EXEMPT.get(file, ("\0",))) and not (room == "tools" and SYSTEM.search(call)):
                yield f'{path}:{line}: names no section (SPW_SEE): "{said(call)[:70]}"'
    yield from (f"docs/troubleshooting.md: no message names {section}" for section in sections if section not in named)
    yield from (f"docs/troubleshooting.md: {section} is there twice" for section in sorted(set(sections)) if sections.count(section) > 1)


def python_sections(tree):
    """What the Python module refers to."""
    return {section for path in (tree / "packaging/python").rglob("*.py") for section in re.findall(r"\(see troubleshooting: ([a-z-]+)\)", path.read_text(encoding="utf-8"))}


def made_up(sources, page):
    """What the page shows as a message, and no source has: every part between what stands for something else is looked for."""
    literals = [re.sub(r"\\(.)", r"\1", re.sub(r"%[\d.*]*(?:ll|z)?[a-z]", "\0", "".join(re.findall(LITERAL, SEE.sub("", text)))))
                for path, text in sources.items() if path.endswith(".c")]
    for line in re.findall(r"^    (.+)$", page, re.MULTILINE):
        for part in PLACEHOLDER.split(line):
            part = part.strip(" :;.()")
            if len(part) > 3 and not any(part in text for text in literals):
                yield f"docs/troubleshooting.md shows {part!r}, which no message has"


def sources_of(tree):
    return {str(path.relative_to(tree)): path.read_text(encoding="utf-8") for room in CALLS for path in (tree / room).rglob("*.[ch]")}


def unnoticed():
    """Faults that would pass."""
    page = "## Part\n\n### full\n\ntext\n\n### Without a message\n"
    right = {"shim/a.c": 'spw_warn("a (b) \\"c\\" %s" SPW_SEE("full"), f(x));', "tools/b.c": 'fprintf(stderr, "spillway: %s: %s\\n", file, strerror(e));'}
    faults = {"a message without a section": {**right, "shim/c.c": 'spw_warn_once(&w, "more");'},
              "a section that is not there": {**right, "shim/c.c": 'spw_warn_of(&t, 1, "more" SPW_SEE("empty"));'},
              "a section without a message": {"shim/a.c": ""},
              "a tool's message without a section": {**right, "tools/c.c": 'fprintf(stderr, "spillway: no\\n");'}}
    passed = [fault for fault, sources in faults.items() if not list(wrong_with(sources, page))]
    if not list(made_up(right, page + "\n    a (b) \"d\" …\n")):
        passed.append("a message on the page that is none")
    return passed + [f"what is right does not pass: {each}" for each in (*wrong_with(right, page), *made_up(right, page + "\n    a (b) \"c\" …\n"))]


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    sources, page = sources_of(tree), (tree / "docs/troubleshooting.md").read_text(encoding="utf-8")
    count = sum(len(SEE.findall(text)) for text in sources.values())
    results = [("each message names a section of docs/troubleshooting.md, and each section has a message", list(wrong_with(sources, page))),
               ("what the page shows of messages is in them", list(made_up(sources, page))),
               ("what the Python module refers to is a section", sorted(python_sections(tree) - set(HEADING.findall(page))) or ["nothing"] * (not python_sections(tree))),
               ("messages are found where they are", [f"only {count}"] * (count < 60)),
               ("a message without a section, and a section without one, would be noticed", unnoticed())]
    print(f"1..{len(results)}")
    for number, (sentence, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {sentence}")
        print("".join(f"# {line}\n" for line in wrong), end="")
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
