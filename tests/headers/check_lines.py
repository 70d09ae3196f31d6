#!/usr/bin/env python3
"""Counts the lines that each header which programs include preprocesses to with g++ 12, and compares them with limits.txt.

  check_lines.py [--update]

Fails if a header exceeds its limit by more than 2 % and 100 lines, as with another standard header, or has no
limit. `--update` makes the count the new limit of each header that fails, or is as far below its limit; it
leaves the other rows alone. Fails, too, if a file that includes everything and uses
nothing has code at -O0: g++ then emits the coroutines and templates that inline functions refer to.
"""
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
LIMITS = HERE / "limits.txt"
COMPILER = "g++-12"
TOLERANCE = 0.02
GROWTH = 100  # lines of our own
UMBRELLAS = ["coracle/coracle.hpp", "coracle/io.hpp", "coracle/testing.hpp"]
MOST_CODE = 2000
HEAD = "# The lines that each header preprocesses to with g++ 12: see check_lines.py.\n"


def count(header):
    command = [COMPILER, "-std=c++20", f"-I{INCLUDE}", "-E", "-P", "-x", "c++", "-"]
    unit = f"#include <{header}>\n"
    result = subprocess.run(command, input=unit, text=True, capture_output=True, check=True)
    return result.stdout.count("\n")


def code_of(units):
    """Returns the number of bytes of code of a file that includes these headers."""
    with tempfile.NamedTemporaryFile(suffix=".o") as to:
        command = [COMPILER, "-std=c++20", f"-I{INCLUDE}", "-O0", "-c", "-x", "c++", "-", "-o", to.name]
        subprocess.run(command, input="".join(f"#include <{each}>\n" for each in units), text=True, check=True)
        sizes = subprocess.run(["size", to.name], text=True, capture_output=True, check=True)
    return int(sizes.stdout.splitlines()[1].split()[0])


def parse(text):
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {header: int(lines) for header, lines in rows}


def exceeds(lines, limit):
    return lines > limit * (1 + TOLERANCE) + GROWTH


def updated(counts, limits):
    """Returns the new limits: the old ones, except where they are far from the counts."""
    def is_near(lines, limit):
        return limit is not None and not exceeds(lines, limit) and not exceeds(limit, lines)

    return {header: limits[header] if is_near(lines, limits.get(header)) else lines for header, lines in counts.items()}


def wrong(counts, limits):
    """Returns a message for each header whose count exceeds its limit."""
    said = []
    for header in sorted(counts | limits):
        lines, limit = counts.get(header), limits.get(header)
        if lines is None:
            said.append(f"{header} has a limit, and does not exist")
        elif limit is None:
            said.append(f"{header} has no limit: {lines} lines")
        elif exceeds(lines, limit):
            said.append(f"{header} has {lines} lines, its limit is {limit}: what does it include now?")
    return said


def self_test():
    assert wrong({"a.hpp": 100}, {"a.hpp": 100}) == []
    assert wrong({"a.hpp": 10300}, {"a.hpp": 10000}) == []
    assert len(wrong({"a.hpp": 10301}, {"a.hpp": 10000})) == 1
    assert len(wrong({"a.hpp": 100}, {})) == 1 and len(wrong({}, {"a.hpp": 100})) == 1
    assert updated({"a.hpp": 10001, "b.hpp": 9999}, {"a.hpp": 10000, "b.hpp": 10000}) == {"a.hpp": 10000, "b.hpp": 10000}
    assert updated({"a.hpp": 10301, "b.hpp": 9000, "c.hpp": 1}, {"a.hpp": 10000, "b.hpp": 10000, "d.hpp": 1}) == {
        "a.hpp": 10301, "b.hpp": 9000, "c.hpp": 1}
    assert count("coracle/base/config.hpp") < 10 < count("coracle/base/check.hpp")


def main():
    if sys.argv[1:] not in ([], ["--update"]):
        sys.exit(__doc__)
    if not shutil.which(COMPILER):
        print(f"skipped: {COMPILER} is not installed")
        return 0
    self_test()
    headers = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.hpp") if path.parent.name != "detail")
    with ThreadPoolExecutor(2) as pool:
        counts = dict(zip(headers, pool.map(count, headers)))
    if sys.argv[1:]:
        width = max(map(len, headers))
        rows = [f"{header:<{width}} {lines:>6}\n" for header, lines in updated(counts, parse(LIMITS.read_text())).items()]
        LIMITS.write_text(HEAD + "".join(rows))
    said = wrong(counts, parse(LIMITS.read_text()))
    if (code := code_of(UMBRELLAS)) > MOST_CODE:
        said.append(f"{' and '.join(UMBRELLAS)} have {code} bytes of code; at most {MOST_CODE} are to be in headers")
    for line in said:
        print(line)
    print(f"{len(counts)} headers, {len(said)} wrong")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
