#!/usr/bin/env python3
"""Compares the ABI of the working tree with that of an earlier commit, by libabigail's abidiff.

usage: check_abi.py [COMMIT]      COMMIT: the last release of this minor version, if not said
       check_abi.py --self-test   breaks the ABI in each way that counts, and changes what does not count

The ABI consists of two parts (docs/versioning.md):
- The functions and variables that the shared libraries define. Inline functions do not count: programs have their own.
- The layout of each public type, since most of the library is inline. For these a library is compiled that has one function
  for each type. libclang finds the types in the headers of the earlier commit; those of templates are in TEMPLATES.

Additions do not break the ABI. CXX is the g++ to compile with, g++-12 if not set.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import module_unit

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build/abi"
COMPILER = os.environ.get("CXX", "g++-12")
# Without the last flag a class is described only where its virtual functions are defined.
FLAGS = ["-O0", "-g", "-femit-class-debug-always"]
TARGETS = ["coracle", "coracle_io", "coracle_testing", "coracle_testing_io"]

# What stands after the name: a type for each. None: it has no layout, as a trait, or depends on an argument that is unique.
COROUTINE = ["<int>", "<int>::promise_type"]
TEMPLATES = {
    "coracle::async_barrier": ["<>"],
    "coracle::async_generator": COROUTINE,
    "coracle::bad_expected_access": ["<int>"],
    "coracle::blocking_operation": ["<int (*)()>"],
    "coracle::broadcast": ["<int>"],
    "coracle::broadcast_subscription": ["<int>"],
    "coracle::buffered_reader": ["<coracle::net::socket>"],
    "coracle::buffered_writer": ["<coracle::net::socket>"],
    "coracle::buffers": ["<coracle::const_buffer>"],
    "coracle::channel": ["<int>"],
    "coracle::completion": ["<int>"],
    "coracle::elements_of": None,
    "coracle::expected": ["<int, int>"],
    "coracle::filesystem::open_operation": ["<coracle::read_only_file>"],
    "coracle::generator": COROUTINE,
    "coracle::lookup_elements": None,
    "coracle::multi_producer_sequencer": ["<>"],
    "coracle::oneshot_receiver": ["<int>"],
    "coracle::oneshot_sender": ["<int>"],
    "coracle::outcome": ["<int>"],
    "coracle::part::adapts_awaits": None,
    "coracle::part::awaits_only": None,
    "coracle::part::returns": ["<int>"],
    "coracle::part::yields": ["<int>"],
    "coracle::prefetch": ["<int>"],
    "coracle::recursive_generator": COROUTINE,
    "coracle::recycled_allocator": ["<int>"],
    "coracle::reports_allocation_failure": None,
    "coracle::round_robin_scheduler": ["<4>"],
    "coracle::schedule_operation": ["<coracle::executor>"],
    "coracle::scope_future": ["<int>"],
    "coracle::sequence_barrier": ["<>"],
    "coracle::sequence_range": ["<unsigned>"],
    "coracle::sequence_traits": None,
    "coracle::shared_task": COROUTINE,
    "coracle::single_flight": ["<int, int>"],
    "coracle::single_producer_sequencer": ["<>"],
    "coracle::spsc_channel": ["<int>"],
    "coracle::stop_callback": ["<void (*)()>"],
    "coracle::task": [*COROUTINE, "<>", "<>::promise_type"],
    "coracle::task_local": ["<int>"],
    "coracle::tls::stream": ["<coracle::net::socket>"],
    "coracle::unbounded_channel": ["<int>"],
    "coracle::unexpected": ["<int>"],
    "coracle::value_observer": ["<int>"],
    "coracle::watched_value": ["<int>"],
    "coracle::when_any_result": ["<int>"],
}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"check_abi: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def public_types(include):
    """Every public type, with the templates' arguments, that the headers in that folder declare."""
    kinds = module_unit.parsed_form.cindex.CursorKind
    types, unknown = set(), set()
    for inside, cursor in module_unit.public_declarations(include):
        name = "::".join([*inside, cursor.spelling])
        if cursor.kind in (kinds.CLASS_DECL, kinds.STRUCT_DECL, kinds.ENUM_DECL) and name not in TEMPLATES:
            types.add(name)
        elif cursor.kind == kinds.CLASS_TEMPLATE and name in TEMPLATES:
            types.update(name + arguments for arguments in TEMPLATES[name] or ())
        elif cursor.kind == kinds.CLASS_TEMPLATE:
            unknown.add(name)
    if unknown:
        sys.exit(f"check_abi: TEMPLATES in tools/check_abi.py lacks {', '.join(sorted(unknown))}")
    return sorted(types)


def layouts_library(headers, types, includes, library):
    """A shared library with one function for each type, named after it."""
    text = "".join(f"#include <{header}>\n" for header in headers)
    for each in types:
        name = re.sub(r"\W+", "_", each).strip("_")
        text += f'extern "C" unsigned long layout_of_{name}({each}& it) {{ return sizeof(it); }}\n'
    source = library.with_suffix(".cpp")
    source.write_text(text)
    run(COMPILER, "-std=c++20", *FLAGS, "-fPIC", "-shared", f"-I{includes}", source, "-o", library)


def strong_symbols(library):
    return set(re.findall(r"^\w+ [TDBR] (\S+)$", run("nm", "-D", "--defined-only", library), re.MULTILINE))


def difference(before, after, includes_before, includes_after):
    """What of the ABI that a program compiled with `before` relies on is no longer so in `after`; empty if nothing."""
    # Strong symbols. The weak ones are inline functions.
    compared = after.with_suffix(".symbols")
    compared.write_text("\n".join(["[abi_whitelist]", *sorted(strong_symbols(before) | strong_symbols(after)), ""]))
    done = subprocess.run(
        ["abidiff", "--no-default-suppression", "--kmi-whitelist", compared, "--drop-private-types", "--fail-no-debug-info",
         "--headers-dir1", includes_before, "--headers-dir2", includes_after, "--no-added-syms", "--no-show-locs", before, after],
        capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def compare_layouts(includes_before, includes_after, work):
    headers, types = module_unit.headers(includes_before), public_types(includes_before)
    before, after = work / "layouts_before.so", work / "layouts_after.so"
    layouts_library(headers, types, includes_before, before)
    layouts_library(headers, types, includes_after, after)
    return difference(before, after, includes_before, includes_after)


def build_libraries(source, build):
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DBUILD_SHARED_LIBS=ON",
        "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_FLAGS_DEBUG={' '.join(FLAGS)}", "-DCMAKE_UNITY_BUILD=ON",
        "-DCORACLE_BUILD_TESTS=OFF", "-DCORACLE_BUILD_EXAMPLES=OFF", "-DCORACLE_BUILD_TOUR=OFF", "-DCORACLE_BUILD_BENCH=OFF")
    # Earlier commits have no TLS.
    more = ["coracle_tls"] if Path(source, "src/tls").exists() else []
    run("cmake", "--build", build, "--target", *TARGETS, *more)
    return {library.name: library for library in sorted((build / "src").glob("lib*.so"))}


def last_release():
    """The newest tag of this minor version that HEAD descends from, and is not itself; None: there is none."""
    version = re.search(r"^project\(coracle VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    tags = run("git", "-C", ROOT, "tag", "--list", f"v{version}.*", "--merged", "HEAD", "--no-contains", "HEAD",
               "--sort=-version:refname").split()
    return version, tags[0] if tags else None


def compare_with(commit):
    shutil.rmtree(WORK, ignore_errors=True)
    source = WORK / "source"
    source.mkdir(parents=True)
    archive = WORK / "source.tar"
    run("git", "-C", ROOT, "archive", "-o", archive, commit)
    run("tar", "-x", "-f", archive, "-C", source)
    before, after = build_libraries(source, WORK / "before"), build_libraries(ROOT, WORK / "after")
    old, new = source / "include", ROOT / "include"
    found = [f"{name} is no longer there\n" if name not in after else difference(library, after[name], old, new)
             for name, library in before.items()]
    found.append(compare_layouts(old, new, WORK))
    found = [each for each in found if each]
    print("".join(found) + f"check_abi: the ABI of {commit} is {'broken' if found else 'kept'}")
    return 1 if found else 0


HEADER = """#pragma once
#include <string>
namespace small {
class counter {
 public:
  void add(int more);
  int value() const noexcept { return value_; }
 private:
  int value_ = 0;
};
struct hidden;
int size_of(const hidden& it);
int last();
inline int twice(int number) { return 2 * number; }
}
"""
SOURCE = """#include "small.hpp"
namespace small {
struct hidden { std::string name; };
void counter::add(int more) { value_ += twice(more); }
int size_of(const hidden& it) { return static_cast<int>(it.name.size()); }
int last() { return 1; }
}
"""
# What is changed, to what, and whether that breaks the ABI.
CHANGES = [
    ("void add(int more);", "void add(int more);\n  void reset();", False),
    ("int last();", "int last();\nint first();", False),
    ("int last() { return 1; }", "int last() { return 2; }\nint first() { return 0; }", False),
    ("std::string name;", "std::string name; int more;", False),
    ("inline int twice(int number) { return 2 * number; }", "inline int doubled(int number) { return 2 * number; }", False),
    ("int last()", "long last(int number)", True),
    ("int last() { return 1; }", "", True),
    ("int last()", "long last()", True),
    ("int value_ = 0;", "int value_ = 0;\n  int more_ = 0;", True),
    ("int value_ = 0;", "long value_ = 0;", True),
    (" public:\n", " public:\n  virtual ~counter() = default;\n", True),
]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        libraries_test(Path(folder))
        layouts_test(Path(folder))
    print(f"check_abi: {len(CHANGES) + 1} cases of the self-test")


def libraries_test(work):
    def build(name, header, source):
        folder = work / name
        folder.mkdir()
        (folder / "small.hpp").write_text(header)
        (folder / "small.cpp").write_text(source)
        run(COMPILER, "-std=c++20", *FLAGS, "-fPIC", "-shared", folder / "small.cpp", "-o", folder / "small.so")
        return folder / "small.so", folder

    before, includes = build("before", HEADER, SOURCE)
    for index, (old, new, breaks) in enumerate(CHANGES):
        changed = [text.replace(old, new) for text in (HEADER, SOURCE)]
        if changed == [HEADER, SOURCE]:
            sys.exit(f"check_abi: self-test: there is no {old!r}")
        if "twice" in old:
            changed[1] = changed[1].replace("twice", "doubled")
        after, includes_after = build(str(index), *changed)
        found = difference(before, after, includes, includes_after)
        if bool(found) != breaks:
            sys.exit(f"check_abi: self-test: {old!r} to {new!r}: {found or 'nothing found'}")


def layouts_test(work):
    """A member is added to a type of the library's own: that is found, and nothing else."""
    copy = work / "copy"
    shutil.copytree(ROOT / "include", copy)
    header = copy / "coracle/channels/oneshot.hpp"
    text = header.read_text()
    header.write_text(re.sub(r"^(class .*\boneshot_sender \{\n)", r"\1  long added_ = 0;\n", text, flags=re.MULTILINE))
    if header.read_text() == text:
        sys.exit("check_abi: self-test: coracle/channels/oneshot.hpp is not as expected")
    found = compare_layouts(ROOT / "include", copy, work)
    if set(re.findall(r"\blayout_of_\w+", found)) != {"layout_of_coracle_oneshot_sender_int"}:
        sys.exit(f"check_abi: self-test: a member of oneshot_sender was added; found:\n{found or 'nothing'}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        return compare_with(sys.argv[1])
    version, release = last_release()
    if release:
        return compare_with(release)
    print(f"check_abi: no earlier release of {version} to compare with")
    return 0


if __name__ == "__main__":
    sys.exit(main())
