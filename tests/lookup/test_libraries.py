#!/usr/bin/env python3
"""Every look-up that the toolkit's own libraries make ends at the library: none reaches the driver past it."""
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import ASKED, BUILD, COVERED, NAMES, OURS  # noqa: E402

FOLDERS = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
DRIVER = {"libcuda.so.1", "libfake-13.0.so"}


def toolkit():
    for folder in FOLDERS:
        for place in ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            if folder and (Path(folder) / place / "libcudart.so.13").exists():
                return Path(folder) / place
    return None


class Libraries(lookup.Case):
    """Asked of the loader itself, through LD_AUDIT."""

    def look(self, library, least):
        place = toolkit()
        if not place or not (place / library).exists():
            self.skipTest(f"{library} is not on this machine")
        audit = self.folder / "audit.log"
        env = self.environment(LD_AUDIT=str(BUILD / "libaudit.so"), AUDIT_LOG=str(audit))
        env["LD_LIBRARY_PATH"] += f":{place}"
        done = self.run_program(BUILD / "libraries", library, env=env)
        self.assertIn("answered", done.stdout, done.stdout + done.stderr)
        self.judge(audit.read_text().split("\n"), library, least)
        self.assertNotIn("not seen", done.stderr)

    def judge(self, lines, library, least):
        """No name of ours may be found elsewhere, nor answered with a function elsewhere; and there must be look-ups at all."""
        bound = [line.split()[1:] for line in lines if line.startswith("bind ")]
        answered = [line.split()[1:] for line in lines if line.startswith("answer ")]
        theirs = [(name, source, to) for name, source, to in bound if name in NAMES and source != OURS and source not in DRIVER]
        escaped = [b for b in theirs if b[2] != OURS]
        escaped += [a for a in answered if a[0] in ASKED and a[3] != OURS]
        self.assertEqual(escaped, [])
        covered = {name for name, _, _ in theirs if name in COVERED} | {a[0] for a in answered if a[0] in ASKED}
        self.assertGreaterEqual(len(covered), least, f"{library} looked up only {sorted(covered)}")
        self.assert_all_covered_calls_are_ours()

    def test_the_runtime(self):
        self.look("libcudart.so.13", 200)

    def test_cublas(self):
        self.look("libcublas.so.13", 200)

    def test_cublaslt(self):
        self.look("libcublasLt.so.13", 200)

    def test_cudnn(self):
        self.look("libcudnn.so.9", 200)

    def test_cufft(self):
        self.look("libcufft.so.12", 50)

    def test_cusparse(self):
        self.look("libcusparse.so.12", 200)

    def test_cusolver(self):
        self.look("libcusolver.so.12", 200)

    def test_nccl(self):
        self.look("libnccl.so.2", 200)


if __name__ == "__main__":
    lookup.main()
