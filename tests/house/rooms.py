#!/usr/bin/env python3
"""The rooms of shim/ are closed: a file of a room that includes a header of a higher one does not compile, and one that calls a function of a
higher one does not link with what is linked to find that out (shim/closed.c).

usage: rooms.py BUILD ROOM=FOLDER...        the rooms in their order, the lowest first"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "shim"


def command_of(build, room):
    """How the compiler is called for the first file of the room."""
    for each in json.loads((build / "compile_commands.json").read_text()):
        if each["output"].startswith(f"shim/libspillway-{room}.a.p/"):
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
    beside = [str(build / path) for path in ("planner/libspillway-planner.a", "trace/libspillway-follow.a", "trace/libspillway-trace.a")]
    sanitizers = [word for word in command_of(build, rooms[0])[0] if word.startswith("-fsanitize")]
    whole, group = ["-Wl,--whole-archive", *libraries, "-Wl,--no-whole-archive"], ["-Wl,--start-group", *beside, "-Wl,--end-group"]
    done = subprocess.run(["cc", *sanitizers, str(thing), *whole, *group, "-lzstd", "-pthread", "-ldl", "-lm", "-o", str(thing) + ".out"],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def header_of(folder):
    """The first header that no other library has of that name, as the C library has <aliases.h>."""
    names = sorted(path.name for path in (SOURCE / folder).glob("*.h"))
    return next(name for name in names if not pathlib.Path("/usr/include", name).exists())


def function_of(build, room):
    symbols = subprocess.run(["nm", "--defined-only", str(build / "shim" / f"libspillway-{room}.a")], capture_output=True, text=True, check=True).stdout
    return next(line.split()[2] for line in symbols.splitlines() if " T spw_" in line)


def wrong_with(build, rooms, folders, number, place):
    """What is not as it has to be, in a sentence; None."""
    room, above, thing = rooms[number], rooms[number + 1], place / "thing.o"
    header, function = header_of(folders[above]), function_of(build, above)
    main = "int main(void);\nint main(void)\n{\n    return 0;\n}\n"
    said = compiled(build, room, f'#include "{header_of(folders[room])}"\n{main}', thing) or linked(build, rooms[:number + 1], thing)
    if said:
        return f"{room}: what is right does not compile or link: {said}"
    said = compiled(build, room, f'#include "{header}"\n{main}', thing)
    if not said or f"{header}: No such file" not in said:
        return f"{room}: a file that includes {header} compiles, or fails for another reason: {said}"
    said = compiled(build, room, f"int {function}(void);\nint main(void);\nint main(void)\n{{\n    return {function}();\n}}\n", thing)
    said = said or linked(build, rooms[:number + 1], thing)
    if not said or f"undefined reference to `{function}'" not in said:
        return f"{room}: a file that calls {function}() links, or fails for another reason: {said}"
    return None


def main():
    build, folders = pathlib.Path(sys.argv[1]), dict(told.split("=") for told in sys.argv[2:])
    rooms = list(folders)
    print(f"1..{len(rooms) - 1}")
    with tempfile.TemporaryDirectory() as place:
        for number, room in enumerate(rooms[:-1]):
            wrong = wrong_with(build, rooms, folders, number, pathlib.Path(place))
            print(f"{'not ' if wrong else ''}ok {number + 1} - {room} includes and calls nothing of {rooms[number + 1]}")
            if wrong:
                print("\n".join("# " + line for line in wrong.splitlines()))


main()
