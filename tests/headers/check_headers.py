#!/usr/bin/env python3
"""Compiles every header of coracle and of compat/ by itself, twice in one unit, with one compiler, because a missing include
does not depend on it; what another header includes first is compiled with that one. Then links two units that include all
of them, with each compiler. All warnings are enabled.

--no-exceptions: all headers in one unit with -fno-exceptions and -fno-rtti.
--refused: in an unsupported environment each header ends the compilation with one error that says what is needed.
"""
import argparse
import functools
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
FOR_ONE = "clang++-22"  # compiles each header by itself
# Precompiled for the headers that include them: such a header cannot lack what it includes.
BASES = ["coracle/core/environment.hpp", "coracle/base/atomic.hpp"]
FLAGS = ["-std=c++20", *(f"-I{folder}" for folder in FOLDERS), "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
         "-Werror", "-pthread"]
ONLY_OF_GCC = ["-Wuseless-cast"]  # a warning that clang lacks


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


def text_of(name):
    return next(folder / name for folder in FOLDERS if (folder / name).exists()).read_text()


@functools.cache
def included_by(name):
    """The headers of FOLDERS that this one includes, itself or through others, on no condition."""
    direct = re.findall(r"^#include <((?:coracle|cppcoro)/.*)>", text_of(name).split("#if")[0], re.MULTILINE)
    return {*direct}.union(*map(included_by, direct))


def base_of(name):
    return next((base for base in BASES if base in included_by(name)), None)


def without_first_includes(names):
    """These headers but for each that another one includes before anything else, with no base that it does not include."""
    first = set()
    for name in names:
        found = re.match(r"(?://.*\n|\n|#pragma once\n)*#include <(.*)>", text_of(name))
        if found and base_of(name) in (None, found[1], found[1] in names and base_of(found[1])):
            first.add(found[1])
    return [name for name in names if name not in first]


def includes(names):
    return "".join(f"#include <{name}>\n" for name in names)


def compile_unit(compiler, names, *flags):
    command = [compiler, *FLAGS, *flags, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=includes(names), text=True, capture_output=True)


def precompile(base, folder):
    header = Path(folder, base.replace("/", "_"))
    header.write_text(includes([base]))
    output = header.with_suffix(".pch")
    subprocess.run([FOR_ONE, *FLAGS, "-fpch-instantiate-templates", "-x", "c++-header", header, "-o", output], check=True)
    return ["-include-pch", output]


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
    """A relocatable link of one unit with itself: a function defined in a header without `inline` collides, and no library is
    needed."""
    with tempfile.TemporaryDirectory() as folder:
        unit, object_file = Path(folder, "unit.cpp"), Path(folder, "unit.o")
        unit.write_text(includes(headers("coracle", "cppcoro")))
        flags = FLAGS + ONLY_OF_GCC if compiler.startswith("g++") else FLAGS
        compiled = subprocess.run([compiler, *flags, "-c", unit, "-o", object_file], text=True, capture_output=True)
        if compiled.returncode != 0:
            return compiled
        command = [compiler, "-nostdlib", "-r", "-o", Path(folder, "both.o"), object_file, object_file]
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
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for compiler in (compiler for compiler in COMPILERS if compiler not in missing):
            if no_exceptions:
                names = headers("coracle", "cppcoro")
                flags = ("-fno-exceptions", "-fno-rtti")
                jobs.append((compiler, pool.submit(compile_unit, compiler, names, *flags)))
                continue
            jobs.append((f"{compiler} two units", pool.submit(link_two_units, compiler)))
        if not no_exceptions and FOR_ONE not in missing:
            precompiled = {None: []} | {base: precompile(base, folder) for base in BASES}
            for header in without_first_includes(headers("coracle", "cppcoro")):
                flags = precompiled[base_of(header)]
                jobs.append((header, pool.submit(compile_unit, FOR_ONE, [header, header], *flags)))

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
