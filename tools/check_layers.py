#!/usr/bin/env python3
"""Checks every #include in include/ and src/ against the order of the layers, which ARCHITECTURE.md states in one line:

    Order: `net` > `io` > ...

A file may include only headers of its own layer or of layers after it in that line. The layer of a file is its folder below
include/coracle/ or src/; `testing` may include all of them, and only the SEAMS include it.

Nor may a header call a layer above its own through a declaration: a function is defined in a layer that declares it. A hook,
which is declared [[gnu::weak]], may be defined above, and `testing` defines what the model checker replaces.

Nor may two headers share the name of a function in coracle::detail where that of one is a template for any type: which of them
is called would depend on what is included. --self-test breaks the rules in each direction and checks that this is found.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = re.compile(r"^Order: ((?:`\w+`(?: >\s)?)+)\.?$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<coracle/(\w+)/[^>]+>|"((?:\.\./)+\w+/[^"]+)")', re.MULTILINE)
TYPE = re.compile(r"^\s*(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?: final)?\s*(?::[^;{]*)?\{", re.MULTILINE)
FUNCTION = re.compile(r"^(?!using|friend)(?:\[\[[\w:]+\]\] |CORACLE_\w+\(\) )*[a-zA-Z][\w:<>&*, ]*? [&*]*((?:\w+::)*\w+)"
                      r"\((?:[^(){};]|\([^()]*\))*\)[\w\s]*([;{])", re.MULTILINE)
ANONYMOUS = re.compile(r"^namespace \{\n.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
DETAIL = re.compile(r"^namespace (?:coracle::)?detail \{$.*?^\}  // namespace (?:coracle::)?detail$", re.MULTILINE | re.DOTALL)
OVERLOAD = re.compile(r"^(template <class [\w, .]+>\n)?(?:CORACLE_\w+\(\)\s)*[a-zA-Z][\w:<>&*,. ()]*? [&*]*(?!CORACLE_)(\w+)"
                      r"\((?:[^(){};]|\([^()]*\))*\)[\w\s]*\{", re.MULTILINE)
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


def misplaced_functions(files):
    """Yields the functions of `files` (texts by path) that only a layer which does not declare them defines."""
    declared_in, type_in, defined = {}, {}, []
    for path, text in files.items():
        layer = layer_of(path)
        for match in TYPE.finditer(text):
            type_in.setdefault(match[1], set()).add(layer)
        for match in FUNCTION.finditer(ANONYMOUS.sub(lambda inner: "\n" * inner[0].count("\n"), text)):
            *outer, name = match[1].split("::")
            line = text.count("\n", 0, match.start()) + 1
            if match[2] == "{":
                defined.append((f"{path}:{line}", layer, outer[-1] if outer else "", name))
            elif path.suffix == ".hpp":
                declared_in.setdefault(name, set()).add(TESTING if "[[gnu::weak]]" in match[0] else layer)
    for place, layer, outer, name in defined:
        owners = type_in.get(outer) or declared_in.get(name) or {layer}
        if not {layer, TESTING} & {*owners} and layer != TESTING:
            yield f"{place}: `{layer}` defines `{name}`, which `{'`, `'.join(sorted(owners))}` declares"


def ambiguous_names(files):
    """Yields the names of functions in coracle::detail that headers of `files` share, where one takes any type."""
    headers, takes_any = {}, set()
    for path, text in files.items():
        for match in (each for part in DETAIL.findall(text) for each in OVERLOAD.finditer(part)):
            if path.suffix == ".hpp":
                headers.setdefault(match[2], set()).add(str(path))
                if match[1]:
                    takes_any.add(match[2])
    for name in sorted(takes_any):
        if len(headers[name]) > 1:
            yield f"{' and '.join(sorted(headers[name]))}: each has a detail::{name}(), and one of them takes any type"


def check(order):
    paths = [path.relative_to(ROOT) for folder in ("include/coracle", "src") for path in sorted((ROOT / folder).rglob("*.[hc]pp"))]
    checked = [path for path in paths if str(path) not in UMBRELLAS]
    texts = {path: (ROOT / path).read_text() for path in checked}
    wrong = [each for path, text in texts.items() for each in wrong_includes(path, text, order)]
    wrong += misplaced_functions(texts)
    wrong += ambiguous_names(texts)
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
    declares = {Path("include/coracle/low/a.hpp"): "namespace low {\nvoid f(int) noexcept;\n[[gnu::weak]] void hook();\n"
                                                   "struct part {\n  int g();\n};\n}\n"}
    functions = [("src/low/a.cpp", "void f(int number) noexcept {\n}\nint part::g() {\n}\n", 0),
                 ("src/high/a.cpp", "void f(int number) noexcept {\n}\n", 1),
                 ("src/high/a.cpp", "int low::part::g() {\n}\n", 1),
                 ("src/high/a.cpp", "void hook() {\n}\nvoid own() {\n}\nint other::f() {\n}\nclass other {\n};\n", 0),
                 ("src/high/a.cpp", "namespace {\nvoid f(int number) noexcept {\n}\n}  // namespace\n", 0),
                 ("src/testing/a.cpp", "void f(int number) noexcept {\n}\n", 0)]
    for name, text, expected in functions:
        found = list(misplaced_functions({**declares, Path(name): text}))
        if len(found) != expected:
            sys.exit(f"check_layers: self-test: {name}: {text!r}: found {found}, expected {expected}")
    any_type = "namespace coracle {\nnamespace detail {\ntemplate <class F>\nCORACLE_COLD()\nint call(F&& f) {\n}\n}  // namespace detail\n}\n"
    names = [("void call(int n) noexcept {\n}\n", 1), ("template <class T>\ndecltype(auto) call(T t) {\n}\n", 1),
             ("void other(int n) {\n  call(n);\n}\nvoid call(int n);\n", 0)]
    for text, expected in names:
        second = "namespace coracle::detail {\n" + text + "}  // namespace coracle::detail\n"
        found = list(ambiguous_names({Path("include/coracle/a.hpp"): any_type, Path("include/coracle/b.hpp"): second}))
        if len(found) != expected:
            sys.exit(f"check_layers: self-test: {text!r}: found {found}, expected {expected}")
    print(f"check_layers: {len(cases) + len(functions) + len(names)} cases of the self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit(__doc__)
    order = layers((ROOT / "ARCHITECTURE.md").read_text())
    count, wrong = check(order)
    print(*wrong, f"check_layers: {count} files, {len(order)} layers, {len(wrong)} breaches of their order", sep="\n")
    return 1 if wrong else 0


sys.exit(main())
