#!/usr/bin/env python3
"""No two files of planner/ and shim/ need each other, be it by way of others, but for the modules that are stated here; and no file needs one
of a higher folder or room.

usage: circles.py BUILD ROOM=FOLDER... --planner FOLDER...        the rooms and folders in their order, the lowest first

A file is NAME.c with NAME.h. It needs another where its object uses a function or variable that the other one's object defines (nm), where
it includes the other one's header, and where its header declares what the other one defines. A header without a NAME.c is the face of several files of its folder, which it needs not."""
import collections
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# A prototype or an extern variable, which begin in the first column; an inline function is no declaration of another file's.
DECLARED = re.compile(r"^(?!typedef|static|#|return|(?:struct|enum|union) \w+;)[A-Za-z_][^;{}()#=]*?\b(spw_\w+)(?:\([^;{}]*\)|\[[^;{}]*\])?[^;{}()=]*;", re.MULTILINE)
OF_THE_LOADER = {"dlsym"}  # whoever asks for it means the loader's; ours answers the program (lookups.c)

# Several files that are one thing, with one header that others include.
MODULES = [
    # the records of streams: an operation's number, the marks behind it, gates and its uses are told of each other; stream_table.h is their inside
    "stream/gates stream/marks stream/stream_table stream/streams stream/uses",
    # physical memory in pieces: what is taken from the pool is cut and joined, and goes back there; phys_pool_parts.h is their inside
    "memory/phys_pool memory/phys_pool_parts memory/remake",
    # exported symbols: each opens the driver, which is told of each that it has
    "entry/api entry/edge entry/life entry/open entry/resolve",
    "entry/forward entry/forward.S",  # generated symbols, and what they jump to
    # the recorder, under one lock: a record may define what it names, be the mark of an iteration and be timed; recorder_parts.h says where
    # its parts meet
    "recorder/definitions recorder/iteration_finder recorder/nvtx recorder/recorder recorder/recorder_memory recorder/recorder_touches",
    # the detector: its parts lead each other on, over one state (detector.h)
    "planner/detect/boundary planner/detect/detector planner/detect/follow planner/detect/history planner/detect/iteration planner/detect/judge "
    "planner/detect/merge planner/detect/period planner/detect/remembered planner/detect/search planner/detect/shape",
    # a course, which has one face and is made, learned and planned with in files of their own; course_lives.h and course_make.h are their inside
    "planner/course/course planner/course/course_actions planner/course/course_graph planner/course/course_guards planner/course/course_keep "
    "planner/course/course_learn planner/course/course_lives planner/course/course_make planner/course/course_replays",
    "planner/course/cursor planner/course/cursor_log planner/course/cursor_tell",  # the place in a course, with what it has met
    # the composer goes along its last schedule and back; compose_parts.h is their inside
    "planner/search/compose planner/search/compose_along planner/search/compose_parts planner/search/compose_room",
    "planner/search/cover planner/search/cover_choose planner/search/cover_parts",         # cover_parts.h is the inside of cover.h
    "planner/search/improve planner/search/improve_moves planner/search/improve_parts",    # improve_parts.h is the inside of improve.h
    # a graph as a chain: cut into stages, which its tensors are measured by; linear_parts.h is their inside
    "planner/stages/linear planner/stages/linear_parts planner/stages/linear_sizes planner/stages/parts planner/stages/turn",
    "planner/planners/auto planner/planners/planners",  # the table of planners has the default one, which asks all others in it
]


# A room of shim/, or a folder of planner/: its library, its folder, and what stands before its files' names where they are included.
Room = collections.namedtuple("Room", "library folder prefix")


def symbols(library):
    """(file, letter, name) of all that the objects of a library define or use."""
    listing = subprocess.run(["nm", "-A", str(library)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        *_, letter, name = line.split()
        file = re.search(r"([^/:]+)\.o:", line).group(1)
        yield file.removesuffix(".c").removeprefix("meson-generated_.._"), letter, name


def room_of(file):
    return file.rpartition("/")[0]


def files_of(rooms):
    """(file, what is above its room's folder, what it is included as, its path)"""
    for room, each in rooms.items():
        for path in sorted((SOURCE / each.folder).glob("*.[ch]")):
            yield f"{room}/{path.stem}", each.folder.partition("/")[0], each.prefix + path.name, path


def headers_of(rooms, defined):
    """(file, other, name) where a file includes a header of another, or declares in its own what another defines."""
    homes = collections.defaultdict(dict)  # what is included -> by the part that has it: the file
    for file, part, name, _ in files_of(rooms):
        homes[name][part] = file
    for file, part, _, path in files_of(rooms):
        text = COMMENT.sub("", path.read_text())
        found = ((homes[header], header) for header in INCLUDE.findall(text) if header in homes)
        yield from ((file, where.get(part) or next(iter(where.values())), header) for where, header in found)
        if path.suffix == ".h":
            is_face = not path.with_suffix(".c").exists()
            declared = ((defined[name], name) for name in DECLARED.findall(text) if name in defined)
            yield from ((file, other, name) for other, name in declared if not is_face or room_of(other) != room_of(file))


def uses_of(build, rooms):
    """file -> {file that it needs: names}, by ROOM/NAME."""
    defined, used = {}, collections.defaultdict(set)
    for room, each in rooms.items():
        for file, letter, name in symbols(build / each.library):
            file = f"{room}/{file.removeprefix(pathlib.Path(each.folder).name + '_')}"
            if letter in "TDBRVWC":
                defined[name] = file
            elif letter == "U" and name not in OF_THE_LOADER:
                used[file].add(name)
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for file, names in used.items():
        for name in names:
            if defined.get(name, file) != file:
                uses[file][defined[name]].add(name)
    for file, other, name in headers_of(rooms, defined):
        if other != file:
            uses[file][other].add(name)
    return uses


def reached_from(file, uses):
    seen, ahead = set(), [file]
    while ahead:
        for other in uses.get(ahead.pop(), ()):
            if other not in seen:
                seen.add(other)
                ahead.append(other)
    return seen


def circles(uses):
    """Sets of files that all reach each other."""
    reached = {file: reached_from(file, uses) for file in list(uses)}
    found = {frozenset(other for other in there if file in reached.get(other, ())) for file, there in reached.items() if file in there}
    return sorted(found, key=sorted)


def main():
    build, folders = pathlib.Path(sys.argv[1]), " ".join(sys.argv[2:]).split("--")
    planner, shim, tools = (next(told.split()[1:] for told in folders if told.startswith(part)) for part in ("planner", "shim", "tools"))
    rooms = {f"planner/{name}": Room(f"planner/libspillway-planner-{name}.a", f"planner/{name}", f"{name}/") for name in planner}
    rooms.update({name: Room(f"shim/libspillway-{name}.a", f"shim/{name}", "") for name in shim})
    rooms.update({f"tools/{name}": Room(f"tools/libspillway-tools-{name}.a", f"tools/{name}", "") for name in tools})
    uses = uses_of(build, rooms)
    found = circles(uses)
    stated = [frozenset(module.split()) for module in MODULES]
    bad = [circle for circle in found if circle not in stated]
    gone = [module for module in stated if module not in found]
    rank = {room: number for number, room in enumerate(rooms)}
    upward = [(file, other) for file in uses for other in uses[file] if rank[room_of(file)] < rank[room_of(other)]]
    print("1..4")
    print(("not " if bad else "") + "ok 1 - no files need each other but those of a module")
    for circle in bad:
        print("# circle: " + " ".join(sorted(circle)))
        for file in sorted(circle):
            for other in sorted(circle & set(uses[file])):
                print(f"#     {file} -> {other}: {', '.join(sorted(uses[file][other])[:6])}")
    print(("not " if gone else "") + "ok 2 - each module that is stated is one")
    for module in gone:
        print("# no circle: " + " ".join(sorted(module)))
    print(("not " if upward else "") + "ok 3 - no file needs one of a higher folder, or declares what one defines")
    for file, other in sorted(upward):
        print(f"# {file} -> {other}: {', '.join(sorted(uses[file][other])[:6])}")
    many = len(uses) > 100 and circles({"a": {"b": 1}, "b": {"c": 1}, "c": {"b": 1}}) == [frozenset("bc")] and DECLARED.findall(
        "extern int spw_a[2] SPW_OURS;\nint spw_b(int *c);\nstatic inline int spw_d(void)\n{\n    return spw_b(0);\n}\n") == ["spw_a", "spw_b"]
    print(("" if many else "not ") + f"ok 4 - circles are found where they are\n# {len(uses)} files use others")
    return 1 if bad or gone or upward or not many else 0


sys.exit(main())
