#!/usr/bin/env python3
"""Breaks the shipped code in one place after another, and checks whether the models of tests/model fail.

    tools/mutants.py [--budget EXECUTIONS] [--jobs N] [--trust-rows] [--all] PROGRAM...

Each program is a built one of tests/model; `PROGRAM --mutants EXECUTIONS` tries its cases on every mutant of the places
that they meet. A mutant is killed if one of the programs kills it: all try them first with few executions, then only those
programs that have met one that none has killed. With --trust-rows that is all for mutants that a row of docs/design/mutants.md
explains. The score is the part that is killed; it fails under 95 %, and if a survivor stands in no row of
docs/design/mutants.md, or a row there names none that survives.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
JUSTIFIED = ROOT / "docs/design/mutants.md"
LEAST_SCORE = 95.0
TAG = re.compile(r"/\*(\w+)\*/")
OF_STATEMENT = re.compile(r"(?:dropped|before .*|behind .*): ")  # a row of tools/statement_mutants.py


def tag_of(file, line):
    """The tag of the access at that line: at the end of its statement, or of one of its lines. None: it has no order."""
    lines = (ROOT / file).read_text().splitlines()
    for text in lines[line - 1 : line + 3]:
        if found := TAG.search(text):
            return found[1]
        if text.rstrip().endswith((";", "{", "}")):
            break
    return None


def name_of(function):
    """As lock(), of what source_location calls a function."""
    names = re.findall(r"([~\w]+)\(", re.sub(r"<[^<>]*>", "", function))
    return f"{names[0]}()" if names else function


class Mutant:
    def __init__(self, place, function, change):
        self.file, line, self.column = place.rsplit(":", 2)
        self.line, self.change = int(line), change
        tag = tag_of(self.file, self.line)
        self.where = f"[{tag}]" if tag else name_of(function)
        self.killed_by = None

    @property
    def key(self):
        return self.file, self.where, self.change

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column} {self.where} {self.change}"


def run(program, budget, left_out):
    result = subprocess.run([program, "--mutants", str(budget), left_out], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{program} fails as it is:\n{result.stdout}{result.stderr}")
    return [line.split("\t") for line in result.stdout.splitlines()]


def unite(outputs):
    """Combines the outputs, a dictionary from program to lines: one mutant per place and change, killed if any program kills it."""
    mutants = {}
    for program, lines in outputs.items():
        for verdict, place, function, change, told in lines:
            mutant = mutants.setdefault((place, change), Mutant(place, function, change))
            if verdict == "killed" and not mutant.killed_by:
                mutant.killed_by = f"{program}: {told}"
    return sorted(mutants.values(), key=lambda each: (each.file, each.line, each.column, each.change))


def try_all(programs, budget, jobs, explained):
    lines = {program.name: [] for program in programs}
    done = set()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, tempfile.NamedTemporaryFile("w") as left_out:
        for executions in (budget // 50 + 1, budget // 6 + 1, budget):
            found = pool.map(lambda program: run(program, executions, left_out.name), programs)
            for program, more in zip(programs, found):
                lines[program.name] += more
            done |= {(place, change) for each in lines.values() for verdict, place, function, change, _ in each
                     if verdict == "killed" or Mutant(place, function, change).key in explained}
            left_out.seek(0)
            left_out.writelines(f"{place}\t{change}\n" for place, change in done)
            left_out.flush()
            programs = [each for each in programs
                        if any((place, change) not in done for _, place, _, change, _ in lines[each.name])]
    return unite(lines)


def justified():
    """The rows `| file | [tag] or function() | change | why |` of the table."""
    rows = set()
    for line in JUSTIFIED.read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[0].endswith((".hpp", ".cpp")) and not OF_STATEMENT.match(cells[2]):
            rows.add((cells[0], cells[1], cells[2]))
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--budget", type=int, default=1_000_000, help="executions a case and mutant")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--trust-rows", action="store_true", help="try what a row explains with few executions only")
    options.add_argument("--all", action="store_true", help="print the killed ones, too, and by which case")
    options.add_argument("programs", nargs="+", type=pathlib.Path)
    arguments = options.parse_args()
    known = justified()
    mutants = try_all(arguments.programs, arguments.budget, arguments.jobs, known if arguments.trust_rows else set())
    survivors = [each for each in mutants if not each.killed_by]
    if arguments.all:
        for each in mutants:
            print(f"killed    {each}\n          {each.killed_by}" if each.killed_by else f"survived  {each}")
    unexplained = [each for each in survivors if each.key not in known]
    for each in unexplained:
        print(f"survived, without a row in {JUSTIFIED.relative_to(ROOT)}: {each}")
    idle = known - {each.key for each in survivors}
    for row in sorted(idle):
        print(f"a row of {JUSTIFIED.relative_to(ROOT)} that no survivor needs: {' '.join(row)}")
    score = 100 * (len(mutants) - len(survivors)) / len(mutants)
    print(f"{len(mutants)} mutants in {len({each.file for each in mutants})} files, "
          f"{len(mutants) - len(survivors)} killed ({score:.1f} %), {len(survivors)} survive, "
          f"{len(survivors) - len(unexplained)} of them justified")
    return 1 if unexplained or idle or score < LEAST_SCORE else 0


if __name__ == "__main__":
    sys.exit(main())
