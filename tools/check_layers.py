#!/usr/bin/env python3
"""Checks every #include in include/ and src/ against the order of the layers, which ARCHITECTURE.md states in one line:

    Order: `net` > `io` > ...

A file may include only headers of its own layer or of layers after it in that line. The layer of a file is its folder below
include/coracle/ or src/; `testing` may include all of them, and only the SEAMS include it. --self-test breaks the rule
in each direction and checks that this is found.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = re.compile(r"^Order: ((?:`\w+`(?: >\s)?)+)\.?$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<coracle/(\w+)/[^>]+>|"((?:\.\./)+\w+/[^"]+)")', re.MULTILINE)
TESTING = "testing"
UMBRELLAS = {"include/coracle/coracle.hpp", "include/coracle/io.hpp", "include/coracle/testing.hpp"}
# In a program that is compiled for the model checker its types stand in for the processor's.
SEAMS = {f"include/coracle/base/{name}.hpp" for name in ("atomic", "builtin_atomic", "plain", "thread")}


def layers(architecture):
    found = ORDER.search(architecture)
    if not found:
        sys.exit("check_layers: ARCHITECTURE.md has no line `Order: ...`")
    return re.findall(r"`(\w+)`", found[1])


def layer_of(path):
    return path.parts[2] if path.parts[0] == "include" else path.parts[1]


def wrong_includes(path, text, order):
    """Returns the includes from layers above that of `path`. A layer missing from the order counts as the highest."""
    def height(layer):
        return len(order) if layer == TESTING else len(order) - 1 - order.index(layer) if layer in order else len(order) + 1

    own = layer_of(path)
    for match in INCLUDE.finditer(text):
        relative = match[2]
        target = match[1] or layer_of(Path(*(path.parent / relative).resolve().relative_to(ROOT).parts))
        if height(target) > height(own) and not (target == TESTING and str(path) in SEAMS):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: `{own}` includes from `{target}`, which is not below it"


def check(order):
    paths = [path.relative_to(ROOT) for folder in ("include/coracle", "src") for path in sorted((ROOT / folder).rglob("*.[hc]pp"))]
    checked = [path for path in paths if str(path) not in UMBRELLAS]
    wrong = [each for path in checked for each in wrong_includes(path, (ROOT / path).read_text(), order)]
    unknown = {layer_of(path) for path in checked} - {*order, TESTING}
    wrong += [f"ARCHITECTURE.md: the order of layers lacks `{each}`" for each in sorted(unknown)]
    unused = set(order) - {layer_of(path) for path in checked}
    wrong += [f"ARCHITECTURE.md: there is no layer `{each}`" for each in sorted(unused)]
    return len(checked), wrong


def self_test():
    order = ["high", "low"]
    cases = [("include/coracle/high/a.hpp", "#include <coracle/low/b.hpp>\n", 0),
             ("include/coracle/low/b.hpp", "#include <coracle/high/a.hpp>\n", 1),
             ("include/coracle/low/b.hpp", "#include <coracle/low/c.hpp>\n#include <coracle/nowhere/c.hpp>\n", 1),
             ("include/coracle/low/b.hpp", "// #include <coracle/high/a.hpp>\n", 0),
             ("include/coracle/low/b.hpp", "#include <coracle/testing/a.hpp>\n", 1),
             ("src/low/b.cpp", '#include "../high/a.hpp"\n', 1),
             ("src/high/a.cpp", '#include "../low/b.hpp"\n#include "a.hpp"\n', 0),
             ("src/testing/simulation/a.cpp", "#include <coracle/high/a.hpp>\n", 0)]
    for name, text, expected in cases:
        found = list(wrong_includes(Path(name), text, order))
        if len(found) != expected:
            sys.exit(f"check_layers: self-test: {name}: {text!r}: found {found}, expected {expected}")
    print(f"check_layers: {len(cases)} cases of the self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit(__doc__)
    order = layers((ROOT / "ARCHITECTURE.md").read_text())
    count, wrong = check(order)
    print(*wrong, f"check_layers: {count} files, {len(order)} layers, {len(wrong)} includes against their order", sep="\n")
    return 1 if wrong else 0


sys.exit(main())
