#!/usr/bin/env python3
"""Runs the stress programs of some builds until a time limit, with increasing numbers of rounds.

  run_stress.py MINUTES BUILD...    BUILD: a build folder, such as build/tsan

Each program once with its usual count, then twice that, four times ... The first failure ends the run and prints the
program's output and how to rerun it. What the programs print goes to build/stress.log.
"""
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "build" / "stress.log"
MOST_TIMES = 256  # more would be too long a time without another program
OVERTIME_SECONDS = 60  # beside the program's own watchdog


def programs(builds):
    """Returns the programs of every build, grouped by program."""
    found = [path for build in builds for path in Path(build, "tests").glob("stress_*") if path.is_file()]
    for build in builds:
        if not any(path.is_relative_to(build) for path in found):
            sys.exit(f"{build} has no stress programs")
    return sorted(found, key=lambda path: (path.name, str(path)))


def run(program, times):
    """Runs the program and returns what is wrong; empty if nothing."""
    try:
        result = subprocess.run([program, f"x{times}"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=60 * times + OVERTIME_SECONDS)
    except subprocess.TimeoutExpired as expired:
        return f"still ran after {expired.timeout} s\n"
    with LOG.open("a") as log:
        log.write(f"{program} x{times}: {result.stdout}")
    return "" if result.returncode == 0 else f"exit status {result.returncode}\n{result.stdout}"


def main():
    try:
        minutes, builds = float(sys.argv[1]), sys.argv[2:]
    except (IndexError, ValueError):
        builds = []
    if not builds or minutes <= 0:
        print("usage: run_stress.py MINUTES BUILD...", file=sys.stderr)
        return 2
    all_programs = programs(builds)
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_text("")
    end = time.monotonic() + 60 * minutes
    runs, done, times = 0, Counter(), 1
    while time.monotonic() < end:
        start, ran = time.monotonic(), 0
        for program in all_programs:
            if time.monotonic() >= end:
                break
            complaint = run(program, times)
            if complaint:
                print(f"FAILED {program.name}: {complaint}again: {program} x{times}", flush=True)
                return 1
            ran += 1
            done[program] += times
        runs += ran
        print(f"x{times}: {ran} of {len(all_programs)} programs, {time.monotonic() - start:.0f} s", flush=True)
        times = min(2 * times, MOST_TIMES)
    least = min(done[program] for program in all_programs)
    print(f"{runs} runs of {len(all_programs)} programs passed, 0 failed; each ran at least {least} times its usual "
          f"count, at most {max(done.values())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
