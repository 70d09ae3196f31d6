#!/usr/bin/env python3
"""Checks that the programs which a preset may compile as one would compile by themselves: each includes what declares the names and
macros that it uses, itself or through what it includes.

  check_includes.py               of the examples, stress programs and simulations
  check_includes.py --self-test   of known programs
"""
import functools
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/coracle_lint"))
import parsed_form  # noqa: E402

FLAGS = ["-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/tests", "-w"]
GROUPS = ["examples/[0-9]*.cpp", "tests/stress/*.cpp", "tests/simulation/*.cpp"]
# What cannot stand in a namespace, or has to come before an include, is compiled by itself.
ALONE = re.compile(r"^#define CORACLE|^#include <coracle/testing/model/|COUNT_ALLOCATIONS", re.MULTILINE)
cindex = parsed_form.cindex
DETAILED_RECORD = 1  # CXTranslationUnit_DetailedPreprocessingRecord: with macros and inclusions
INCOMPLETE = 2  # CXTranslationUnit_Incomplete: without instantiating what is used, which takes as long again


def parse_together(files):
    """Each file in a namespace of its own."""
    headers = sorted({line.replace('#include "', f'#include "{file.parent}/') for file in files
                      for line in file.read_text().splitlines() if line.startswith("#include")})
    bodies = [f'namespace file_{number} {{\n#include "{file}"\n}}' for number, file in enumerate(files)]
    path = str(files[0].parent / "together.cpp")
    text = "\n".join([*headers, *bodies])
    unit = cindex.Index.create().parse(path, FLAGS, [(path, text)], DETAILED_RECORD | INCOMPLETE)
    for found in unit.diagnostics:
        if found.severity >= cindex.Diagnostic.Error:
            sys.exit(f"{found.location.file}:{found.location.line}: {found.spelling}")
    return unit


real_path = functools.cache(os.path.realpath)


def file_of(cursor):
    """Where it is written; empty: in the compiler."""
    file = cursor.location.file
    return real_path(file.name) if file else ""


def inclusions(unit):
    """What each file includes by itself."""
    found = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind == cindex.CursorKind.INCLUSION_DIRECTIVE and cursor.get_included_file():
            found.setdefault(file_of(cursor), set()).add(real_path(cursor.get_included_file().name))
    return found


def all_included(file, included_by):
    """The file, what it includes, what that includes, and so on."""
    found, new = set(), [file]
    while new:
        each = new.pop()
        if each not in found:
            found.add(each)
            new += included_by.get(each, ())
    return found


def declaration(cursor):
    """What it refers to; of several, which an instantiation will choose from, the first."""
    library = cindex.conf.lib
    if cursor.kind != cindex.CursorKind.OVERLOADED_DECL_REF or not library.clang_getNumOverloadedDecls(cursor):
        return cursor.referenced
    found = library.clang_getOverloadedDecl(cursor, 0)
    found._tu = cursor._tu  # which keeps it alive
    return found


def uses(unit, files):
    """(file, line, name, the files that declare it) of each name and macro in these files, where it is used first."""
    seen = set()
    for top in unit.cursor.get_children():
        file = file_of(top) if top.kind == cindex.CursorKind.MACRO_INSTANTIATION else ""
        if top.kind == cindex.CursorKind.NAMESPACE and top.spelling.startswith("file_"):
            file = str(files[int(top.spelling.removeprefix("file_"))])
        if not file:
            continue
        for cursor in top.walk_preorder():
            declared = declaration(cursor)
            if declared is None or declared.kind == cindex.CursorKind.NAMESPACE or (file, declared.hash) in seen:
                continue
            seen.add((file, declared.hash))
            known = filter(None, (declared, declared.canonical, declared.get_definition()))
            yield file, cursor.location.line, declared.spelling, {file_of(each) for each in known}


def is_of_compiler(name, file):
    return not file or "/lib/clang/" in file or name.startswith("__builtin_")


def complaints(files):
    unit = parse_together(files)
    included_by = inclusions(unit)
    closures = {str(file): all_included(str(file), included_by) for file in files}
    found = {}
    for file, line, name, declared_in in uses(unit, files):
        if file in closures and not declared_in & closures[file] and not all(is_of_compiler(name, each) for each in declared_in):
            found.setdefault((file, sorted(declared_in)[0]), (line, name))
    return [f"{file}:{line}: {name} is declared in {header}, which is not included" for (file, header), (line, name) in found.items()]


def groups():
    for pattern in GROUPS:
        yield [file for file in sorted(ROOT.glob(pattern)) if not ALONE.search(file.read_text())]


def self_test():
    whole = "#include <coracle/compose/when_all.hpp>\n#include <cassert>\n#include <map>\n" \
            "template <class T>\nauto both(T of) {\n  return coracle::when_all(of, of);\n}\n" \
            "int main() {\n  const std::map<int, int> none;\n  assert(none.empty());\n}\n"
    lacking = {"coracle/compose/when_all.hpp": "1.cpp:6: when_all", "map": "2.cpp:9: map", "cassert": "3.cpp:10: assert"}
    texts = [whole, *(whole.replace(f"#include <{header}>", "") for header in lacking), "std::map<int, int> second;\n"]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.cpp") for number, _ in enumerate(texts)]
        for file, text in zip(files, texts):
            file.write_text(text)
        found = [complaint.replace(f"{folder}/", "").split(" is declared")[0] for complaint in complaints(files)]
    assert {*lacking.values(), "4.cpp:1: map"} <= {*found}, found
    assert not any(complaint.startswith("0.cpp") for complaint in found), found
    print("the self-test passed")


def main():
    if parsed_form.why_missing():
        sys.exit(f"check_includes.py: {parsed_form.why_missing()}")
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit(__doc__.strip())
    of_each = [(files, complaints(files)) for files in groups()]
    found = [complaint for _, complaints_of_group in of_each for complaint in complaints_of_group]
    print("\n".join([*found, f"{sum(len(files) for files, _ in of_each)} programs, {len(found)} includes missing"]).replace(f"{ROOT}/", ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
