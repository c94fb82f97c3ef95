"""top.py LACKING - a running process tells how it is doing, and leaves nothing behind."""
import fcntl
import glob
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from harness import DEVICE, SMALL_DEVICE, SPILLWAY, environment, finish, forked_on_a_terminal, program, read_json, require, sentence

LACKING = os.path.abspath(sys.argv[1])
LONG = ["gpt", "--size", "small", "--steps", "2000"]
PATIENCE_S = 60  # for what is there at once, unless the machine is busy


def pages(pid="*"):
    return glob.glob(f"/dev/shm/spillway.{os.geteuid()}.{pid}")


def tool(*arguments):
    return subprocess.run([SPILLWAY, *arguments], env=environment({}), capture_output=True, text=True, timeout=20, check=False)


class Running:
    """A program under spillway, until the end of the block."""

    def __init__(self, *options, command=LONG, how="run", **settings):
        self.folder = tempfile.TemporaryDirectory(prefix="spillway-")
        self.summary = os.path.join(self.folder.name, "summary")
        self.process = subprocess.Popen(
            [SPILLWAY, how, *options, "--", *program(command)], cwd=self.folder.name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=environment({**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE, "SPILLWAY_SUMMARY": self.summary, **settings}))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        tool("top", "--once")
        self.folder.cleanup()

    def figures(self):
        done = tool("top", "--once", "--json", str(self.pid))
        require(done.returncode == 0, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def once(self, condition):
        for _ in range(200):
            if pages(self.pid):
                figures = self.figures()
                if condition(figures):
                    return figures
            time.sleep(0.05)
        raise AssertionError("it did not come to that")


@sentence("figures never go back while a program runs, and its summary takes up where the last ones ended")
def _():
    names = ("operations", "slow_operations", "allocations", "served_from_cache", "not_cached", "stalls", "stalled_ns")
    with Running("--budget", "9MiB", command=[*LONG[:-1], "12"]) as running:
        seen = []
        while running.process.poll() is None:
            done = tool("top", "--once", "--json", str(running.pid))
            if done.returncode == 0:
                seen.append(json.loads(done.stdout))
            time.sleep(0.02)
        end = read_json(running.summary)
        require(running.process.returncode == 0 and end, "the program failed")
        require(len(seen) > 3, f"seen {len(seen)} times")
        for before, after in zip(seen, seen[1:]):
            for name in names:
                require(before[name] <= after[name], name, before, after)
        last = seen[-1]
        for name in names[:2] + names[3:]:
            require(last[name] <= end[name], name, last, end)
        require(last["operations"] >= 0.5 * end["operations"], "far behind the program", last, end)
        require(last["stalls"] > 0 and last["moved"]["out_bytes"] > 0 and last["moved"]["in_bytes"] > 0, last)
        require(last["devices"][0]["budget_bytes"] == end["devices"][0]["budget_bytes"] == 9 << 20, last, end)
        require(last["devices"][0]["physical_bytes"] <= 9 << 20, last)
        require(last["devices"][0]["live_bytes_peak"] == end["devices"][0]["live_bytes_peak"], last, end)
        require(last["host"]["limit_bytes"] == end["host"]["limit_bytes"], last, end)
        require(last["mode"] == "swap" and last["command"].endswith("--steps 12"), last)
        require(not pages(running.pid), "the page is still there")


@sentence("while a program stands still, its page is its own and says what its iteration is")
def _():
    with Running("--output", "some.trace", how="trace") as running:
        figures = running.once(lambda f: f["iteration"] and f["iteration"]["number"] > 3)
        require(figures["mode"] == "trace" and figures["iteration"]["step_ns"] > 0, figures)
        require(figures["iteration"]["operations"] > 10, figures)
        require(figures["devices"][0]["live_bytes"] > 0, figures)
        require(os.stat(pages(running.pid)[0]).st_mode & 0o777 == 0o600, "others may read it")
        text = tool("top", "--once", str(running.pid))
        require(text.returncode == 0 and f"process     {running.pid}" in text.stdout, text.stdout, text.stderr)


@sentence("within a budget it says what its iteration is in mode swap+trace, and that it does not look for one otherwise")
def _():
    with Running("--budget", "9MiB", "--mode", "swap+trace", "--output", "some.trace") as running:
        figures = running.once(lambda f: f["iteration"] and f["iteration"]["number"] > 2 and f["iteration"]["step_ns"] > 0)
        require(figures["mode"] == "swap" and figures["iteration"]["operations"] > 10, figures)
        require(figures["moved"]["out_bytes"] > 0, figures)
    with Running("--budget", "9MiB") as running:
        figures = running.once(lambda f: f["operations"] > 1000)
        require(figures["iteration"] is None, figures)


@sentence("what a killed process leaves is taken away by top and by the next process")
def _():
    for cleaner in ("top", "process"):
        with Running("--budget", "9MiB") as running:
            running.once(lambda f: f["operations"] > 0)
            running.process.kill()
            running.process.wait()
            require(pages(running.pid), "nothing was left, so nothing is shown by this")
            if cleaner == "top":
                require(tool("top", "--once").returncode == 0, "top failed")
            else:
                with Running("--budget", "9MiB") as other:
                    other.once(lambda f: True)
            require(not pages(running.pid), f"still there after {cleaner}")


@sentence("a process that is looked at while it makes its page keeps it")
def _():
    with Running(LD_PRELOAD=LACKING, LACKS="time") as running:
        for _ in range(5000):
            if pages(running.pid):
                break
            time.sleep(0.002)
        for _ in range(10):
            require(tool("top", "--once").returncode == 0, "top failed")
        require(pages(running.pid), "top has taken it away")
        time.sleep(0.5)
        running.once(lambda f: f["operations"] > 0)


@sentence("a process that never starts CUDA has no page, and is refused by name like one that is not there")
def _():
    with Running(command=["sleep", "20"]) as running:
        time.sleep(0.3)
        require(not pages(running.pid), "a page without CUDA")
        for arguments, said in (((str(running.pid),), "does not run under spillway"), (("4194303",), "no process 4194303"),
                                (("many",), "accepted: the number of a process"), (("--json",), "needs --once")):
            done = tool("top", *arguments, *(["--once"] if "--json" not in arguments else []))
            require(done.returncode == 2 and said in done.stderr, arguments, done.returncode, done.stderr)


@sentence("a page that is damaged or of another version is refused, and not removed while its process lives")
def _():
    path = f"/dev/shm/spillway.{os.geteuid()}.{os.getpid()}"
    for data in (b"", b"spwstat\0" + bytes(100), b"spwstat\0\x09\0\0\0" + bytes(5000), os.urandom(5000)):
        try:
            with open(path, "wb") as file:
                file.write(data)
            done = tool("top", "--once", str(os.getpid()))
            require(done.returncode == 2 and "another version" in done.stderr, done.stderr)
            require(os.path.exists(path), "it was removed")
        finally:
            os.unlink(path)


class Screen:
    """spillway top on a terminal of its own."""

    def __init__(self, *arguments, size=(24, 100)):
        self.pid, self.terminal = forked_on_a_terminal()
        if self.pid == 0:
            os.execve(SPILLWAY, ["spillway", "top", *arguments], environment({"TERM": "xterm"}))
        self.resize(size)
        self.text = ""

    def resize(self, size):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def read(self, seconds):
        """False: there is nothing more now."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            self.text += os.read(self.terminal, 65536).decode(errors="replace")
            return True
        except OSError:
            return False

    def wait_for(self, text, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while text not in self.text and time.monotonic() < end:
            self.read(0.1)
        require(text in self.text, f"never drawn: {text}", repr(self.text[-2000:]))

    def ended(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.1):
                    pass
                return status
            if not self.read(0.05):
                time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        require(False, "still running", repr(self.text[-600:]))
        return None


@sentence("the screen draws one process or all, follows the terminal's size, and leaves it as it was by q or a signal")
def _():
    with Running("--budget", "9MiB") as running:
        running.once(lambda f: f["operations"] > 0)
        one = Screen(str(running.pid))
        one.wait_for(f"process {running.pid}")
        one.wait_for("refused")
        for size in ((5, 20), (1, 1), (50, 200)):
            one.resize(size)
            time.sleep(0.6)
        one.text = ""
        one.wait_for("device 0")
        os.write(one.terminal, b"q")
        require(one.ended() == 0, "q did not end it well")
        require("\x1b[?1049l" in one.text, "the terminal was not restored", repr(one.text[-300:]))

        everything = Screen()
        everything.wait_for(str(running.pid))
        os.kill(everything.pid, signal.SIGTERM)
        require(os.WTERMSIG(everything.ended()) == signal.SIGTERM, "not ended by the signal")
        require("\x1b[?1049l" in everything.text, "the terminal was not restored", repr(everything.text[-300:]))


finish()
