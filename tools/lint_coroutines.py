#!/usr/bin/env python3
"""Runs coracle_lint on coracle itself: its headers, tests and examples, and what the documents show.

  lint_coroutines.py [--require-parser] [FILE...]   of all texts, or of these files; without libclang it looks at the texts,
                                                    and says so; --require-parser: it fails
  lint_coroutines.py [--require-parser] --self-test   runs both forms of the lint on known cases
"""
import os
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "coracle_lint"))
import lint_self_test  # noqa: E402
import parsed_form  # noqa: E402
import text_form  # noqa: E402
from check_docs import ROOT, around, documents, snippets  # noqa: E402

FOLDERS = ["include", "compat", "src", "tests", "examples", "tour", "bench"]
PARSED = ["tests", "examples", "tour", "bench"]
NOT_PARSED = [
    "tests/compile_fail/", "tests/package/",  # do not compile, or with flags of their own
    "tests/fuzz/", "bench/rivals/", "bench/micro/",  # need what only some machines have
]
NEED_A_RIVAL = ("_asio.cpp", "_tbb.cpp")  # Boost or TBB, which only some machines have
# Has to stand outside of a namespace.
ALONE = re.compile(r"^#define (?:CORACLE|DOCTEST)|^namespace (?:std|coracle)|^template <>$|^extern |^void\*? operator |"
                   r"struct std::|COUNT_ALLOCATIONS|^CORACLE_STATIC_HEAP", re.MULTILINE)
TOGETHER = 16
COROUTINE = re.compile(r"\bco_(?:await|yield|return)\b")
FLAGS = ["-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}/compat", f"-I{ROOT}/src", f"-I{ROOT}", f"-I{ROOT}/bench",
         f"-I{ROOT}/tests", "-pthread", '-DCORACLE_BENCH_FLAGS=""']
STANDARD = ("algorithm array atomic barrier charconv chrono condition_variable csignal cstdio cstdlib cstring functional "
            "future list map memory mutex numeric optional random set sstream string thread tuple unordered_map variant "
            "vector").split()


@dataclass
class Text:
    """A file, or a block of a document."""
    path: Path
    code: str
    kind: str = "library"  # which precompiled headers it is parsed with
    before: str = field(default="")  # for the parser, on the line before the code

    def name(self):
        return str(self.path.relative_to(ROOT))


def texts():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            yield Text(path, path.read_text(), "model" if path.is_relative_to(ROOT / "tests/model") else "library")
    for path in documents():
        for snippet in snippets(path):
            before, after = around(snippet)
            above = "\n" * (snippet.line - 2)
            yield Text(path, above + (before or "\n") + snippet.code + after)


def is_parsed(text):
    name = text.name()
    if any(name.startswith(folder) for folder in NOT_PARSED) or name.endswith((".hpp", *NEED_A_RIVAL)):
        return False
    return text.path.suffix == ".md" or name.split("/")[0] in PARSED and bool(COROUTINE.search(text.code))


def headers_of(kind):
    """Returns the headers that are parsed once for all texts of this kind."""
    model = [str(path.relative_to(ROOT / "include")) for path in sorted((ROOT / "include/coracle/testing/model").rglob("*.hpp"))]
    if kind == "model":
        return model
    everything = ["include/coracle", "compat/cppcoro"]
    names = [str(path.relative_to(ROOT / folder.split("/")[0])) for folder in everything
             for path in sorted((ROOT / folder).rglob("*.hpp"))]
    return [name for name in names if name not in model and "/detail/" not in name] + ["doctest/doctest.h"]


def precompile(kind, folder):
    header = Path(folder, f"{kind}.hpp")
    header.write_text("".join(f"#include <{name}>\n" for name in [*STANDARD, *headers_of(kind)]))
    flags = [*FLAGS, *(["-DCORACLE_MODEL", "-DCORACLE_ENABLE_CHECKS=1"] if kind == "model" else [])]
    headers = parsed_form.findings(str(header), flags, is_ours=lambda name: name.startswith(str(ROOT)))
    return headers, parsed_form.precompile(str(header), flags)


def look(text, flags):
    """(findings, what went wrong)"""
    try:
        if flags is None:
            return text_form.findings(str(text.path), text.code), ""
        ours = str(ROOT)
        return parsed_form.findings(str(text.path), flags, text.code,
                                    lambda name: name.startswith(ours) and "/include/" not in name), ""
    except parsed_form.DoesNotParse as error:
        return [], f"{text.name()}: does not parse: {error}"


def groups(parsed):
    """Texts to parse as one: files of one folder that can stand in namespaces."""
    alone = [text for text in parsed if text.path.suffix == ".md" or ALONE.search(text.code)]
    rest = [text for text in parsed if text not in alone]
    for folder in sorted({text.path.parent for text in rest}):
        of_folder = [text for text in rest if text.path.parent == folder]
        yield from (of_folder[first:first + TOGETHER] for first in range(0, len(of_folder), TOGETHER))
    yield from ([text] for text in alone)


def unite(group):
    """Includes the files of the group, each in a namespace of its own but for those of one program, the tour, so that what they
    have in common is parsed once."""
    folder = group[0].path.parent
    headers = {line.replace('#include "', f'#include "{folder}/') for text in group for line in text.code.splitlines()
               if line.startswith("#include")}
    bodies = [f'#include "{text.path}"' for text in group]
    if folder != ROOT / "tour":
        bodies = [f"namespace lint_{number} {{\n{body}\n}}" for number, body in enumerate(bodies)]
    return Text(folder / "united.cpp", "\n".join([*sorted(headers), *bodies]), group[0].kind)


def look_at_all(group, flags):
    if len(group) > 1:
        findings, complaint = look(unite(group), flags)
        if not complaint:
            return findings, ""
    looks = [look(text, flags) for text in group]
    return [finding for findings, _ in looks for finding in findings], "\n".join(filter(None, (why for _, why in looks)))


def lint(require_parser, files):
    why = parsed_form.why_missing()
    if why:
        print(f"{'error' if require_parser else 'looking at texts only'}: {why}", file=sys.stderr)
        if require_parser:
            return 2
    all_of_them, found, wrong = [text for text in texts() if not files or text.name() in files], [], []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(os.cpu_count()) as pool:
        flags = {}
        if not why:
            kinds = ["library", "model"]
            for kind, (headers, precompiled) in zip(kinds, pool.map(precompile, kinds, [folder] * len(kinds))):
                found += headers
                flags[kind] = precompiled
        # The model checker's mutants and the like stand in texts that are not parsed.
        parsed = [text for text in all_of_them if not why and is_parsed(text)]
        to_look_at = [*groups(parsed), *([text] for text in all_of_them if text not in parsed)]
        of_each = [flags[group[0].kind] if group[0] in parsed else None for group in to_look_at]
        for findings, complaint in pool.map(look_at_all, to_look_at, of_each):
            found += findings
            wrong += [complaint] if complaint else []
    loud = sorted({finding for finding, intended in found if not intended})
    for line in [*map(str, loud), *wrong]:
        print(line.replace(f"{ROOT}/", ""))
    print(f"{len(all_of_them)} texts, {len(parsed)} of them parsed, {len(loud)} findings, {len(set(found)) - len(loud)} intended")
    return 1 if loud or wrong else 0


def main():
    files = {argument for argument in sys.argv[1:] if not argument.startswith("-")}
    options = set(sys.argv[1:]) - files
    if options - {"--require-parser", "--self-test"}:
        print(__doc__.split("\n\n", 1)[1], end="", file=sys.stderr)
        return 2
    require_parser = "--require-parser" in options
    return lint_self_test.run(require_parser) if "--self-test" in options else lint(require_parser, files)


if __name__ == "__main__":
    sys.exit(main())
