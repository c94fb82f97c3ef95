"""callgrind.py - how many instructions a program spends inside one library, by valgrind's callgrind.

What the library calls in other libraries counts as its own work (locks, memcpy), except what it calls in the libraries
that are named as not its own (the driver). Counting is exact and repeatable: no clock is involved."""
import os
import re
import subprocess
import tempfile

POSITION = re.compile(r"^(\*|[+-]?\d+) ")
NAMED = re.compile(r"^(ob|cob|calls)=(.*)$")


class Names:
    """Callgrind writes a name once, `(3) /path`, and later only `(3)`."""

    def __init__(self):
        self.known = {}

    def read(self, text):
        number, _, name = text.partition(" ")
        if name:
            self.known[number] = name
        return self.known.get(number, text)


def inside(profile, library, not_own):
    """Instructions of `profile`, a callgrind.out file, spent in `library`."""
    total, objects, here, callee, is_call = 0, Names(), "", None, False
    with open(profile, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            named = NAMED.match(line)
            if named and named.group(1) == "ob":
                here = objects.read(named.group(2))
            elif named and named.group(1) == "cob":
                callee = objects.read(named.group(2))
            elif named:
                is_call = True
            elif POSITION.match(line):
                ours = library in here
                target = callee if callee is not None else here
                if ours and (not is_call or not (library in target or any(name in target for name in not_own))):
                    total += int(line.split()[-1])
                if is_call:
                    is_call, callee = False, None
    return total


def count(command, library, not_own=(), env=None):
    """Runs `command` under callgrind, in the environment `env`, and counts the instructions that it spends in `library`."""
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        profile = os.path.join(folder, "callgrind.out")
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--quiet", *command]
        done = subprocess.run(line, env=env, capture_output=True, timeout=300, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
        return inside(profile, library, not_own)


def per_operation(command_for, few, many, library, not_own=(), env=None):
    """Instructions of one operation in steady state: what (many - few) more of them cost, start-up and ends subtracted."""
    costs = [count(command_for(number), library, not_own, env) for number in (few, many)]
    return (costs[1] - costs[0]) / (many - few)
