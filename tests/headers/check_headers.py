#!/usr/bin/env python3
"""Compiles every header of coracle and of compat/ by itself, twice in one unit, with g++, because a missing include does not
depend on the compiler; what another header includes first is compiled with that one. Then links two units that include all
of them, with each compiler. All warnings are enabled.

--no-exceptions: all headers in one unit with -fno-exceptions and -fno-rtti.
--refused: in an unsupported environment each header ends the compilation with one error that says what is needed.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "include", ROOT / "compat"]
COMPILERS = ["g++-12", "clang++-19", "clang++-22"]
FLAGS = ["-std=c++20", *(f"-I{folder}" for folder in FOLDERS), "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
         "-Werror", "-pthread"]


# Other compilers and targets are played by these two, which then say that they are those.
REFUSED = [
    ("g++-12", ["-std=c++17"], "coracle needs C++20: compile with -std=c++20 or later"),
    ("clang++-22", ["-std=c++17"], "coracle needs C++20: compile with -std=c++20 or later"),
    ("g++-12", ["-U__GNUC__", "-D__GNUC__=11"], "coracle needs g++ 12 or later, or clang 19 or later"),
    ("clang++-22", ["-U__clang_major__", "-D__clang_major__=14"], "coracle needs clang 19 or later, or g++ 12 or later"),
    ("clang++-14", [], "coracle needs clang 19 or later, or g++ 12 or later"),
    ("g++-12", ["-U__LP64__"], "coracle needs a 64-bit target: compile without -m32"),
    ("g++-12", ["-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__"], "coracle needs a little-endian target"),
    ("clang++-22", ["-U__linux__"], "coracle needs Linux"),
]
# What programs include, and each header that needs C++20 without including another one of coracle's.
REFUSING = ["coracle/coracle.hpp", "coracle/io.hpp", "coracle/testing.hpp", "cppcoro/task.hpp", "cppcoro/coroutine.hpp",
            "coracle/utility/on_scope_exit.hpp", "coracle/core/task.hpp", "coracle/generators/generator.hpp",
            "coracle/utility/detail/expected_storage.hpp", "coracle/net/ipv4_address.hpp", "coracle/net/socket.hpp",
            "coracle/sync/sequence_traits.hpp", "coracle/testing/model/model_check.hpp", "coracle/testing/model/detail/memory.hpp"]


def headers(*names):
    """The headers below these folders of include/ or compat/."""
    found = []
    for name in names:
        inside = sorted(str(path.relative_to(root)) for root in FOLDERS for path in (root / name).rglob("*.hpp"))
        if not inside:
            sys.exit(f"no headers in {name}")
        found += inside
    return found


def without_first_includes(names):
    """These headers but for each that another one includes before anything else."""
    first = set()
    for name in names:
        text = next(folder / name for folder in FOLDERS if (folder / name).exists()).read_text()
        if found := re.match(r"(?://.*\n|\n|#pragma once\n)*#include <(.*)>", text):
            first.add(found[1])
    return [name for name in names if name not in first]


def includes(names):
    return "".join(f"#include <{name}>\n" for name in names)


def compile_unit(compiler, names, *flags):
    command = [compiler, *FLAGS, *flags, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=includes(names), text=True, capture_output=True)


def is_refused(compiler, name, flags, text):
    """Returns what is wrong, or None."""
    command = [compiler, "-std=c++20", *(f"-I{folder}" for folder in FOLDERS), "-Wno-builtin-macro-redefined", *flags,
               "-fsyntax-only", "-x", "c++", "-"]
    said = subprocess.run(command, input=includes([name]), text=True, capture_output=True).stderr
    errors = [line for line in said.splitlines() if "error:" in line]
    return None if len(errors) == 1 and text in errors[0] else f"not one error that says: {text}\n{said}"


def check_refused():
    missing = {compiler for compiler, _, _ in REFUSED if not shutil.which(compiler)}
    jobs = []
    with ThreadPoolExecutor(2) as pool:
        for compiler, flags, text in (case for case in REFUSED if case[0] not in missing):
            for name in REFUSING:
                jobs.append((" ".join([compiler, *flags, name]), pool.submit(is_refused, compiler, name, flags, text)))
    failed = 0
    for name, job in jobs:
        if wrong := job.result():
            failed += 1
            print(f"FAILED {name}\n" + "\n".join(wrong.splitlines()[:12]))
    for compiler in missing:
        print(f"skipped: {compiler} is not installed")
    print(f"{len(jobs) - failed} passed, {failed} failed" + (f", {len(missing)} skipped" if missing else ""))
    return 1 if failed else 0


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
    parser.add_argument("--refused", action="store_true")
    arguments = parser.parse_args()
    no_exceptions = arguments.no_exceptions
    if arguments.refused:
        return check_refused()

    missing = [compiler for compiler in COMPILERS if not shutil.which(compiler)]
    jobs = []
    with ThreadPoolExecutor(2) as pool:
        for compiler in (compiler for compiler in COMPILERS if compiler not in missing):
            if no_exceptions:
                names = headers("coracle", "cppcoro")
                flags = ("-fno-exceptions", "-fno-rtti")
                jobs.append((compiler, pool.submit(compile_unit, compiler, names, *flags)))
                continue
            jobs.append((f"{compiler} two units", pool.submit(link_two_units, compiler)))
            alone = without_first_includes(headers("coracle", "cppcoro")) if compiler == COMPILERS[0] else []
            for header in alone:
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
