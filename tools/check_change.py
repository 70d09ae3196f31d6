#!/usr/bin/env python3
"""Checks what a change may have broken, in about a minute: `./dev check [COMMIT]`.

The change is the difference from COMMIT (default: HEAD), including new files. It runs the checks of the whole tree that
take a few seconds, format and lint of the changed files, and the unit tests and models that include changed files,
the nearest first, until the time is used up; it prints how many are left for `./dev test`.
"""
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 75  # after which no further test is begun
PER_ROUND = 8  # unit tests that are compiled and linked together
CHECKS = ["tools/check_layers.py", "tools/check_orders.py", "tools/check_cancellation.py", "tools/source_mutants.py --texts",
          "tools/statement_mutants.py --rows", "tools/check_docs.py links", "tools/check_docs.py headers",
          "tests/headers/check_lines.py", "tools/module_unit.py --check"]
# Not --dry-run --Werror, which complains of a comment behind a namespace that it replaces by the same text.
FORMATTED = 'wrong=0; for each; do clang-format-22 "$each" | diff -u "$each" - || wrong=1; done; exit $wrong'
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def changed_files(commit):
    def names(*command):
        result = subprocess.run(["git", "-C", ROOT, *command], text=True, capture_output=True)
        if result.returncode:
            sys.exit(f"dev check: {result.stderr.strip()}")
        return result.stdout.split()

    found = names("diff", "--name-only", "--diff-filter=d", commit) + names("ls-files", "--others", "--exclude-standard")
    return sorted(set(found))


def included_by():
    """Maps each file to the files that include it. Goes by name, without the preprocessor."""
    users = {}
    for path in (path for folder in ("include", "compat", "src", "tests") for path in (ROOT / folder).rglob("*.[hc]pp")):
        for name in INCLUDE.findall(path.read_text()):
            places = (ROOT / "include" / name, ROOT / "compat" / name, path.parent / name)
            target = next((place.resolve() for place in places if place.is_file()), None)
            if target:
                users.setdefault(str(target.relative_to(ROOT)), []).append(str(path.relative_to(ROOT)))
    return users


def nearest_users(changed, users):
    """Returns the changed files and all that include them, direct includers first."""
    # A source file has no user: the tests of its header are its tests.
    start = [*changed, *(f"include/coracle/{Path(file).relative_to('src').with_suffix('.hpp')}" for file in changed
                         if file.startswith("src/") and file.endswith(".cpp"))]
    order, seen = list(start), set(start)
    for file in order:
        new = [user for user in users.get(file, []) if user not in seen]
        seen.update(new)
        order += new
    return order


def run(name, command, log):
    start = time.monotonic()
    result = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    log.append(result.returncode == 0)
    print(f"{name} ... {'passed' if log[-1] else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
    if not log[-1]:
        print("\n".join(result.stdout.splitlines()[-40:]))


def run_tests(kind, names, together, begun, log):
    """Returns how many tests were not run because the time was used up."""
    for first in range(0, len(names), together):
        if time.monotonic() - begun > SECONDS:
            return len(names) - first
        some = names[first:first + together]
        run(f"{kind} {' '.join(some)}", ["./dev", kind, *some], log)
    return 0


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        sys.exit("usage: check_change.py [COMMIT]")
    begun, log = time.monotonic(), []
    commit = sys.argv[1] if sys.argv[1:] else "HEAD"
    changed = changed_files(commit)
    if not changed:
        print(f"nothing differs from {commit}; ./dev check COMMIT compares with an older one")
        return 0
    for check in CHECKS:
        run(check, check.split(), log)
    sources = [file for file in changed if file.endswith((".hpp", ".cpp"))]
    if sources:
        run("clang-format-22", ["bash", "-c", FORMATTED, "formatted", *sources], log)
    run("tools/lint_coroutines.py", ["tools/lint_coroutines.py", "--require-parser", *changed], log)
    affected = nearest_users(sources, included_by())
    units = [Path(file).stem.removesuffix("_test") for file in affected if file.startswith(("tests/unit/", "tests/compat/"))
             and file.endswith("_test.cpp")]
    models = [Path(file).stem for file in affected if re.fullmatch(r"tests/model/\w+\.cpp", file)]
    left = run_tests("unit", units[:PER_ROUND], PER_ROUND, begun, log)
    left_models = run_tests("model", models, 1, begun, log)
    left += run_tests("unit", units[PER_ROUND:], PER_ROUND, begun, log)
    if left or left_models:
        print(f"left for ./dev test: {left} of {len(units)} files of unit tests, {left_models} of {len(models)} models")
    print(f"{log.count(True)} passed, {log.count(False)} failed, {time.monotonic() - begun:.0f} s")
    return 0 if all(log) else 1


sys.exit(main())
