"""packaged.py - what the tests of packages share: where they are, a bare Debian root, programs run in it."""
import os
import shutil
import subprocess
import tempfile

from harness import BUILD, DEVICE, WORKLOADS, Skipped, require

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PACKAGES = os.environ.get("SPILLWAY_PACKAGES", os.path.join(SOURCE, "build-wheel"))
BARE = os.path.join(PACKAGES, "bare")


def package(folder, ending, maker):
    """The newest package of the kind that was made here."""
    where = os.path.join(PACKAGES, folder)
    found = [os.path.join(where, name) for name in os.listdir(where) if name.endswith(ending)] if os.path.isdir(where) else []
    if not found:
        raise Skipped(f"there is no *{ending} in {where}: ./dev {maker} makes one")
    return max(found, key=os.path.getmtime)


def command(*words, **options):
    """Runs it to its end; what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=options.pop("timeout", 120),
                          stdin=subprocess.DEVNULL, **options)
    require(done.returncode == 0, words, f"status {done.returncode}", done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


class Root:
    """A copy of the bare root, of which nothing stays; programs in it have no network, and see their own processes alone."""

    def __enter__(self):
        if not os.path.exists(os.path.join(BARE, "complete")):
            raise Skipped(f"there is no bare Debian root in {BARE}: packaging/bare-root makes one, as root")
        if os.getuid() != 0:
            raise Skipped("only root can use a bare Debian root")
        self.folder = tempfile.mkdtemp(prefix="bare-", dir=PACKAGES)
        command("cp", "-a", "--reflink=auto", os.path.join(BARE, "."), self.folder)
        for name in ("gpt", "libcuda.so.1", "libcudart.so.13"):
            shutil.copy(os.path.join(WORKLOADS if name == "gpt" else DEVICE, name), os.path.join(self.folder, "root", name))
        return self

    def __exit__(self, *exception):
        shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, path):
        shutil.copy(path, os.path.join(self.folder, "root"))
        return os.path.join("/root", os.path.basename(path))

    def run(self, script, timeout=200):
        """The status and all that a script of the shell says, run in the root from /root."""
        inside = 'mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm" 2>/dev/null; exec chroot "$0" /bin/sh -c "cd /root; $1"'
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8", "PIP_NO_CACHE_DIR": "1"}
        done = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", inside, self.folder, script],
                              capture_output=True, text=True, check=False, timeout=timeout, env=environment, stdin=subprocess.DEVNULL)
        if "unshare failed" in done.stderr or "mount:" in done.stderr:
            raise Skipped(f"this container makes no name spaces: {done.stderr.strip()[:200]}")
        return done.returncode, done.stdout + done.stderr

    def succeeds(self, script, **options):
        status, said = self.run(script, **options)
        require(status == 0, script, f"status {status}", said[-3000:])
        return said

    def files(self):
        """All files, but what Debian's own programs leave behind."""
        found = set()
        for where, folders, names in os.walk(self.folder):
            place = os.path.relpath(where, self.folder)
            if place in ("root", "proc", "tmp") or place.startswith(("var/lib/dpkg", "var/cache", "var/log", "var/lib/apt", "etc")):
                folders[:] = []
                continue
            folders[:] = [name for name in folders if name != "__pycache__"]
            found.update(os.path.join(place, name) for name in names)
        return found


# The simulated device on the library path, small as in the other tests.
DEVICE_SETTINGS = "LD_LIBRARY_PATH=/root SIMGPU_GRANULARITY=64KiB SIMGPU_MEMORY=256MiB"
GPT = "/root/gpt --size small --steps 3"


def demo(root, spillway):
    """The demo program keeps within 60 % of what it needs, with the same bits."""
    plain = root.succeeds(f"{DEVICE_SETTINGS} {GPT}")
    peak = next(line for line in plain.splitlines() if line.startswith("peak_bytes"))
    budget = int(peak.split()[1]) * 6 // 10
    within = root.succeeds(f"{DEVICE_SETTINGS} {spillway} run --budget {budget} --summary /root/summary -- {GPT}")
    results = [[line for line in text.splitlines() if line.startswith(("loss", "parameters", "step "))] for text in (plain, within)]
    require(results[0] and results[0] == results[1], plain, within)
    require("moved" in within and "nothing moved" not in within, within)
