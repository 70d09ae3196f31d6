#!/usr/bin/env python3
"""Runs the test suites of cppcoro, from folders that the user gives, against compat/cppcoro.

upstream.py FOLDER...: each is a checkout of lewissbaker/cppcoro or of a fork for C++20, such as andreasbuhr/cppcoro;
nothing is downloaded, and no file in it is changed. Each test file becomes a program, built with every compiler, at -O0 and
-O2, and under the sanitizers. Prints how many cases passed and failed in each build. Cases in a file that does not compile,
and cases that a crash or a hang keeps from running, count as failed. Exits with 1 if any fails.

Cases that the suite marks as skipped are run, too. Cases that the preprocessor removes are listed.
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "upstream"
SANITIZED = "-O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize="
BUILDS = {  # NDEBUG as in the presets: the checks of preconditions are on where nothing is optimised
    "g++-12 -O0": ("g++-12", "-O0"),
    "g++-12 -O2": ("g++-12", "-O2 -DNDEBUG -foptimize-sibling-calls"),
    "clang++-19 -O0": ("clang++-19", "-O0"),
    "clang++-19 -O2": ("clang++-19", "-O2 -DNDEBUG"),
    "clang++-22 -O0": ("clang++-22", "-O0"),
    "clang++-22 -O2": ("clang++-22", "-O2 -DNDEBUG"),
    "clang++-22 asan ubsan": ("clang++-22", SANITIZED + "address,undefined -fno-sanitize-recover=all"),
    "clang++-22 tsan": ("clang++-22", SANITIZED + "thread"),
}
SECONDS_A_PROGRAM = 300
CASE = re.compile(r"^\s*(?:DOCTEST_)?TEST_CASE\w*\s*\(", re.MULTILINE)
OFF = re.compile(r"^\s*#\s*if 0\b.*?^\s*#\s*endif", re.MULTILINE | re.DOTALL)
SUMMARY = re.compile(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


class Suite:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        tests = self.folder / "test"
        self.sources = sorted(tests.glob("*_tests.cpp"))
        if not self.sources or not (self.folder / "include/cppcoro/task.hpp").is_file():
            sys.exit(f"upstream: {folder} is no checkout of cppcoro: it has no test/*_tests.cpp, or no include/cppcoro")
        is_fork = (self.folder / "include/cppcoro/coroutine.hpp").is_file()
        self.name = "fork" if is_fork else "cppcoro"
        self.title = "a fork for C++20" if is_fork else "lewissbaker/cppcoro, for the Coroutines TS"

    def cases(self, source):
        return len(CASE.findall(OFF.sub("", source.read_text(errors="replace"))))

    def left_out(self, source):
        return len(CASE.findall(source.read_text(errors="replace"))) - self.cases(source)

    def describe(self):
        total = sum(self.cases(source) for source in self.sources)
        print(f"{self.name}: {self.folder}, {self.title}: {total} cases in {len(self.sources)} files")
        for source in self.sources:
            if count := self.left_out(source):
                print(f"{self.name}: {source.name}: {count} more behind #if 0, which its authors have switched off")


def run(command, log, **more):
    with open(log, "a") as out:
        return subprocess.run([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, **more).returncode


def run_program(program, log):
    """Returns (passed, failed, what went wrong); the counts are None if the program printed none."""
    try:
        result = subprocess.run([program, "--no-skip", "--no-colors"], capture_output=True, text=True,
                                errors="replace", timeout=SECONDS_A_PROGRAM, cwd=program.parent)
        output, ended = result.stdout + result.stderr, f"ended with {result.returncode}"
        good = result.returncode == 0
    except subprocess.TimeoutExpired as late:
        output, ended, good = str(late.stdout), f"not over after {SECONDS_A_PROGRAM} s", False
    with open(log, "a") as out:
        out.write(f"---- {program.name}: {ended}\n{output}\n")
    found = SUMMARY.search(output)
    if not found:
        return None, None, ended
    passed, failed = int(found.group(2)), int(found.group(3))
    return passed, failed, "" if good else ended


def outcome(suite, source, folder, log):
    """Returns (passed, failed, remarks) for one file in one build."""
    expected, program = suite.cases(source), folder / f"{suite.name}.{source.stem}"
    if not program.is_file():
        return 0, expected, [f"{program.name}: does not build"]
    passed, failed, wrong = run_program(program, log)
    if passed is None:
        return 0, expected, [f"{program.name}: {wrong}"]
    remarks = [f"{program.name}: {failed} failed, {wrong}"] if failed or wrong else []
    if wrong and failed == 0:  # a sanitizer's report, or a leak
        passed, failed = 0, expected
    if passed + failed != expected:
        remarks.append(f"{program.name}: {passed + failed} cases were run, {expected} stand in the file")
        failed += max(0, expected - passed - failed)
    return passed, failed, remarks


def run_build(name, suites, jobs):
    compiler, flags = BUILDS[name]
    folder = BUILD / re.sub(r"[^\w+-]+", "_", name)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "upstream.log"
    log.write_text("")
    for suite in suites:  # a program that does not build any more must not be the one of the last time
        for old in folder.glob(f"{suite.name}.*_tests"):
            old.unlink()
    given = ";".join(f"{suite.name}={suite.folder}" for suite in suites)
    configure = ["cmake", "-G", "Ninja", "-S", ROOT / "tests/upstream", "-B", folder, f"-DCMAKE_CXX_COMPILER={compiler}",
                 f"-DCMAKE_CXX_FLAGS={flags}", f"-DUPSTREAM_SUITES={given}"]
    if run(configure, log) != 0:
        return [(suite, 0, None, [f"cannot be configured: {log}"]) for suite in suites]
    run(["cmake", "--build", folder, "-j", jobs, "--", "-k", "0"], log)
    rows = []
    for suite in suites:
        with ThreadPoolExecutor(jobs) as pool:
            ends = list(pool.map(lambda source, its=suite: outcome(its, source, folder, log), suite.sources))
        remarks = [remark for end in ends for remark in end[2]]
        rows.append((suite, sum(end[0] for end in ends), sum(end[1] for end in ends), remarks))
        if remarks:
            remarks.append(f"more in {log}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--build", action="append", choices=list(BUILDS), help="only this one; may be given again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    suites = [Suite(folder) for folder in given.folders]
    if len({suite.name for suite in suites}) != len(suites):
        sys.exit("upstream: two folders hold the same suite")
    for suite in suites:
        suite.describe()
    print(f"\n{'build':<24}{'suite':<10}{'passed':>8}{'failed':>8}", flush=True)
    bad = False
    for name in given.build or BUILDS:
        for suite, passed, failed, remarks in run_build(name, suites, given.jobs):
            bad = bad or failed is None or failed != 0 or bool(remarks)
            print(f"{name:<24}{suite.name:<10}{passed:>8}{'?' if failed is None else failed:>8}")
            for remark in remarks:
                print(f"    {remark}")
            sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
