#!/usr/bin/env python3
"""Compiles every header of coracle and of compat/ alone, twice in one unit, with g++: what a header forgets to include is
no compiler's own. Then links two units that include all of them, with each compiler. With all warnings.

--no-exceptions: the header-only part, core/, sync/ and compose/, in one unit with -fno-exceptions.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "include", ROOT / "compat"]
COMPILERS = ["g++-12", "clang++-22"]
FLAGS = ["-std=c++20", *(f"-I{folder}" for folder in FOLDERS), "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
         "-Werror", "-pthread"]


def headers(*names):
    """The headers below these folders of include/ or compat/."""
    found = []
    for name in names:
        inside = sorted(str(path.relative_to(root)) for root in FOLDERS for path in (root / name).rglob("*.hpp"))
        if not inside:
            sys.exit(f"no headers in {name}")
        found += inside
    return found


def includes(names):
    return "".join(f"#include <{name}>\n" for name in names)


def compile_unit(compiler, names, *flags):
    command = [compiler, *FLAGS, *flags, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=includes(names), text=True, capture_output=True)


def link_two_units(compiler):
    """A relocatable link: a function defined in a header without `inline` collides, and no library is needed."""
    with tempfile.TemporaryDirectory() as folder:
        units = [Path(folder, name) for name in ("first.cpp", "second.cpp")]
        for unit in units:
            unit.write_text(includes(headers("coracle", "cppcoro")))
        command = [compiler, *FLAGS, "-nostdlib", "-r", "-o", Path(folder, "both.o"), *units]
        return subprocess.run(command, text=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-exceptions", action="store_true")
    no_exceptions = parser.parse_args().no_exceptions

    missing = [compiler for compiler in COMPILERS if not shutil.which(compiler)]
    jobs = []
    with ThreadPoolExecutor(2) as pool:
        for compiler in (compiler for compiler in COMPILERS if compiler not in missing):
            if no_exceptions:
                names = headers("coracle/core", "coracle/sync", "coracle/compose")
                jobs.append((compiler, pool.submit(compile_unit, compiler, names, "-fno-exceptions")))
                continue
            jobs.append((f"{compiler} two units", pool.submit(link_two_units, compiler)))
            for header in headers("coracle", "cppcoro") if compiler == COMPILERS[0] else []:
                jobs.append((f"{compiler} {header}", pool.submit(compile_unit, compiler, [header, header])))

    failed = 0
    for name, job in jobs:
        result = job.result()
        if result.returncode != 0:
            failed += 1
            print(f"FAILED {name}\n" + "\n".join(result.stderr.splitlines()[:12]))
    for compiler in missing:
        print(f"skipped: {compiler} is not installed")
    print(f"{len(jobs) - failed} passed, {failed} failed" + (f", {len(missing)} skipped" if missing else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
