#!/usr/bin/env python3
"""Prints how many lines and branches of each folder of the library the tests reach.

  coverage_table.py COUNTS PROGRAM...   COUNTS: a folder with the counts of each program's processes, NAME.PID.raw

A branch is one outcome of a condition. Code of a template counts as reached if any of its instances reaches it, whereas
llvm-cov's own table uses the best single instance. Fails if a folder of GATED is below the limits. `--missed` also
lists the lines and branches that were not reached, `--self-test` checks the counting itself.
"""
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GATED = ["base", "core", "generators", "sync", "channels", "compose", "streams", "time", "exec"]  # of include/coracle and src
LEAST_LINES, LEAST_BRANCHES = 95.0, 90.0


def folder_of(path):
    """Returns the layer of a library file; empty for other files."""
    for top in (ROOT / "include/coracle", ROOT / "src"):
        if Path(path).is_relative_to(top):
            parts = Path(path).relative_to(top).parts
            return parts[0] if len(parts) > 1 else "coracle"
    return ""


def note_lines(functions, lines):
    """Adds to path -> line -> reached. A line is reached if a region of code that covers it is, where no region nested
    in that one covers it."""
    for function in functions:
        per_file = defaultdict(list)
        for begin, begin_column, end, end_column, count, file, _, kind in function["regions"]:
            if kind in (0, 3):  # code, and gaps between it
                per_file[file].append((begin, begin_column, end, end_column, count, kind))
        for file, regions in per_file.items():
            mark_lines(lines[function["filenames"][file]], regions)


def mark_lines(lines, regions):
    """Gives each line the count of the innermost region in which it begins, or the highest of those that begin in it."""
    regions.sort(key=lambda region: (region[0], region[1], -region[2], -region[3]))
    count_at_start, begins = {}, defaultdict(list)
    for begin, _, end, _, count, kind in regions:
        if kind == 0:
            begins[begin].append(count)
        for line in range(begin + 1, end + 1):
            count_at_start[line] = count if kind == 0 else None  # an inner region comes later, and stands
    for line in set(begins) | {line for line, count in count_at_start.items() if count is not None}:
        counts = begins[line] + ([count_at_start[line]] if count_at_start.get(line) is not None else [])
        lines[line] = lines.get(line, False) or max(counts) > 0


def note_branches(functions, branches):
    """Adds to path -> place -> [true reached, false reached]."""
    for function in functions:
        for *place, when_true, when_false, file, _, _ in function["branches"]:
            reached = branches[function["filenames"][file]].setdefault(tuple(place), [False, False])
            reached[0] |= when_true > 0
            reached[1] |= when_false > 0


def reached_by(groups):
    lines, branches = defaultdict(dict), defaultdict(dict)
    for functions in groups:
        note_lines(functions, lines)
        note_branches(functions, branches)
    return lines, branches


def functions_of(counts, program):
    """What llvm-cov knows of the program's functions. One program at a time: of two programs' functions of one name, as
    a header's are, it would show one."""
    indexed = counts / (program.name + ".counts")
    subprocess.run(["llvm-profdata-22", "merge", *counts.glob(program.name + ".*.raw"), "-o", indexed], check=True)
    command = ["llvm-cov-22", "export", "-instr-profile", indexed, program, ROOT / "include", ROOT / "src"]
    return json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)["data"][0]["functions"]


def percent(reached, of):
    return 100.0 * reached / of if of else 100.0


def report(lines, branches, list_missed):
    """Prints the table. Returns the folders that are below the limits."""
    rows = defaultdict(lambda: [0, 0, 0, 0])
    for path in sorted(set(lines) | set(branches)):
        if not folder_of(path):
            continue
        row = rows[folder_of(path)]
        row[0] += sum(lines[path].values())
        row[1] += len(lines[path])
        row[2] += sum(sum(both) for both in branches[path].values())
        row[3] += 2 * len(branches[path])
        if list_missed:
            print_missed(path, lines[path], branches[path])
    print(f"{'folder':<10} {'lines':>7} {'reached':>8} {'branches':>9} {'reached':>8}")
    below = []
    for folder in sorted(rows, key=lambda name: (name not in GATED, name)):
        line_percent, branch_percent = percent(*rows[folder][:2]), percent(*rows[folder][2:])
        failed = folder in GATED and (line_percent < LEAST_LINES or branch_percent < LEAST_BRANCHES)
        note = "  below the limit" if failed else "" if folder in GATED else "  no limit"
        print(f"{folder:<10} {rows[folder][1]:>7} {line_percent:>7.1f}% {rows[folder][3]:>9} {branch_percent:>7.1f}%{note}")
        if failed:
            below.append(folder)
    return below + [folder for folder in GATED if folder not in rows]


def print_missed(path, lines, branches):
    name = Path(path).relative_to(ROOT)
    for line in sorted(line for line, reached in lines.items() if not reached):
        print(f"{name}:{line}: not reached")
    for (line, column, *_), (when_true, when_false) in sorted(branches.items()):
        if not (when_true and when_false):
            never = "neither" if not (when_true or when_false) else "never true" if when_false else "never false"
            print(f"{name}:{line}:{column}: {never}")


def self_test():
    path = str(ROOT / "include/coracle/core/task.hpp")
    # A function of lines 1-5 with a block of lines 2-4 that did not run; a second instance of it in which it did.
    first = {"filenames": [path], "regions": [[1, 9, 5, 2, 3, 0, 0, 0], [2, 9, 4, 4, 0, 0, 0, 0]],
             "branches": [[2, 7, 2, 8, 0, 3, 0, 0, 4]]}
    second = {"filenames": [path], "regions": [[1, 9, 5, 2, 1, 0, 0, 0], [2, 9, 4, 4, 1, 0, 0, 0]],
              "branches": [[2, 7, 2, 8, 1, 0, 0, 0, 4]]}
    lines, branches = reached_by([[first]])
    assert lines[path] == {1: True, 2: True, 3: False, 4: False, 5: True}
    assert branches[path] == {(2, 7, 2, 8): [False, True]}
    below = report(lines, branches, False)
    assert sorted(below) == sorted(GATED), below
    for both in ([[first, second]], [[first], [second]]):
        lines, branches = reached_by(both)
        assert all(lines[path].values())
        assert branches[path] == {(2, 7, 2, 8): [True, True]}
        assert "core" not in report(lines, branches, False)
    assert folder_of(path) == "core" and folder_of(ROOT / "src/exec/strand.cpp") == "exec"
    assert folder_of(ROOT / "tests/unit/main.cpp") == ""


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--missed"]
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) < 2 or arguments[0].startswith("-"):
        print("usage: coverage_table.py [--missed] COUNTS PROGRAM... | --self-test", file=sys.stderr)
        return 2
    counts, *programs = map(Path, arguments)
    lines, branches = reached_by(functions_of(counts, program) for program in programs)
    below = report(lines, branches, "--missed" in sys.argv)
    if below:
        print(f"FAILED: below {LEAST_LINES} % of the lines or {LEAST_BRANCHES} % of the branches: {', '.join(below)}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
