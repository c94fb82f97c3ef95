#!/usr/bin/env python3
"""The folders of shim/, planner/ and tools/ are closed: a file of one that includes a header of a higher one does not compile, and one that calls
a function of a higher one does not link with what is linked to find that out (shim/closed.c).

usage: rooms.py BUILD --planner FOLDER... --shim FOLDER... --tools FOLDER...        the folders of each in their order, the lowest first"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BELOW = ("planner/libspillway-planner.a", "trace/libspillway-follow.a", "trace/libspillway-trace.a")
NEEDED_BY_TOOLS = ("-ljansson", "-ldw", "-lelf", "-lncursesw", "-ltinfo", "-lstdc++")


class House:
    """A part with its folders, and what stands before the names of its libraries and headers. What is linked with them is of parts below."""

    def __init__(self, build, part, folders):
        self.build, self.part, self.rooms = build, part, folders
        self.before = {"shim": "shim/libspillway-", "planner": "planner/libspillway-planner-", "tools": "tools/libspillway-tools-"}[part]

    def library(self, room):
        return f"{self.before}{room}.a"

    def beside(self):
        below = {"planner": (), "shim": BELOW, "tools": (*BELOW, "shim/libspillway-base.a")}[self.part]
        return [*(str(self.build / path) for path in below), *(NEEDED_BY_TOOLS if self.part == "tools" else ())]

    def header_of(self, room):
        """The first header whose name nothing else has that is included by its name alone, as the C library has <aliases.h>."""
        names = sorted(path.name for path in (SOURCE / self.part / room).glob("*.h"))
        if self.part == "planner":
            return f"{room}/{names[0]}"
        return next(name for name in names if not pathlib.Path("/usr/include", name).exists() and len(list(SOURCE.glob(f"[st]*/*/{name}"))) == 1)


def command_of(house, room):
    """How the compiler is called for the first file of the room."""
    for each in json.loads((house.build / "compile_commands.json").read_text()):
        if each["output"].startswith(f"{house.library(room)}.p/"):
            return shlex.split(each["command"]), each["directory"], each["file"], each["output"]
    raise SystemExit(f"there is no file of room {room} in {house.build}/compile_commands.json")


def compiled(house, room, text, to):
    """None, or what the compiler said."""
    command, folder, file, output = command_of(house, room)
    source = to.with_suffix(".c")
    source.write_text(text)
    changed = [{file: str(source), output: str(to)}.get(word, word) for word in command]
    changed = [word for word in changed if word != "ccache"]
    done = subprocess.run(changed, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def linked(house, rooms, thing):
    libraries = [str(house.build / house.library(room)) for room in rooms]
    sanitizers = [word for word in command_of(house, rooms[0])[0] if word.startswith("-fsanitize")]
    whole, group = ["-Wl,--whole-archive", *libraries, "-Wl,--no-whole-archive"], ["-Wl,--start-group", *house.beside(), "-Wl,--end-group"]
    done = subprocess.run(["cc", *sanitizers, str(thing), *whole, *group, "-lzstd", "-pthread", "-ldl", "-lm", "-o", str(thing) + ".out"],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def function_of(house, room):
    symbols = subprocess.run(["nm", "--defined-only", str(house.build / house.library(room))], capture_output=True, text=True, check=True).stdout
    return next(line.split()[2] for line in symbols.splitlines() if " T " in line)


def wrong_with(house, number, place):
    """What is not as it has to be, in a sentence; None."""
    room, above, below, thing = house.rooms[number], house.rooms[number + 1], house.rooms[:number + 1], place / "thing.o"
    header, function = house.header_of(above), function_of(house, above)
    main = "int main(void);\nint main(void)\n{\n    return 0;\n}\n"
    said = compiled(house, room, f'#include "{house.header_of(room)}"\n{main}', thing) or linked(house, below, thing)
    if said:
        return f"{room}: what is right does not compile or link: {said}"
    said = compiled(house, room, f'#include "{header}"\n{main}', thing)
    if not said or f"{header}: No such file" not in said:
        return f"{room}: a file that includes {header} compiles, or fails for another reason: {said}"
    said = compiled(house, room, f"int {function}(void);\nint main(void);\nint main(void)\n{{\n    return {function}();\n}}\n", thing)
    said = said or linked(house, below, thing)
    if not said or f"undefined reference to `{function}'" not in said:
        return f"{room}: a file that calls {function}() links, or fails for another reason: {said}"
    return None


def main():
    build, parts = pathlib.Path(sys.argv[1]), [told.split() for told in " ".join(sys.argv[2:]).split("--")[1:]]
    houses = [House(build, part[0], part[1:]) for part in parts]
    tests = [(house, number) for house in houses for number in range(len(house.rooms) - 1)]
    print(f"1..{len(tests)}")
    with tempfile.TemporaryDirectory() as place:
        for count, (house, number) in enumerate(tests, 1):
            wrong = wrong_with(house, number, pathlib.Path(place))
            print(f"{'not ' if wrong else ''}ok {count} - {house.rooms[number]} includes and calls nothing of {house.rooms[number + 1]}")
            if wrong:
                print("\n".join("# " + line for line in wrong.splitlines()))


main()
