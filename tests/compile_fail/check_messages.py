#!/usr/bin/env python3
"""Checks that wrong programs do not compile, and that the compiler says why.

Each .cpp here states `// expect: <text>` in its first lines and keeps its wrong line inside
`#ifndef CORACLE_COMPILE_FAIL_CONTROL`. Under each compiler it must fail with exactly one `error:` line that
stands in at most 11 lines of output, among them every expected text; without the wrong line it must compile.
A program that uses the result of the wrong line states `// expect first: <text>`: the text stands in the first error,
and the compiler's complaints about the result may follow.
All of coracle is precompiled for most, so lines on how a header came to be included are not those of a user, and not counted.

check_messages.py [NAME...]: all of them, or those whose names are given, without .cpp.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
COMPILERS = ["g++-12", "clang++-22"]
MAX_LINES = 11
CONTROL = "CORACLE_COMPILE_FAIL_CONTROL"
EXPECT = "// expect:"
EXPECT_FIRST = "// expect first:"
# Headers that g++ parses in a third of the time that it takes to load all of coracle precompiled.
SMALL = re.compile(r"coracle/(core/(task|promise_parts)|generators/\w+|utility/\w+)\.hpp")
INCLUDED_FROM = re.compile(r"In file included from |\s+from ")


def run_compiler(compiler, source, *flags):
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", "-fsyntax-only", *flags, source]
    return subprocess.run(command, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})


def expected_texts(source, mark):
    texts = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        if line.startswith(mark):
            texts.append(line[len(mark):].strip())
    return texts


def precompile(compiler, folder):
    """All of coracle, parsed once, as flags for the programs."""
    header, flags = Path(folder, "coracle.hpp"), []
    header.write_text("#include <coracle/coracle.hpp>\n")
    if compiler.startswith("clang"):
        output, use = header.with_suffix(".pch"), ["-include-pch", header.with_suffix(".pch")]
        flags = ["-fpch-instantiate-templates"]  # once, and not in each program: three quarters of its time
    else:
        output, use = header.with_suffix(".hpp.gch"), ["-include", header]
    subprocess.run([compiler, "-std=c++20", f"-I{INCLUDE}", *flags, "-x", "c++-header", header, "-o", output], check=True)
    return use


def all_compile(compiler, sources, folder, precompiled):
    """Whether all compile without their wrong lines, in one unit, each in a namespace: a tenth of the time that they take
    one by one."""
    texts = [source.read_text() for source in sources]
    includes = sorted({line for text in texts for line in text.splitlines() if line.startswith("#include")})
    bodies = [f'namespace {source.stem} {{\n#include "{source}"\n}}' for source in sources]
    unit = Path(folder, f"{compiler}.cpp")
    unit.write_text("\n".join([*includes, *bodies, ""]))
    return run_compiler(compiler, unit, f"-D{CONTROL}", *precompiled).returncode == 0


def complaints(compiler, source, precompiled, compiles):
    """Returns what is wrong with this test under this compiler, or nothing. `compiles`: the test is known to compile without
    its wrong line."""
    texts, first = expected_texts(source, EXPECT), expected_texts(source, EXPECT_FIRST)
    if not all(texts + first) or not texts + first:
        return [f"its first lines hold no `{EXPECT} <text>`"], ""
    if CONTROL not in source.read_text():
        return [f"it has no `#ifndef {CONTROL}`"], ""
    if not compiles:
        control = run_compiler(compiler, source, f"-D{CONTROL}", *precompiled)
        if control.returncode != 0:
            return ["it does not compile without its wrong line either"], control.stderr

    is_small = all(map(SMALL.fullmatch, re.findall("#include <(coracle/.*)>", source.read_text())))
    result = run_compiler(compiler, source, *([] if is_small and compiler.startswith("g++") else precompiled))
    output = result.stderr
    found = []
    if result.returncode == 0:
        found.append("it compiles")
    found += [f"the output does not hold: {text}" for text in texts if text not in output]
    errors = [line for line in output.splitlines() if "error:" in line]
    found += [f"the first error does not hold: {text}" for text in first if text not in "".join(errors[:1])]
    if first:
        return found, output
    if len(errors) != 1:
        found.append(f"{len(errors)} `error:` lines, not 1")
    lines = sum(not INCLUDED_FROM.match(line) for line in output.splitlines())
    if lines > MAX_LINES:
        found.append(f"{lines} lines of output, more than {MAX_LINES}")
    return found, output


def main():
    sources = [HERE / f"{name}.cpp" for name in sys.argv[1:]] or sorted(HERE.glob("*.cpp"))
    unknown = [source.name for source in sources if not source.is_file()]
    if unknown or not sources:
        sys.exit(f"no such tests in {HERE}: {' '.join(unknown)}")
    missing = [compiler for compiler in COMPILERS if not shutil.which(compiler)]
    present = [compiler for compiler in COMPILERS if compiler not in missing]
    cases = [(compiler, source) for compiler in present for source in sources]
    failed = 0
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
        precompiled = {compiler: precompile(compiler, folder) for compiler in present}
        compile_all = lambda compiler: all_compile(compiler, sources, folder, precompiled[compiler])
        compiles = dict(zip(present, pool.map(compile_all, present)))
        check = lambda case: complaints(*case, precompiled[case[0]], compiles[case[0]])
        for (compiler, source), (found, output) in zip(cases, pool.map(check, cases)):
            if found:
                failed += 1
                print(f"FAILED {compiler} {source.name}: " + "; ".join(found))
                print("\n".join("    " + line for line in output.splitlines()[:30]))
    for compiler in missing:
        print(f"skipped: {compiler} is not installed")
    print(f"{len(cases) - failed} passed, {failed} failed" + (f", {len(missing)} skipped" if missing else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
