#!/usr/bin/env python3
"""The rooms of shim/ are closed: a file of a room that includes a header of a higher one does not compile, and one that calls a function of a
higher one does not link with what is linked to find that out (shim/closed.c).

usage: rooms.py BUILD ROOM...       the rooms in their order, the lowest first"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "shim"
HIGHEST = "engine.h", "spw_op_begin"  # which is in no room yet, or in a high one


def command_of(build, room):
    """How the compiler is called for the first file of the room."""
    for each in json.loads((build / "compile_commands.json").read_text()):
        if f"libspillway-{room}.a.p/" in each["output"]:
            return shlex.split(each["command"]), each["directory"], each["file"], each["output"]
    raise SystemExit(f"there is no file of room {room} in {build}/compile_commands.json")


def compiled(build, room, text, to):
    """None, or what the compiler said."""
    command, folder, file, output = command_of(build, room)
    source = to.with_suffix(".c")
    source.write_text(text)
    changed = [{file: str(source), output: str(to)}.get(word, word) for word in command]
    changed = [word for word in changed if word != "ccache"]
    done = subprocess.run(changed, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def linked(build, rooms, thing):
    libraries = [str(build / "shim" / f"libspillway-{room}.a") for room in rooms]
    done = subprocess.run(["cc", str(thing), "-Wl,--whole-archive", *libraries, "-Wl,--no-whole-archive", "-pthread", "-ldl", "-o", str(thing) + ".out"],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def header_of(room):
    """The first header that no other library has of that name, as the C library has <aliases.h>."""
    names = sorted(path.name for path in (SOURCE / room).glob("*.h"))
    return next(name for name in names if not pathlib.Path("/usr/include", name).exists())


def wrong_with(build, rooms, number, folder):
    """What is not as it has to be, in a sentence; None."""
    room, thing = rooms[number], folder / "thing.o"
    own = header_of(room)
    above = header_of(rooms[number + 1]) if number + 1 < len(rooms) else HIGHEST[0]
    main = "int main(void);\nint main(void)\n{\n    return 0;\n}\n"
    said = compiled(build, room, f'#include "{own}"\n{main}', thing)
    if said or linked(build, rooms[:number + 1], thing):
        return f"{room}: what is right does not compile or link: {said or linked(build, rooms[:number + 1], thing)}"
    said = compiled(build, room, f'#include "{above}"\n{main}', thing)
    if not said or f"{above}: No such file" not in said:
        return f"{room}: a file that includes {above} compiles, or fails for another reason: {said}"
    called = HIGHEST[1]
    said = compiled(build, room, f"int {called}(void);\nint main(void);\nint main(void)\n{{\n    return {called}();\n}}\n", thing)
    said = said or linked(build, rooms[:number + 1], thing)
    if not said or f"undefined reference to `{called}'" not in said:
        return f"{room}: a file that calls {called}() links, or fails for another reason: {said}"
    return None


def main():
    build, rooms = pathlib.Path(sys.argv[1]), sys.argv[2:]
    print(f"1..{len(rooms)}")
    with tempfile.TemporaryDirectory() as folder:
        for number, room in enumerate(rooms):
            wrong = wrong_with(build, rooms, number, pathlib.Path(folder))
            print(f"{'not ' if wrong else ''}ok {number + 1} - {room} includes and calls nothing of a higher room")
            if wrong:
                print("\n".join("# " + line for line in wrong.splitlines()))


main()
