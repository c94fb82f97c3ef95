#!/usr/bin/env python3
"""Whichever way a program reaches the driver, and however old the driver is, its calls come through the library."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import BUILD, COVERED, NAMES, OURS, SHIM, SOURCE  # noqa: E402


class Ways(lookup.Case):
    def reach(self, way, *arguments, age="", launch="cuLaunchKernel", **more):
        done = self.run_program(BUILD / "reach", way, *arguments, env=self.environment(age, **more))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("status of", done.stdout)
        self.assert_reached(launch)
        return done.stdout

    def assert_reached(self, launch="cuLaunchKernel"):
        self.assertIn(("cuMemAlloc_v2", OURS), self.calls())
        self.assertIn((launch, OURS), self.calls())
        self.assert_all_covered_calls_are_ours()

    def test_a_program_that_looks_up_each_name(self):
        self.reach("dlsym")

    def test_a_program_that_asks_in_the_first_form(self):
        self.reach("ask-v1", 11030)

    def test_a_program_that_asks_in_the_second_form(self):
        self.reach("ask-v2")

    def test_a_program_with_per_thread_default_streams_gets_those_forms(self):
        said = self.reach("ask-v2-per-thread", launch="cuLaunchKernel_ptsz")
        self.assertIn(f"cuLaunchKernel cuLaunchKernel_ptsz {OURS}", said)

    def test_a_program_linked_against_the_driver(self):
        done = self.run_program(BUILD / "direct", env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assert_reached()

    def test_a_library_that_a_program_opens(self):
        self.reach("library", BUILD / "libdirect.so")

    def test_a_library_that_prefers_what_it_was_linked_with(self):
        """RTLD_DEEPBIND: its own dependencies come before what is preloaded, but libcuda.so.1 is us already."""
        self.reach("deepbind", BUILD / "libdirect.so")

    def run_runtime(self, name):
        if not (BUILD / name).exists():
            self.skipTest("built without the simulated device and its runtime")
        done = self.run_program(BUILD / name, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(("cuMemAlloc_v2", OURS), self.calls())
        self.assert_all_covered_calls_are_ours()
        return {name for name, _ in self.calls()}

    def test_a_program_of_the_shared_runtime(self):
        self.assertFalse([n for n in self.run_runtime("runtime") if n.endswith(("_ptds", "_ptsz"))])

    def test_a_program_of_the_shared_runtime_with_per_thread_default_streams(self):
        called = self.run_runtime("runtime-per-thread")
        self.assertTrue([n for n in called if n.startswith("cuMemset") and n.endswith("_ptsz")], called)
        self.assertTrue([n for n in called if n.startswith("cuMemcpy") and n.endswith("_ptsz")], called)

    def test_python_through_ctypes(self):
        program = ("import ctypes; d = ctypes.CDLL('libcuda.so.1'); p = ctypes.c_ulonglong(); d.cuInit(0); "
                   "d.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096)); d.cuLaunchKernel(*[None] * 11)")
        self.assertEqual(self.run_program(sys.executable, "-c", program, env=self.environment()).returncode, 0)
        self.assert_reached()

    def test_the_driver_can_be_named(self):
        self.reach("dlsym", age=None, SPILLWAY_DRIVER=str(self.driver_folder() / "libcuda.so.1"))

    def test_the_toolkits_stub_is_not_taken_for_the_driver(self):
        """Here a driver that has no cuLibraryLoadData stands for the stub."""
        stubs = self.folder / "stubs"
        stubs.mkdir()
        (stubs / "libcuda.so.1").write_bytes((BUILD / "libfake-11.8.so").read_bytes())
        done = self.run_program(BUILD / "reach", "ask", 12000, 0, "cuLibraryLoadData",
                                env=self.environment(LD_LIBRARY_PATH=f"{stubs}:{self.driver_folder()}"))
        self.assertEqual(done.stdout, f"cuLibraryLoadData cuLibraryLoadData {OURS}\n")

    def test_the_library_never_takes_itself_for_the_driver(self):
        own = self.folder / "own"
        own.mkdir()
        (own / "libcuda.so.1").symlink_to(SHIM)
        self.reach("dlsym", LD_LIBRARY_PATH=f"{own}:{self.driver_folder()}")


class Ages(lookup.Case):
    """The same with drivers that lack what newer ones brought."""

    def test_each_way_with_a_driver_of_any_age(self):
        for age in lookup.AGES:
            for way in ("dlsym", "ask-v1", "ask-v2", "ask-v2-per-thread"):
                with self.subTest(age=age, way=way):
                    self.log.unlink(missing_ok=True)
                    launch = "cuLaunchKernel_ptsz" if way == "ask-v2-per-thread" else "cuLaunchKernel"
                    done = self.run_program(BUILD / "reach", way, lookup.version_of(age), env=self.environment(age))
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertNotIn("status of", done.stdout)
                    self.assertIn(("cuMemAlloc_v2", OURS), self.calls())
                    self.assertIn((launch, OURS), self.calls())
                    self.assert_all_covered_calls_are_ours()

    def test_the_second_form_works_with_an_11_8_driver_too(self):
        """The program would not have found it without us; it gets the first one's answers, whatever version it asks for."""
        done = self.run_program(BUILD / "reach", "ask-v2", env=self.environment("11.8"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(("cuGetProcAddress", OURS), self.calls())
        self.assert_all_covered_calls_are_ours()


class Variants(lookup.Case):
    """Which variant of a call a program gets is the driver's choice, not ours (HAMi-core#57, #320; sglang#23136)."""

    def ask(self, version, flags, name, age="", **more):
        done = self.run_program(BUILD / "reach", "ask", version, flags, name, env=self.environment(age, **more))
        return done.stdout.split()

    def assert_answer(self, version, flags, name, symbol, **more):
        self.assertEqual(self.ask(version, flags, name, **more), [name, symbol, OURS])

    def test_batch_copies_keep_the_signature_of_the_version_asked_for(self):
        self.assert_answer(12080, 0, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync")
        self.assert_answer(13000, 0, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2")
        self.assert_answer(12080, 2, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_ptsz")
        self.assert_answer(13000, 2, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2_ptsz")

    def test_an_older_version_gets_the_older_variant(self):
        self.assert_answer(8000, 0, "cuMemPrefetchAsync", "cuMemPrefetchAsync")
        self.assert_answer(12020, 0, "cuMemPrefetchAsync", "cuMemPrefetchAsync_v2")
        self.assert_answer(10000, 0, "cuGraphInstantiate", "cuGraphInstantiate")
        self.assert_answer(11000, 0, "cuGraphInstantiate", "cuGraphInstantiate_v2")
        self.assert_answer(12000, 0, "cuGraphInstantiate", "cuGraphInstantiate_v2")  # the headers of 12.0 mean another one
        self.assert_answer(2000, 0, "cuMemAlloc", "cuMemAlloc")
        self.assert_answer(3020, 0, "cuMemAlloc", "cuMemAlloc_v2")

    def test_asking_for_the_asking_gives_ours_in_both_forms(self):
        self.assert_answer(11030, 0, "cuGetProcAddress", "cuGetProcAddress")
        self.assert_answer(12000, 0, "cuGetProcAddress", "cuGetProcAddress_v2")

    def test_asking_a_driver_before_12_0_for_the_second_form_is_no_alarm(self):
        """What it is answered with is ours, not a function of the driver that is not known."""
        self.assert_answer(12000, 0, "cuGetProcAddress", "cuGetProcAddress_v2", age="11.8")
        self.assertEqual(self.said, "")

    def test_per_thread_forms_of_complete_calls_too(self):
        self.assert_answer(13000, 2, "cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds")
        self.assert_answer(13000, 2, "cuMemAlloc", "cuMemAlloc_v2")

    def test_names_that_share_an_address_in_the_driver_keep_their_own_wrappers(self):
        self.assert_answer(13000, 0, "cuMemsetD2D16Async", "cuMemsetD2D16Async")
        self.assert_answer(13000, 2, "cuMemsetD2D16Async", "cuMemsetD2D16Async_ptsz")
        self.assert_answer(13000, 0, "cuGreenCtxRecordEvent", "cuGreenCtxRecordEvent")
        self.assert_answer(13000, 0, "cuGreenCtxWaitEvent", "cuGreenCtxWaitEvent")

    def test_a_name_that_we_do_not_look_at_is_the_drivers(self):
        self.assertEqual(self.ask(13000, 0, "cuProfilerStart"), ["cuProfilerStart", "cuProfilerStart", "libcuda.so.1"])

    def test_a_name_that_the_driver_lacks_is_not_invented(self):
        for age in ("12.2", "11.8"):  # the second has no form that tells a status: ours tells it
            for version, name, status in ((13000, "cuFuncGetParamInfo", "1"), (3020, "cuMemCreate", "2"), (13000, "cuNothing", "1")):
                self.assertEqual(self.ask(version, 0, name, age=age), f"status of {name} is {status} {name} ? nowhere".split())

    def test_a_driver_that_answers_no_look_ups_tells_its_version(self):
        """A newer runtime finds the second form here, and says with this that the driver is too old for it."""
        self.assert_answer(12000, 0, "cuDriverGetVersion", "cuDriverGetVersion", age="10.1")
        self.assertEqual(self.ask(12000, 0, "cuMemAlloc", age="10.1"), "status of cuMemAlloc is 1 cuMemAlloc ? nowhere".split())

    def answers(self, version, flags, names, age):
        """What each of the names is answered with, as {name: (symbol, object)}."""
        done = self.run_program(BUILD / "reach", "ask", version, flags, *names, env=self.environment(age))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return {name: (symbol, owner) for name, symbol, owner in (line.split() for line in done.stdout.split("\n") if line)}

    def test_every_covered_name_is_exchanged_for_every_form_at_every_age(self):
        for age in lookup.AGES:
            names = sorted({asked for _, symbol, asked in lookup.CALLS if self.has(age, symbol)})
            for version in {lookup.version_of(age), lookup.version_of(lookup.AGES[-1])}:
                for flags in (0, 2):
                    answers = self.answers(version, flags, names, age)
                    self.assertEqual(sorted(answers), names)
                    for name, (symbol, owner) in answers.items():
                        self.assertEqual(owner, OURS, f"{name} of a {age} driver, version {version}, flags {flags}")
                        if name != "cuGetProcAddress": # ours has both forms
                            self.assertTrue(self.has(age, symbol), f"{name} became {symbol}, which a {age} driver lacks")

    def has(self, age, symbol):
        return lookup.INTRODUCED[symbol] <= lookup.version_of(age)

    def test_a_program_gets_the_form_of_the_version_that_it_was_written_for(self):
        """Whatever the age of the driver: no newer form than it asks for, and the newest of the others."""
        forms = {}
        for _, symbol, asked in lookup.CALLS:
            if not symbol.endswith(("_ptsz", "_ptds")):
                of_version = forms.setdefault(asked, {})
                since = lookup.INTRODUCED[symbol]
                of_version[since] = max(symbol, of_version.get(since, ""))
        forms = {asked: symbols for asked, symbols in forms.items() if len(symbols) > 1 and asked != "cuGetProcAddress"}
        self.assertGreater(len(forms), 15)
        for age in lookup.AGES:
            for version in map(lookup.version_of, lookup.AGES):
                newest = min(version, lookup.version_of(age))
                expected = {asked: symbols[max(v for v in symbols if v <= newest)]
                            for asked, symbols in forms.items() if min(symbols) <= newest}
                answers = self.answers(version, 0, sorted(expected), age)
                self.assertEqual({name: symbol for name, (symbol, _) in answers.items()}, expected, f"{age}, {version}")

    def test_an_address_that_dlsym_does_not_know_is_exchanged_where_only_one_signature_exists(self):
        self.assert_answer(13000, 0, "cuLaunchKernel", "cuLaunchKernel", FAKE_ODD="cuLaunchKernel")
        self.assertEqual(self.said, "")

    def test_an_address_that_could_have_any_signature_is_reported_and_left_alone(self):
        name, symbol, owner = self.ask(13000, 0, "cuMemAlloc", FAKE_ODD="cuMemAlloc")
        self.assertEqual(owner, "libcuda.so.1")
        self.assertIn("spillway: the driver answered cuMemAlloc", self.said)
        self.assertIn("spillway doctor", self.said)

    def test_an_unknown_address_for_a_version_beyond_ours_is_left_alone(self):
        self.assertEqual(self.ask(99000, 0, "cuLaunchKernel", FAKE_ODD="cuLaunchKernel")[2], "libcuda.so.1")
        self.assertIn("cuLaunchKernel", self.said)


class Exports(lookup.Case):
    def exported(self):
        said = subprocess.run(["nm", "-D", "--defined-only", SHIM], capture_output=True, text=True, check=True).stdout
        return {line.split()[2] for line in said.split("\n") if line}

    def test_exactly_the_drivers_names_are_exported(self):
        """Nothing else: an exported dlopen is what breaks $ORIGIN. dlsym hides who asks and breaks other preloads and sanitizers,
        unless it is what lookups.c says. NVTX looks for its one name in the library that it is told of, not among all that are
        loaded. Calls of NCCL and cuBLAS are those that it stands in front of, and ours those that
        spillway.h declares."""
        own = {f"spillway_{name}_v1" for name in re.findall(r"#define spillway_(\w+)", (SOURCE / "shim/entry/spillway.h").read_text())}
        self.assertEqual(len(own), 8)
        nccl = set(re.findall(r"\bX\((nccl\w+),", (SOURCE / "shim/entry/nccl.c").read_text()))
        self.assertTrue({"ncclAllReduce", "ncclSend", "ncclPutSignal"} <= nccl)
        cublas = set(re.findall(r"X(?:, |\()(cublas\w+)", (SOURCE / "shim/entry/cublas.c").read_text()))
        self.assertTrue({"cublasSgemm_v2", "cublasGemmStridedBatchedEx_64", "cublasLtMatmul", "cublasSetWorkspace_v2"} <= cublas)
        self.assertEqual(self.exported() - {"InitializeInjectionNvtx2", "dlsym"} - nccl - cublas - own, set(NAMES))

    def test_every_covered_call_is_in_the_list_of_names(self):
        self.assertEqual(COVERED - set(NAMES), set())

    def test_the_library_needs_nothing_but_the_c_library(self):
        said = subprocess.run(["readelf", "-d", SHIM], capture_output=True, text=True, check=True).stdout
        needed = {line.split("[")[1].rstrip("]") for line in said.split("\n") if "(NEEDED)" in line}
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
                                      "ld-linux-aarch64.so.1"})
        self.assertIn("Library soname: [libcuda.so.1]", said)


if __name__ == "__main__":
    lookup.main()
