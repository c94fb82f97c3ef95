"""tracefiles.py HOST THROWER FULL_DISK - traces that cannot be written or read, and what a tracing run leaves of the program.

Tools say in one line which file, where and why, and end with status 2; the traced program never suffers."""
import os
import re
import subprocess
import sys
import tempfile

from harness import BUILD, DEVICE, PRELOAD, SMALL_DEVICE, SPILLWAY, environment, finish, forked_on_a_terminal, program, require, run, same_results, sentence

HOST, THROWER, FULL_DISK = map(os.path.abspath, sys.argv[1:4])
TINY = ["mlp", "--size", "tiny", "--steps", "6"]


def tool(*arguments, folder=None, env=None):
    settings = {**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE, **(env or {})}
    return subprocess.run([SPILLWAY, *arguments], env=environment(settings), cwd=folder, capture_output=True, text=True,
                          timeout=120, check=False)


def refused(done, *said):
    require(done.returncode == 2, f"exit status {done.returncode}", done.stdout, done.stderr)
    require(len(done.stderr.strip().splitlines()) == 1, "not one line", done.stderr)
    for text in said:
        require(text in done.stderr, f"not said: {text}", done.stderr)


def traced(folder):
    path = os.path.join(folder, "whole.trace")
    done = tool("trace", "--output", path, "--", *program(TINY), folder=folder)
    require(done.returncode == 0, done.stderr)
    with open(path, "rb") as file:
        return path, file.read()


def write(folder, data):
    path = os.path.join(folder, "some.trace")
    with open(path, "wb") as file:
        file.write(data)
    return path


@sentence("a file that is no trace is refused with its name and the reason")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for data in (b"", b"hello\n", b"\x7fELF" + bytes(200), os.urandom(5000)):
            path = write(folder, data)
            for command in ("report", "export"):
                refused(tool(command, path), path, "offset ")
        for command in ("report", "export"):
            refused(tool(command, os.path.join(folder, "none")), "No such file")
            refused(tool(command, folder), folder)


@sentence("of a trace that was cut off, what could be read is reported when asked for")
def _():
    with tempfile.TemporaryDirectory() as folder:
        _, data = traced(folder)
        path = write(folder, data[:len(data) * 2 // 3])
        refused(tool("report", path), path, "offset ", "--partial")
        done = tool("report", "--partial", path)
        require(done.returncode == 2 and "operations" in done.stdout, done.returncode, done.stdout, done.stderr)


@sentence("of a trace that was damaged, what could be read is reported when asked for")
def _():
    with tempfile.TemporaryDirectory() as folder:
        _, data = traced(folder)
        middle = len(data) // 2
        path = write(folder, data[:middle] + bytes(byte ^ 0x55 for byte in data[middle:middle + 16]) + data[middle + 16:])
        refused(tool("report", path), path, "offset ", "--partial")
        done = tool("report", "--partial", path)
        require(done.returncode == 2 and "operations" in done.stdout, done.returncode, done.stdout, done.stderr)


@sentence("a trace that cannot be written is told before the program starts")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for output in (os.path.join(folder, "missing", "x.trace"), folder):
            done = tool("trace", "--output", output, "--", "touch", os.path.join(folder, "started"))
            refused(done, output)
            require(not os.path.exists(os.path.join(folder, "started")), "the program was started")
        os.mkfifo(os.path.join(folder, "pipe"))
        refused(tool("trace", "--output", os.path.join(folder, "pipe"), "--", "true"), "pipe")
        os.unlink(os.path.join(folder, "pipe"))
        done = tool("trace", "--output", os.path.join(folder, "t"), "--", "true")
        require(done.returncode == 0 and os.listdir(folder) == [], "a program without CUDA left a file", os.listdir(folder))


@sentence("a summary that cannot be written is told before the program starts")
def _():
    with tempfile.TemporaryDirectory() as folder:
        started = os.path.join(folder, "started")
        for summary in (os.path.join(folder, "missing", "x.json"), folder):
            for command in (["run"], ["trace", "--output", os.path.join(folder, "t")]):
                refused(tool(*command, "--summary", summary, "--", "touch", started), "cannot write the summary", summary)
                require(not os.path.exists(started), "the program was started")
        done = tool("run", "--summary", os.path.join(folder, "s"), "--", "true")
        require(done.returncode == 0 and os.listdir(folder) == [], "a program without CUDA left a file", os.listdir(folder))
        kept = write(folder, b"kept")
        os.symlink(kept, os.path.join(folder, "link"))
        os.symlink(os.path.join(folder, "nothing"), os.path.join(folder, "dangling"))
        for name in ("some.trace", "link", "dangling"):
            done = tool("run", "--summary", os.path.join(folder, name), "--", "true")
            require(done.returncode == 0 and os.path.lexists(os.path.join(folder, name)), name, done.stderr)
        with open(kept, "rb") as file:
            require(file.read() == b"kept", "the question changed the file")


@sentence("a pipe that takes the summary is not closed by asking")
def _():
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            done = tool("run", "--summary", pipe, "--", *program(TINY))
            require(done.returncode == 0, done.stderr)
            require(b"spillway-summary/1" in reader.communicate(timeout=20)[0], "nothing came through the pipe")


@sentence("what a full disk does not take of a report is told with the reason")
def _():
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced(folder)
        for form in ("--html", "--perfetto", "--folded"):
            done = tool("report", form, "/dev/full", path)
            require(done.returncode == 1 and done.stderr == "spillway: /dev/full: No space left on device\n", form, done.returncode,
                    done.stderr)
        for command in (["report", path], ["report", "--json", path], ["export", path], ["diff", path, path], ["diff", "--json", path, path]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([SPILLWAY, *command], env=environment({}), stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
            said = [line for line in done.stderr.splitlines() if "not timed" not in line]
            require(done.returncode == 1 and said == ["spillway: standard output: No space left on device"], command,
                    done.returncode, done.stderr)


@sentence("in a plain preload, cuInit refuses where the trace cannot be written")
def _():
    done = run(TINY, via="preload", env={"SPILLWAY_MODE": "trace", "SPILLWAY_TRACE_FILE": "/nonexistent/x.trace"})
    require(done.status == 3 and "cannot write the trace /nonexistent/x.trace" in done.errors, done.describe())


@sentence("a disk that is full in mid-run is told once, the program goes on, the trace stays readable")
def _():
    plain = run([*TINY[:3], "--steps", "60"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cut.trace")
        done = tool("trace", "--output", path, "--", *program([*TINY[:3], "--steps", "60"]),
                    env={"LD_PRELOAD": FULL_DISK, "FULL_AFTER": "30000"})
        require(done.returncode == 0, done.returncode, done.stderr)
        require(os.path.getsize(path) <= 30000, "the disk was not full")
        lines = [line for line in done.stdout.splitlines() if not re.match(r"(step_ms|peak_bytes) ", line)]
        require(lines == plain.results, "different results")
        require(done.stderr.count("the trace ends here") == 1, done.stderr)
        read = tool("report", path)
        require(read.returncode == 0 and "did not end by itself" in read.stdout, read.stdout, read.stderr)


@sentence("the exit status of the traced program is passed on")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for status in (0, 1, 77):
            done = tool("trace", "--output", os.path.join(folder, "t"), "--", "sh", "-c", f"exit {status}")
            require(done.returncode == status, done.returncode)
        require(tool("trace", "--", "no-such-program").returncode == 127, "not found")


@sentence("C++ that is loaded later throws as without spillway")
def _():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t")
        plain = run([HOST, THROWER])
        require("caught 100 of 100" in plain.output, plain.describe(), plain.output)
        finished = run([HOST, THROWER], options=["--mode", "trace", "--output", path])
        same_results(plain, finished)
        require("libunwind" not in finished.output, "its unwinder has taken the compiler's place", finished.output)
        text = tool("report", "--time-limit=0", path).stdout
        require("4 allocations" in finished.errors, finished.errors, text)


@sentence("the library exports nothing but the driver's names, NCCL's, its own, the one that NVTX asks for and dlsym")
def _():
    names = subprocess.run(["nm", "-D", "--defined-only", PRELOAD], capture_output=True, text=True, check=True).stdout
    strange = [line.split()[-1] for line in names.splitlines() if not re.match(r"cu|nccl|spillway_\w+_v1$", line.split()[-1])]
    require(sorted(strange) == ["InitializeInjectionNvtx2", "dlsym"], "exported as well", strange)


def on_a_terminal(arguments):
    """What a command writes to a terminal that is its stderr."""
    pid, terminal = forked_on_a_terminal()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(SPILLWAY, ["spillway", *arguments], environment({}))
    text = b""
    try:
        while data := os.read(terminal, 65536):
            text += data
    except OSError:  # the other end is closed
        pass
    require(os.waitpid(pid, 0)[1] == 0, text[-300:])
    return text.decode()


@sentence("long work shows how far it is on a terminal, and nothing of that in a pipe")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        path = os.path.join(folder, "long.trace")
        subprocess.run([os.path.join(BUILD, "bench", "trace"), "allocs", "3000000", path], check=True, capture_output=True)
        seen = on_a_terminal(["report", "--json", path])
        shares = [int(share) for share in re.findall(r"reading the trace: ([0-9]+)%", seen)]
        require(len(shares) > 2 and shares == sorted(shares) and shares[-1] <= 100, shares, repr(seen))
        require(seen.endswith("\r\x1b[K"), "the line was not taken away", repr(seen[-40:]))
        piped = subprocess.run([SPILLWAY, "report", "--json", path], env=environment({}), capture_output=True, text=True, check=True)
        require(piped.stderr == "", piped.stderr)


finish()
