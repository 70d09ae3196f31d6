#!/usr/bin/env python3
"""Writes modules/coracle.cppm, which exports every public name of coracle, coracle::io and coracle::tls for `import coracle;`.

usage: module_unit.py           writes it
       module_unit.py --check   fails if it is not what would be written, or leaves out a name of docs/headers.md

libclang finds the names: all in namespace coracle, but for those in coracle::detail and coracle::testing.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools/coracle_lint"))
import parsed_form  # noqa: E402

UNIT = ROOT / "modules/coracle.cppm"
HEADERS = ["coracle/coracle.hpp", "coracle/core/static_heap.hpp", "coracle/generators/pmr_generator.hpp",
           "coracle/inspect/inspector.hpp", "coracle/inspect/runtime_metrics.hpp", "coracle/io.hpp", "coracle/tls/connect.hpp"]
HEAD = """// coracle as a module: `import coracle;`. Made by tools/module_unit.py from the headers, which remain the primary form: what
// a macro of theirs decides is decided where this file is compiled.
// SPDX-License-Identifier: MIT
module;
{includes}
export module coracle;

"""


def headers(include=ROOT / "include"):
    """Those of HEADERS that the folder contains, which may be an earlier version's."""
    return [header for header in HEADERS if (include / header).exists()]


def public_declarations(include=ROOT / "include"):
    """Every public declaration that the headers in that folder contain, with the namespaces that it is in."""
    why = parsed_form.why_missing()
    if why:
        sys.exit(f"module_unit: {why}")
    cindex = parsed_form.cindex
    unit = cindex.Index.create().parse(
        "names.cpp", ["-std=c++20", f"-I{include}", "-w"],
        [("names.cpp", "".join(f"#include <{header}>\n" for header in headers(include)))],
        cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    for found in unit.diagnostics:
        if found.severity >= cindex.Diagnostic.Error:
            sys.exit(f"module_unit: {found}")

    def walk(cursor, inside):
        for child in cursor.get_children():
            if child.kind == cindex.CursorKind.NAMESPACE:
                if (inside or child.spelling == "coracle") and child.spelling not in ("", "testing"):
                    yield from walk(child, [*inside, child.spelling])
            elif inside and is_public(child, inside):
                yield inside, child

    yield from walk(unit.cursor, [])


def names():
    """The names to export by namespace."""
    all_names = {}
    for inside, cursor in public_declarations():
        all_names.setdefault("::".join(inside), set()).add(cursor.spelling)
    return all_names


def is_public(cursor, inside):
    """Returns True for what a namespace itself declares, and for operators in detail, which ADL finds."""
    if cursor.semantic_parent.kind != parsed_form.cindex.CursorKind.NAMESPACE:
        return False  # a member, defined outside of its class
    if re.fullmatch(r"operator\W+", cursor.spelling):
        return True
    return "detail" not in inside and bool(re.fullmatch(r"\w+", cursor.spelling))


def text_of(all_names):
    out = HEAD.format(includes="\n".join(f"#include <{header}>" for header in HEADERS))
    for inside in sorted(all_names):
        lines = "".join(f"using {inside}::{name};\n" for name in sorted(all_names[inside]))
        out += f"export namespace {inside} {{\n{lines}}}  // namespace {inside}\n"
    return out


def missing(all_names):
    """Names of docs/headers.md that are not exported."""
    page = (ROOT / "docs/headers.md").read_text().partition("\n## Tests of yours")[0]
    for names_of_row in re.findall(r"^\| `\S+\.hpp` \|(.*?)\| .* \|$", page, re.MULTILINE):
        for name in re.findall(r"`([\w:]+)`", names_of_row):
            inside, _, last = ("coracle::" + name).rpartition("::")
            if last not in all_names.get(inside, ()):
                yield name


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    all_names = names()
    complaints = [f"not exported: {name}" for name in missing(all_names)]
    if not sys.argv[1:]:
        UNIT.write_text(text_of(all_names))
    elif UNIT.read_text() != text_of(all_names):
        complaints.append("modules/coracle.cppm is not what tools/module_unit.py writes: run it")
    print("\n".join([*complaints, f"{sum(map(len, all_names.values()))} names exported"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
