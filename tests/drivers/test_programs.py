#!/usr/bin/env python3
"""Programs with NVIDIA's drivers, without a device: doctor finds nothing that goes past the library, and the CUDA runtimes of many versions say
and end the same with and without it."""
import sys

sys.dont_write_bytecode = True
import drivers  # noqa: E402
import lookup  # noqa: E402
from drivers import PROGRAMS, RUNTIMES, run  # noqa: E402
from lookup import COMMAND  # noqa: E402


class Programs:
    def test_doctor_finds_no_look_up_that_goes_past_us_and_no_name_that_we_lack(self):
        status, said, _ = run(self.DRIVER, False, COMMAND, "doctor")
        version = drivers.version_of(self.DRIVER)
        self.assertEqual(status, 0, said)
        self.assertIn(str(self.DRIVER / "libcuda.so.1"), said)
        self.assertRegex(said, rf"version +{version // 1000}\.{version % 1000 // 10}\b")
        self.assertRegex(said, r"cuInit answers CUDA_ERROR_NO_DEVICE")
        self.assertRegex(said, r"escaped look-ups +0\n")
        self.assertRegex(said, r"not exported by us +none\n")
        self.assertNotIn("PROBLEM", said)
        self.assertEqual("below 12.4" in said, version < lookup.version_of("12.4"))

    def test_each_runtime_says_and_ends_the_same(self):
        if not RUNTIMES:
            self.skipTest("no CUDA runtime could be had")
        for runtime in RUNTIMES:
            plain = run(self.DRIVER, False, PROGRAMS / "driver-runtime", runtime)
            self.assertEqual(plain[0], 0, plain[1])
            self.assertRegex(plain[1], r"cudaMalloc: (35|100) ")  # the driver is too old, or there is no device
            self.assertEqual(run(self.DRIVER, True, PROGRAMS / "driver-runtime", runtime), plain, runtime)
            for options in ([], ["--budget", "1GiB"]):
                under = run(self.DRIVER, False, COMMAND, "run", *options, "--", PROGRAMS / "driver-runtime", runtime)
                self.assertEqual(under, plain, f"{runtime}, {options}")


globals().update(drivers.cases(Programs))
if __name__ == "__main__":
    lookup.main()
