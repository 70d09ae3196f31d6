#!/usr/bin/env python3
"""Measures how long program.cpp takes to compile against this library and others that have cppcoro's names.

  measure.py [--rounds N] [--optimised] NAME=INCLUDE_FOLDER...

Prints for each compiler and level the compiler's own processor time in seconds, median and minimum of N rounds
(9 by default), and the median of the rounds' ratios of coracle's time to each of the others'. Each round runs all
of them one after the other. --optimised: only -O2 -DNDEBUG.
"""
import argparse
import os
import shutil
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench/compile/program.cpp"
COMPILERS = ["clang++-22", "g++-12"]
LEVELS = [["-fsyntax-only"], ["-c", "-O0"], ["-c", "-O2", "-DNDEBUG"]]


def compile_once(compiler, level, folders):
    command = [compiler, "-std=c++20", "-w", *level, *(f"-I{folder}" for folder in folders), str(PROGRAM)]
    if "-c" in level:
        command += ["-o", os.devnull]
    _, status, used = os.wait4(os.posix_spawnp(compiler, command, os.environ), 0)
    if status != 0:
        sys.exit("failed: " + " ".join(command))
    return used.ru_utime


def measure(compiler, level, libraries, rounds):
    times = {name: [] for name in libraries}
    for _ in range(rounds):
        for name, folders in libraries.items():
            times[name].append(compile_once(compiler, level, folders))
    print(" ".join([compiler, *level]))
    for name, seconds in times.items():
        line = f"  {name:<12} {statistics.median(seconds):6.2f} s  least {min(seconds):6.2f} s"
        if name != "coracle":
            line += f"  ratio {statistics.median(a / b for a, b in zip(times['coracle'], seconds)):.2f}"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--optimised", action="store_true")
    parser.add_argument("others", nargs="*", metavar="NAME=INCLUDE_FOLDER")
    asked = parser.parse_args()
    libraries = {"coracle": [ROOT / "compat", ROOT / "include"]}
    for other in asked.others:
        name, folder = other.split("=", 1)
        libraries[name] = [folder]
    for compiler in filter(shutil.which, COMPILERS):
        for level in LEVELS[2:] if asked.optimised else LEVELS:
            measure(compiler, level, libraries, asked.rounds)


if __name__ == "__main__":
    main()
