#!/usr/bin/env python3
"""Compiles every header of coracle and of compat/ alone and twice in one unit, with all warnings, under each
compiler; then links two units that include all of them.

--no-exceptions: the header-only part, core/, sync/ and compose/, with -fno-exceptions.
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


def compile_alone(compiler, header, flags):
    source = f"#include <{header}>\n#include <{header}>\n"
    command = [compiler, *FLAGS, *flags, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True)


def link_two_units(compiler):
    """A relocatable link: a function defined in a header without `inline` collides, and no library is needed."""
    source = "".join(f"#include <{header}>\n" for header in headers("coracle", "cppcoro"))
    with tempfile.TemporaryDirectory() as folder:
        units = [Path(folder, name) for name in ("first.cpp", "second.cpp")]
        for unit in units:
            unit.write_text(source)
        command = [compiler, *FLAGS, "-nostdlib", "-r", "-o", Path(folder, "both.o"), *units]
        return subprocess.run(command, text=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-exceptions", action="store_true")
    no_exceptions = parser.parse_args().no_exceptions

    flags = ["-fno-exceptions"] if no_exceptions else []
    folders = ["coracle/core", "coracle/sync", "coracle/compose"] if no_exceptions else ["coracle", "cppcoro"]
    missing = [compiler for compiler in COMPILERS if not shutil.which(compiler)]
    jobs = []
    with ThreadPoolExecutor(2) as pool:
        for compiler in (compiler for compiler in COMPILERS if compiler not in missing):
            if not no_exceptions:
                jobs.append((f"{compiler} two units", pool.submit(link_two_units, compiler)))
            for header in headers(*folders):
                jobs.append((f"{compiler} {header}", pool.submit(compile_alone, compiler, header, flags)))

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
