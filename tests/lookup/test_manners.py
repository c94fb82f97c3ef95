#!/usr/bin/env python3
"""A guest's manners: a program that forks, starts others, has other preloads, or knows no CUDA, behaves as without us."""
import ctypes.util
import os
import shutil
import sys

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import BUILD, COMMAND, OURS, SHIM  # noqa: E402
from test_libraries import toolkit  # noqa: E402

SWITCHES = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync",
            "XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TF_GPU_ALLOCATOR": "cuda_malloc_async"}


class Driver(lookup.Case):
    def manners(self, what, *arguments, age="", rc=0, **more):
        done = self.run_program(BUILD / "manners", what, *arguments, env=self.environment(age, **more))
        self.assertEqual(done.returncode, rc, done.stdout + done.stderr)
        return done

    def test_forwarded_calls_keep_their_arguments(self):
        self.manners("arguments")

    def test_a_name_that_the_driver_lacks_answers_not_found(self):
        self.manners("missing")

    def test_lookups_are_answered_to_who_asked(self):
        for preload in (None, SHIM):
            self.manners("lookups", preload=preload)

    def test_children_forked_before_and_after_the_start_pass(self):
        self.manners("fork")

    # promise: good-guest
    def test_a_forked_child_is_left_to_the_driver(self):
        done = self.manners("child", SPILLWAY_MODE="swap")
        self.assertEqual(done.stderr, "")
        called = [name for name, _ in self.calls()]
        self.assertEqual(called[called.index("cuProfilerStart") + 1:], ["cuMemAlloc_v2"])

    def test_sixteen_threads_may_start_at_once(self):
        self.manners("threads")

    def test_a_driver_that_calls_back_while_it_starts_does_not_deadlock(self):
        """nvshare#27, ai-dynamo/snapshot#326."""
        self.manners("init", 0, FAKE_CALLBACK="1")
        self.assertIn(("cuDeviceGetCount", OURS), self.calls(), "it called us back")

    def test_a_driver_that_calls_back_while_it_is_loaded_does_not_either(self):
        done = self.manners("init", 0, FAKE_CONSTRUCTOR="1")
        self.assertIn("version 100", done.stdout, "there is no driver yet")

    def test_a_library_may_start_cuda_while_it_is_loaded_and_another_thread_does_so_too(self):
        self.manners("loading", BUILD / "libstarter.so")

    def test_the_drivers_own_answer_to_the_start_is_passed_on(self):
        for answer in (100, 3, 999):
            self.manners("init", answer, FAKE_INIT=str(answer))

    def test_a_driver_too_old_to_keep_a_budget_stops_who_asked_for_one_and_nobody_else(self):
        for budget, answer, said in (("8G", 801, 1), ("0=60%", 801, 1), (None, 0, 0)):
            done = self.manners("init", answer, age="10.1", SPILLWAY_MODE=None, SPILLWAY_BUDGET=budget)
            self.assertEqual(done.stderr.count("too old to keep a budget (it has no cuMemCreate"), said)
            self.assertEqual(len(done.stderr.splitlines()), said)

    def test_a_driver_of_any_age_starts(self):
        for age in lookup.AGES:
            self.manners("init", 0, age=age)


class Settings(lookup.Case):
    def refused(self, said, **more):
        done = self.run_program(BUILD / "manners", "init", 1, env=self.environment(**more))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stderr.count("spillway:"), 1, "said once")
        self.assertNotIn("cuInit", [name for name, _ in self.calls()], "the driver is not started")

    def test_a_bad_value_is_refused_where_cuda_starts(self):
        self.refused("SPILLWAY_BUDGET=12Q is refused; accepted: bytes such as", SPILLWAY_BUDGET="12Q")

    def test_an_unknown_variable_is_refused_with_the_nearest_name(self):
        self.refused("SPILLWAY_BUGDET=8G is not a setting; the nearest is SPILLWAY_BUDGET", SPILLWAY_BUGDET="8G")

    def test_mode_off_passes_everything(self):
        done = self.run_program(BUILD / "reach", "dlsym", env=self.environment(SPILLWAY_MODE="off"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_driver_that_cannot_be_used_is_named(self):
        done = self.run_program(BUILD / "reach", "dlsym", env=self.environment(SPILLWAY_DRIVER="/dev/null"))
        self.assertIn("SPILLWAY_DRIVER=/dev/null cannot be used", done.stderr)

    def test_a_driver_that_is_broken_is_told_with_the_reason(self):
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "libcuda.so.1").write_text("no library")
        done = self.run_program(BUILD / "reach", "dlsym", env=self.environment(LD_LIBRARY_PATH=str(broken)))
        if "result 0" in done.stdout:
            self.skipTest("this machine has a driver")
        self.assertIn("spillway: the driver cannot be opened: ", done.stderr)
        done = self.run_program(BUILD / "reach", "dlsym",
                                env=self.environment(LD_LIBRARY_PATH=f"{broken}:{self.driver_folder()}"))
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("cannot be opened", done.stderr)

    def test_the_log_can_go_to_a_file_and_be_silenced(self):
        file = self.folder / "log"
        done = self.run_program(BUILD / "manners", "init", 1,
                                env=self.environment(SPILLWAY_BUDGET="-1", SPILLWAY_LOG=f"warn:{file}"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("SPILLWAY_BUDGET=-1", file.read_text())
        done = self.run_program(BUILD / "manners", "init", 1, env=self.environment(SPILLWAY_BUDGET="-1", SPILLWAY_LOG="quiet"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class NoDriver(lookup.Case):
    def test_the_driver_answers_that_there_is_no_device(self):
        done = self.run_program(BUILD / "reach", "dlsym", env=self.environment(None, SPILLWAY_DRIVER=None))
        if "result 0" in done.stdout:
            self.skipTest("this machine has a driver")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("result 100", done.stdout)

    def test_messages_can_still_be_had(self):
        done = self.run_program(BUILD / "manners", "init", 100, env=self.environment(
            None, LD_LIBRARY_PATH=str(self.driver_folder("13.0")), SPILLWAY_DRIVER=str(self.folder / "none")))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_runtime_answers_as_without_us(self):
        """PyTorch and JAX on a machine without a driver: the same error, the same version 0."""
        place = toolkit()
        if not place:
            self.skipTest("the toolkit's runtime is not on this machine")
        program = ("import ctypes; r = ctypes.CDLL('libcudart.so.13'); n = ctypes.c_int(-1); "
                   "print(r.cudaGetDeviceCount(ctypes.byref(n)), n.value, r.cudaDriverGetVersion(ctypes.byref(n)), n.value, "
                   "r.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 64))")
        said = []
        for preload in (None, SHIM):
            env = self.environment(None, preload=preload, LD_LIBRARY_PATH=str(place), SPILLWAY_DRIVER=None)
            said.append(self.run_program(sys.executable, "-c", program, env=env).stdout)
        self.assertEqual(said[0], said[1])

    def test_an_old_driver_makes_the_runtime_say_the_same_too(self):
        place = toolkit()
        if not place:
            self.skipTest("the toolkit's runtime is not on this machine")
        program = ("import ctypes; r = ctypes.CDLL('libcudart.so.13'); n = ctypes.c_int(-1); "
                   "print(r.cudaGetDeviceCount(ctypes.byref(n)), n.value, r.cudaDriverGetVersion(ctypes.byref(n)), n.value)")
        said = []
        for preload in (None, SHIM):
            env = self.environment("11.8", preload=preload)
            env["LD_LIBRARY_PATH"] += f":{place}"
            said.append(self.run_program(sys.executable, "-c", program, env=env).stdout)
        self.assertEqual(said[0], said[1])


class Guest(lookup.Case):
    PYTHON = (sys.executable, "-S", "-c")

    def swap(self, **more):
        return self.environment(SPILLWAY_MODE=None, **more)

    def test_frameworks_switches_are_set_before_main(self):
        done = self.run_program(*self.PYTHON, "import os; print(dict(os.environ))", env=self.swap())
        seen = eval(done.stdout)
        self.assertEqual({k: seen.get(k) for k in SWITCHES}, SWITCHES)

    def test_what_the_user_has_set_stays(self):
        program = "import os; print(os.environ.get('PYTORCH_ALLOC_CONF'), os.environ['PYTORCH_CUDA_ALLOC_CONF'], " \
                  "os.environ['TF_GPU_ALLOCATOR'])"
        env = self.swap(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64", TF_GPU_ALLOCATOR="mine")
        self.assertEqual(self.run_program(*self.PYTHON, program, env=env).stdout, "None max_split_size_mb:64 mine\n")

    def test_tracing_sees_tensors_as_moving_them_would(self):
        program = "import os; print(len([k for k in os.environ if k.startswith(('PYTORCH_', 'XLA_', 'TF_GPU'))]))"
        said = [self.run_program(*self.PYTHON, program, env=self.environment(SPILLWAY_MODE=mode)).stdout
                for mode in ("swap", "trace", "off")]
        self.assertEqual(said[0], said[1])
        self.assertNotEqual(said[0], "0\n")
        self.assertEqual(said[2], "0\n", "mode off sets nothing")

    # promise: good-guest
    def test_a_program_without_cuda_gets_no_thread_no_file_no_word(self):
        program = ("import os; fds = sorted(os.listdir('/proc/self/fd'))[:-1]; maps = open('/proc/self/maps').read(); "
                   "print(fds, len(os.listdir('/proc/self/task')), 'libfake' in maps)")
        done = [self.run_program(*self.PYTHON, program, env=self.environment(preload=p)) for p in (None, SHIM)]
        self.assertEqual(done[0].stdout, done[1].stdout)
        self.assertEqual(done[1].stderr, "")
        self.assertFalse(self.log.exists(), "the driver was not touched")

    def test_programs_that_it_starts_run_under_the_library_too(self):
        done = self.run_program("sh", "-c", f"{BUILD}/reach dlsym && exec {BUILD}/reach ask-v2", env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([c for n, c in self.calls() if n == "cuMemAlloc_v2"], [OURS, OURS])

    def test_beside_jemalloc(self):
        jemalloc = next((p for p in ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib/libjemalloc.so.2",
                                     ctypes.util.find_library("jemalloc") or "") if p and os.path.exists(p)), None)
        if not jemalloc:
            self.skipTest("libjemalloc.so.2 is not on this machine")
        for preload in (f"{jemalloc}:{SHIM}", f"{SHIM}:{jemalloc}"):
            done = self.run_program(BUILD / "manners", "threads", env=self.environment(preload=preload))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_conflict_with_what_the_user_has_set_is_said_once(self):
        wrong = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "XLA_PYTHON_CLIENT_PREALLOCATE": "true", "TF_GPU_ALLOCATOR": "bfc"}
        refused = self.swap(**wrong, SPILLWAY_BUDGET="12Q")
        self.assertNotIn("expandable", self.run_program(BUILD / "manners", "init", 1, env=refused).stderr)
        command = self.swap(preload=None, **wrong, FAKE_INIT="100")
        for env, start in ((self.swap(**wrong, FAKE_INIT="100"), ()), (command, (COMMAND, "run", "--"))):
            said = self.run_program(*start, BUILD / "manners", "init", 100, env=env).stderr.splitlines()
            self.assertEqual([line.split(":")[1] for line in said], [f" {name}={value.split(':')[0]}" for name, value in wrong.items()])
            self.assertTrue(all(line.removesuffix(" (see troubleshooting: allocator-hides-tensors)").endswith(" or unset it") for line in said), said)
            for ranks, lines in (({"RANK": "0", "LOCAL_RANK": "0"}, said), ({"RANK": "1"}, []), ({"SLURM_PROCID": "2"}, [])):
                done = self.run_program(*start, BUILD / "manners", "init", 100, env={**env, **ranks})
                self.assertEqual(done.stderr.splitlines(), lines, ranks)

    def test_doing_nothing_costs_less_than_two_milliseconds_more(self):
        instructions = [self.instructions(self.swap(preload=p)) for p in (None, SHIM)]
        if None in instructions:
            self.skipTest("valgrind is not on this machine")
        # 2 ms are some 6 million instructions at 3 GHz and one instruction per cycle.
        self.assertLess(instructions[1] - instructions[0], 6_000_000)

    def instructions(self, env):
        """Instructions of `true` from the first one in the loader to the last, as callgrind counts them."""
        if not shutil.which("valgrind"):
            return None
        out = self.folder / "callgrind.out"
        done = self.run_program("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "/bin/true", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(next(line for line in out.read_text().split("\n") if line.startswith(("summary:", "totals:"))).split()[1])


if __name__ == "__main__":
    lookup.main()
