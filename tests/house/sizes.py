#!/usr/bin/env python3
"""Files and functions are small: no source file has more than 600 lines, and of the functions in C at most one in 200 has more than 60.

usage: sizes.py [FOLDER]        the source tree (default: this one)"""
import pathlib
import sys
import tempfile

FOLDERS = ("common", "shim", "planner", "trace", "tools", "tests", "bench")
C, PYTHON = (".c", ".h", ".cu", ".cpp"), (".py",)
FILE_LINES, FUNCTION_LINES, ONE_IN = 600, 60, 200
LARGER = {"shim/driver/calls.h"}  # one table


def sources(tree, endings):
    return sorted(path for folder in FOLDERS for path in (tree / folder).rglob("*") if path.suffix in endings)


def lines_of(path):
    return path.read_text(errors="replace").splitlines()


def functions(lines):
    """Where each function begins, and how many lines it has: clang-format puts the braces of no other thing into the first column alone."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            yield begin, number - begin + 1
            begin = None


def findings(tree):
    """Files that are too large, functions that are, and how many functions there are."""
    long_files, long_functions, count = [], [], 0
    for path in sources(tree, C + PYTHON):
        name, lines = str(path.relative_to(tree)), lines_of(path)
        if len(lines) > FILE_LINES and name not in LARGER:
            long_files.append(f"{name}: {len(lines)} lines")
        for begin, length in functions(lines) if path.suffix in C else ():
            count += 1
            if length > FUNCTION_LINES:
                long_functions.append(f"{name}:{begin}: {length} lines")
    return long_files, long_functions, count


def finds_what_is_wrong():
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        (tree / "shim").mkdir()
        (tree / "shim/long.py").write_text("pass\n" * (FILE_LINES + 1))
        (tree / "shim/just.c").write_text("int f(void)\n{\n" + "    g();\n" * (FUNCTION_LINES - 2) + "}\n")
        (tree / "shim/over.c").write_text("int f(void)\n{\n" + "    g();\n" * (FUNCTION_LINES - 1) + "}\n")
        return findings(tree) == (["shim/long.py: 601 lines"], ["shim/over.c:2: 61 lines"], 2)


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]).resolve()
    long_files, long_functions, count = findings(tree)
    results = [(f"no source file has more than {FILE_LINES} lines", long_files),
               (f"of {count} functions at most one in {ONE_IN} has more than {FUNCTION_LINES} lines",
                long_functions if len(long_functions) * ONE_IN > count else []),
               ("a file and a function that are too long are found", [] if finds_what_is_wrong() else ["they are not"])]
    print(f"1..{len(results)}")
    for number, (what, wrong) in enumerate(results, 1):
        print(("not " if wrong else "") + f"ok {number} - {what}")
        for each in wrong:
            print(f"# {each}")
    return 1 if any(wrong for _, wrong in results) else 0


sys.exit(main())
