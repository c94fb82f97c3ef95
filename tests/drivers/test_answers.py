#!/usr/bin/env python3
"""What NVIDIA's drivers answer without a device: each look-up and each call as without the library, or by a function of ours; and what the
fake drivers of their ages answer."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import drivers  # noqa: E402
import lookup  # noqa: E402
from drivers import JETSON, PROGRAMS, run  # noqa: E402
from lookup import BUILD, COVERED, INTRODUCED, NAMES, OURS  # noqa: E402

VERSIONS = sorted({-1, 0, 99000} | set(INTRODUCED.values()))
FLAGS = (0, 2, 3, 4)  # the last one is none
WITHOUT_ENDINGS = {re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", name) for name in NAMES}
QUESTIONS = sorted({"", "cuNoSuchThing"} | WITHOUT_ENDINGS | set(NAMES))
WINDOWS_FIRST = {"cuDeviceGetLuid"}
NOT_FOUND, SYMBOL_NOT_FOUND, VERSION_NOT_SUFFICIENT = "500", "1", "2"


def numbers(values):
    return ",".join(map(str, values))


class Answers:
    def ask(self, driver, ours, **more):
        status, said, errors = run(driver, ours, PROGRAMS / "driver-answers", "look-ups", numbers(VERSIONS), numbers(FLAGS), told=QUESTIONS, **more)
        self.assertEqual((status, errors), (0, ""))
        lines = said.split("\n")[:-1]
        self.assertGreaterEqual(len(lines), len(QUESTIONS))
        return lines

    def setUp(self):
        super().setUp()
        self.version = drivers.version_of(self.DRIVER)
        if "plain" not in vars(type(self)):
            type(self).plain = self.ask(self.DRIVER, False)
        self.place = dict(line.split()[1:] for line in self.plain if line.startswith("dlsym"))  # where the driver has each name

    def test_1_it_has_the_names_of_its_age(self):
        said = subprocess.run(["nm", "-D", "--defined-only", self.DRIVER / "libcuda.so.1"], capture_output=True, text=True, check=True).stdout
        exported = {line.split()[2].split("@")[0] for line in said.split("\n") if line}
        exported = {name for name in exported if name.startswith("cu") and not name.startswith("cudbg")}
        of_its_age = {name for name in INTRODUCED if INTRODUCED[name] <= self.version} - JETSON
        self.assertEqual(exported, of_its_age - (WINDOWS_FIRST if self.version < lookup.version_of("11.4") else set()))

    def test_2_the_fake_of_its_age_answers_as_it_does(self):
        """Any question, in any form, of any version and with any flags. What is not looked up by them is left out."""
        fake = BUILD / f"libfake-{self.version // 1000}.{self.version % 1000 // 10}.so"
        self.assertTrue(fake.exists(), fake)
        folder = self.folder / "fake"
        folder.mkdir()
        (folder / "libcuda.so.1").symlink_to(fake)
        theirs = self.ask(folder, False, FAKE_VERSION=str(self.version))
        place = dict(line.split()[1:] for line in theirs if line.startswith("dlsym"))
        real = self.by_symbol(self.plain, self.place)
        fake = self.by_symbol(theirs, place)
        self.assertEqual(len(real), len(fake))
        wrong = [pair for pair in zip(real, fake) if pair[0][0] != pair[1][0] or not pair[0][1] & pair[1][1]]
        self.assertEqual(wrong[:20], [])

    def by_symbol(self, lines, place):
        """The questions with the names of all symbols that lie where the answer is; of dlsym only whether there is something."""
        symbols = {where: {where} for where in ("-", "untouched")}
        for name, where in place.items():
            symbols.setdefault(where, set()).add(name)
        answers = (line.rpartition(" ") for line in lines if line.split()[1] not in JETSON)
        return [(question, symbols.get(where, {"a place without a name"})) for question, _, where in answers]

    def test_3_each_look_up_is_answered_alike_or_with_ours(self):
        lines = self.ask(self.DRIVER, True)
        if not any(line.startswith("v1") for line in self.plain):
            lines = [line for line in lines if not line.startswith("v1")]
        if not any(line.startswith("v2") for line in self.plain):
            lines = [line for line in lines if not line.startswith("v2")]
        self.assertEqual(len(lines), len(self.plain))
        covered = {self.place[name] for name in COVERED} - {"-"}
        wrong, exchanged = [], 0
        for plain, under in zip(self.plain, lines):
            exchanged += f"@{OURS}" in under
            if not self.is_right(plain, under, covered):
                wrong.append((plain, under))
        self.assertEqual(wrong[:20], [])
        self.assertGreater(exchanged, len(COVERED) / 2)

    def is_right(self, plain, under, covered):
        """The same answer with the same place, or with our function for the name that is there. dlsym also finds names that the driver lacks."""
        question, _, where = plain.rpartition(" ")
        if plain.startswith("dlsym"):
            name = question.split()[1]
            return under == f"dlsym {name} {name}@{OURS}" if name in NAMES else under == plain or name.startswith("cudbg")
        if where not in covered:
            return under == plain
        again, _, ours = under.rpartition(" ")
        symbol = ours.partition("@")[0]
        return again == question and ours == f"{symbol}@{OURS}" and self.place.get(symbol) == where

    def test_4_the_second_form_is_answered_as_drivers_do_that_have_it(self):
        """From what the first form answers, where the driver has that one only."""
        first = {tuple(line.split()[1:4]): line.split()[4:] for line in self.plain if line.startswith("v1")}
        if not first or self.place["cuGetProcAddress_v2"] != "-":
            self.skipTest("the driver has both forms, or none")
        covered = {self.place[name] for name in COVERED}
        wrong, seen = [], 0
        for line in self.ask(self.DRIVER, True):
            if not line.startswith("v2") or line.startswith("v2 cuGetProcAddress "):
                continue
            _, name, version, flags, result, status, where = line.split()
            seen += 1
            plain, _, place = first[name, version, flags]
            expected = (plain, "0") if plain == "0" else (plain, "99")
            if plain == NOT_FOUND:
                later = first[name, "-1", flags][0] == "0"
                expected = ("0", VERSION_NOT_SUFFICIENT if later else SYMBOL_NOT_FOUND)
            same_place = where.endswith(f"@{OURS}") and self.place[where.partition("@")[0]] == place if place in covered else \
                where == ("-" if plain == NOT_FOUND else place)
            if (result, status) != expected or not same_place:
                wrong.append((line, plain, place))
        self.assertEqual(wrong[:20], [])
        self.assertGreater(seen, len(QUESTIONS))

    def call(self, ours):
        """{(when, name): result} of calls with arguments of zero."""
        status, said, errors = run(self.DRIVER, ours, PROGRAMS / "driver-answers", "calls", told=sorted(COVERED))
        self.assertEqual((status, errors), (0, ""))
        lines = [line.split(maxsplit=2) for line in said.split("\n") if line.count(" ") > 1]
        return {(when, name): result for when, name, result in lines}, re.search(r"^cuInit (\d+)$", said, re.M)[1]

    def test_5_each_call_is_refused_alike(self):
        """Before cuInit, and after it failed. What the driver lacks is not found."""
        plain, started = self.call(False)
        under, started_under = self.call(True)
        self.assertEqual((started, started_under), ("100", "100"), "CUDA_ERROR_NO_DEVICE is expected: is there a GPU here?")
        self.assertGreater(len(plain), 600)
        self.assertEqual({key: under.get(key) for key in plain if under.get(key) != plain[key]}, {})
        lacking = {key: result for key, result in under.items() if key not in plain}
        self.assertEqual({key: result for key, result in lacking.items() if result != NOT_FOUND and key[1] not in self.OURS_ALONE}, {})

    OURS_ALONE = {"cuGetProcAddress", "cuGetProcAddress_v2"}  # which answer for drivers that lack them


globals().update(drivers.cases(Answers))
if __name__ == "__main__":
    lookup.main()
