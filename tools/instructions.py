#!/usr/bin/env python3
"""Counts the instructions of each core operation under callgrind, and compares them with bench/instructions/limits.txt.

  instructions.py [--update] COMPILER=PROGRAM...   PROGRAM: bench/instructions/main.cpp, built by COMPILER

Fails if an operation exceeds its limit by more than 2 %, or has no limit. Counts below their limits are only reported:
`--update` writes the counts as the new limits. Each run first checks that the comparison can fail.
Counts do not depend on the machine's load, only on the compiler, the C library and main.cpp: a new operation there may change
another's count, because compilers inline functions that are called in one place only.
"""
import contextlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMITS = Path(__file__).resolve().parents[1] / "bench/instructions/limits.txt"
OPERATIONS = 4000  # as in main.cpp
TOLERANCE = 0.02
DUMP = re.compile(r"^desc: Trigger: Client Request: (\w+)$.*?^summary: (\d+)$", re.MULTILINE | re.DOTALL)


def counted(dumps):
    """Maps each operation to its instructions. callgrind dumps each twice, after n and after 2n operations."""
    totals = {}
    for name, total in DUMP.findall(dumps):
        totals.setdefault(name, []).append(int(total))
    return {name: (twice - once) / OPERATIONS for name, (once, twice) in totals.items()}


def count(program):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dumps"
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--combine-dumps=yes", f"--callgrind-out-file={out}", program],
                       check=True)
        return counted(out.read_text())


def parse(text):
    """compiler -> operation -> limit"""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    limits = {}
    for name, compiler, instructions in rows:
        limits.setdefault(compiler, {})[name] = float(instructions)
    return limits


def compare(counts, limits):
    """Prints each count beside its limit. Returns the names of those that are too great, or have no limit, or no count; and
    how many are below theirs."""
    bad, slack = [], 0
    for name in counts | limits:
        count, limit = counts.get(name), limits.get(name)
        if count is None or limit is None:
            said = "FAILED: has no " + ("limit" if limit is None else "count")
        elif count > limit * (1 + TOLERANCE):
            said = f"FAILED: {100 * (count / limit - 1):.1f} % over its limit"
        elif count < limit * (1 - TOLERANCE):
            said = f"{100 * (1 - count / limit):.1f} % below its limit"
            slack += 1
        else:
            said = ""
        if said.startswith("FAILED"):
            bad.append(name)
        shown = ["-" if number is None else f"{number:.1f}" for number in (count, limit)]
        print(f"  {name:<28} {shown[0]:>8} {shown[1]:>8}  {said}".rstrip())
    return bad, slack


def self_test(counts):
    hundred = counts["hundred_instructions"]
    assert 101 <= hundred <= 110, f"a hundred instructions and a loop were counted as {hundred}"
    count_of_await = counts["await_opaque"]
    assert compare(counts, counts) == ([], 0)
    assert compare(counts, counts | {"await_opaque": count_of_await / 1.03}) == (["await_opaque"], 0)
    assert compare(counts, counts | {"await_opaque": count_of_await / 1.01}) == ([], 0)
    assert compare(counts, counts | {"await_opaque": count_of_await * 1.03}) == ([], 1)
    assert compare(counts | {"new": 1.0}, counts) == (["new"], 0)
    assert compare(counts, counts | {"gone": 1.0}) == (["gone"], 0)
    assert parse("# a\nawait_opaque g++-12 89.0\n") == {"g++-12": {"await_opaque": 89.0}}


def main():
    update, given = sys.argv[1:2] == ["--update"], [argument for argument in sys.argv[1:] if argument != "--update"]
    if not given or not all("=" in argument for argument in given):
        print("usage: instructions.py [--update] COMPILER=PROGRAM...", file=sys.stderr)
        return 2
    compilers, programs = zip(*(argument.split("=", 1) for argument in given))
    with ThreadPoolExecutor(2) as pool:
        counts = dict(zip(compilers, pool.map(count, programs)))
    for compiler in compilers:
        with contextlib.redirect_stdout(None):
            self_test(counts[compiler])
    if update:
        head = [line for line in LIMITS.read_text().splitlines() if line.startswith("#")]
        rows = [f"{name:<28} {compiler:<10} {number:8.1f}" for compiler in counts for name, number in counts[compiler].items()]
        LIMITS.write_text("\n".join(head + rows) + "\n")
    limits, bad, slack = parse(LIMITS.read_text()), [], 0
    for compiler in counts:
        print(f"{compiler:<30} {'counted':>8} {'limit':>8}")
        names, below = compare(counts[compiler], limits.get(compiler, {}))
        bad += [f"{name} ({compiler})" for name in names]
        slack += below
    print(f"FAILED: {', '.join(bad)}" if bad else f"every operation within its limit, {slack} below it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
