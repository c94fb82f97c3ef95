#!/usr/bin/env python3
"""The spillway command: what it refuses, how it starts programs, and that help, docs/settings.md and man page are of one table."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import BUILD, COMMAND, OURS, SHIM, SOURCE  # noqa: E402

VARIABLES = re.findall(r'\{\s*"(SPILLWAY_\w+)", "([\w-]+)"', (SOURCE / "shim/base/settings.c").read_text())


class Run(lookup.Case):
    def spillway(self, *arguments, **more):
        env = self.environment(preload=None, **more)
        return self.run_program(COMMAND, *arguments, env=env)

    def show(self, *options, variables=("LD_PRELOAD",), **more):
        program = "import os, sys; print([os.environ.get(v) for v in sys.argv[1:]])"
        done = self.spillway("run", *options, "--", sys.executable, "-S", "-c", program, *variables, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return eval(done.stdout)

    def test_a_program_runs_under_the_library(self):
        done = self.spillway("run", "--mode=trace", "--", BUILD / "reach", "dlsym")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(("cuMemAlloc_v2", OURS), self.calls())

    def test_other_preloads_stay_behind_ours(self):
        self.assertEqual(self.show(LD_PRELOAD="/nowhere.so"), [f"{SHIM}:/nowhere.so"])
        self.assertEqual(self.show(), [SHIM])

    def test_a_program_that_opens_the_driver_by_its_short_name_gets_ours_too(self):
        (self.driver_folder() / "libcuda.so").symlink_to(self.driver_folder() / "libcuda.so.1")
        done = self.spillway("run", "--mode=trace", "--", BUILD / "reach", "dlsym", REACH_NAME="libcuda.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(("cuMemAlloc_v2", OURS), self.calls())
        self.assert_all_covered_calls_are_ours()

    def test_options_become_variables_and_count_more(self):
        seen = self.show("--budget", "8GiB", "--log=info", variables=("SPILLWAY_BUDGET", "SPILLWAY_LOG", "SPILLWAY_SMALL"),
                         SPILLWAY_BUDGET="12Q", SPILLWAY_SMALL="1M")
        self.assertEqual(seen, ["8GiB", "info", "1M"])

    def test_switches_are_set_in_swap_mode_only(self):
        self.assertEqual(self.show(variables=["TF_GPU_ALLOCATOR"]), ["cuda_malloc_async"])
        self.assertEqual(self.show("--mode=off", variables=["TF_GPU_ALLOCATOR"]), [None])

    def test_the_programs_own_options_are_left_alone(self):
        for dashes in ([], ["--"]):
            done = self.spillway("run", "--budget=8G", *dashes, "printf", "%s ", "--budget", "--help", "--")
            self.assertEqual((done.returncode, done.stdout), (0, "--budget --help -- "))

    def test_the_programs_exit_status_is_ours(self):
        self.assertEqual(self.spillway("run", "sh", "-c", "exit 42").returncode, 42)

    def test_a_program_that_is_not_there_answers_as_a_shell_would(self):
        done = self.spillway("run", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stderr)
        self.assertEqual(self.spillway("run", "/dev/null").returncode, 126)

    def test_bad_settings_are_refused_before_the_program_starts(self):
        bad = {"budget": ["12Q", "0", "-1", "150%", "", "8GB ", "99999999999999999999", "1e9", "0x10", "0=8G,0=9G", "64=8G", "8G,"],
               "host-budget": ["0", "lots"], "mode": ["fast", ""], "log": ["loud", "warn:"], "small": ["0", "2T"],
               "driver": ["libcuda.so.1", "/no/such/file"], "summary": ["", "%q"]}
        for option, values in bad.items():
            for value in values:
                done = self.spillway("run", f"--{option}={value}", "--", "touch", self.folder / "started")
                self.assertEqual(done.returncode, 2, f"--{option}={value}: {done.stderr}")
                variable = "SPILLWAY_" + option.upper().replace("-", "_")
                self.assertIn(f"{variable}={value} is refused; accepted: ", done.stderr)
        self.assertFalse((self.folder / "started").exists())

    def test_unknown_variables_and_options_are_refused(self):
        done = self.spillway("run", "true", SPILLWAY_BUGDET="8G")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the nearest is SPILLWAY_BUDGET", done.stderr)
        self.assertEqual(self.spillway("run", "--nonsense", "true").returncode, 2)
        self.assertEqual(self.spillway("run").returncode, 2)
        self.assertEqual(self.spillway("nonsense").returncode, 2)
        self.assertEqual(self.spillway().returncode, 2)

    def test_the_message_is_the_same_as_at_cuinit(self):
        command = self.spillway("run", "true", SPILLWAY_BUDGET="150%").stderr
        preload = self.run_program(BUILD / "manners", "init", 1, env=self.environment(SPILLWAY_BUDGET="150%")).stderr
        self.assertEqual(command, preload)


class Texts(lookup.Case):
    def say(self, *arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True).stdout

    def test_help_and_man_page_have_every_setting(self):
        self.assertGreater(len(VARIABLES), 5)
        for text in (self.say("run", "--help"), self.say("texts", "man", "run").replace("\\-", "-")):
            for variable, option in VARIABLES:
                self.assertIn(variable, text)
                self.assertIn(f"--{option}", text)

    def test_the_page_of_settings_has_the_table(self):
        page = (SOURCE / "docs/settings.md").read_text()
        table = page.split("<!-- settings: begin", 1)[1].split("\n", 1)[1].split("<!-- settings: end", 1)[0]
        self.assertEqual(table, self.say("texts", "settings"))

    def test_version_and_help(self):
        self.assertRegex(self.say("--version"), r"^spillway \d+\.\d+\.\d+\n$")
        self.assertIn("spillway run --budget", self.say("--help"))


class Doctor(lookup.Case):
    def doctor(self, age="", **more):
        return self.run_program(COMMAND, "doctor", env=self.environment(age, preload=None, **more))

    def test_a_driver_is_described(self):
        done = self.doctor()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(str(self.driver_folder() / "libcuda.so.1"), done.stdout)
        self.assertRegex(done.stdout, r"version +13\.0")
        self.assertRegex(done.stdout, r"0 +fake, 16\.0 GiB")
        self.assertRegex(done.stdout, r"escaped look-ups +0")
        self.assertNotIn("PROBLEM", done.stdout)

    def test_names_that_only_the_driver_has_are_listed(self):
        done = self.doctor()
        self.assertRegex(done.stdout, r"not exported by us +cuBrandNew\n")
        for age in ("11.8", "12.2", "12.4", "12.8"):
            self.assertRegex(self.doctor(age).stdout, r"not exported by us +none\n")

    def test_a_driver_without_layouts_is_said_to_be_old(self):
        for age in ("11.8", "12.2"):
            done = self.doctor(age)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("below 12.4", done.stdout)
            self.assertIn("nvidia-driver-550", done.stdout)
        for age in ("12.4", "12.8", "13.0", "13.4"):
            self.assertNotIn("nvidia-driver", self.doctor(age).stdout)

    def test_nothing_goes_past_us_at_any_age(self):
        for age in lookup.AGES:
            done = self.doctor(age)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertRegex(done.stdout, rf"version +{re.escape(age)}\b")
            self.assertRegex(done.stdout, r"escaped look-ups +0")

    def test_a_call_that_goes_past_us_is_a_problem(self):
        done = self.doctor(FAKE_ODD="cuMemAlloc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PROBLEM: cuMemAlloc", done.stdout)

    def test_bad_settings_are_a_problem(self):
        done = self.doctor(SPILLWAY_BUDGET="12Q")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PROBLEM: SPILLWAY_BUDGET=12Q", done.stdout)

    def test_no_driver_is_none(self):
        done = self.doctor(None)
        if "none on this machine" not in done.stdout:
            self.skipTest("this machine has a driver")
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    lookup.main()
