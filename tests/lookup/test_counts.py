#!/usr/bin/env python3
"""What the library counts is what the device counts by itself: nothing that a program does goes past us."""
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import BUILD  # noqa: E402

DEVICE = Path(os.environ.get("LOOKUP_DEVICE", "nowhere"))
ROUNDS = 5
TOO_LITTLE = "128MiB"  # for a trace to copy something of its own, which measures the link


class Counts(lookup.Case):
    def count(self, program, **more):
        """The device's statistics and ours of one run."""
        if not (DEVICE / "libcuda.so.1").exists():
            self.skipTest("the simulated device is not built")
        stats, summary = self.folder / "stats.json", self.folder / "summary.json"
        env = self.environment(None, SPILLWAY_DRIVER=None, LD_LIBRARY_PATH=str(DEVICE), SIMGPU_STATS=str(stats),
                               SPILLWAY_SUMMARY=str(summary), SIMGPU_MEMORY=TOO_LITTLE, **more)
        done = self.run_program(BUILD / program, ROUNDS, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(stats.read_text()), json.loads(summary.read_text())

    def compare(self, program):
        device, ours = self.count(program)
        self.assertEqual(device["launches"], 4 * ROUNDS)
        for what in ("launches", "allocations", "frees", "sets"):
            self.assertEqual(ours[what], device[what], what)
        kinds = ("copies_h2d", "copies_d2h", "copies_d2d", "copies_other")
        self.assertEqual(sum(ours[k] for k in kinds), sum(c["count"] for c in device["copies"].values()))
        self.assertEqual(sum(ours[k + "_bytes"] for k in kinds), sum(c["bytes"] for c in device["copies"].values()))
        self.assertEqual(ours["escaped_lookups"], 0)

    def test_the_device_counts_what_we_count(self):
        self.compare("counted")

    def test_with_per_thread_default_streams_too(self):
        self.compare("counted-per-thread")


class Watched(lookup.Case):
    """The same against a driver that only writes down who called."""

    def count(self, *command):
        summary = self.folder / "summary.json"
        done = self.run_program(*command, env=self.environment(SPILLWAY_SUMMARY=str(summary)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ours = json.loads(summary.read_text())
        seen = [name.split("_")[0] for name, _ in self.calls()]
        for what, names in {"launches": ["cuLaunchKernel"], "allocations": ["cuMemAlloc"], "frees": ["cuMemFree"],
                            "sets": ["cuMemsetD8Async"], "copies_h2d": ["cuMemcpyHtoDAsync"],
                            "copies_other": ["cuMemcpyAsync"]}.items():
            self.assertEqual(ours[what], sum(seen.count(n) for n in names), what)
        return ours

    def test_in_each_way_of_reaching_the_driver(self):
        for way in ("dlsym", "ask-v1", "ask-v2", "ask-v2-per-thread"):
            ours = self.count(BUILD / "reach", way)
            self.log.unlink()
            self.assertEqual((ours["allocations"], ours["launches"], ours["allocations_bytes"]), (1, 1, 64 << 20), way)
        self.assertEqual(self.count(BUILD / "direct")["launches"], 1)

    def test_with_many_threads(self):
        self.assertEqual(self.count(BUILD / "manners", "threads")["allocations"], 1600)

    def test_a_program_of_the_runtime(self):
        if not (BUILD / "runtime").exists():
            self.skipTest("built without the simulated device and its runtime")
        ours = self.count(BUILD / "runtime")
        self.assertEqual((ours["allocations"], ours["frees"], ours["sets"]), (1, 1, 1))
        self.assertEqual(ours["allocations_bytes"], 4096)


if __name__ == "__main__":
    lookup.main()
