#!/usr/bin/env python3
"""Checks that the documents' programs compile, run and print the output shown.

  check_docs.py snippets LIBRARY...   compiles every ```cpp block of README.md and docs/; runs those with a main
  check_docs.py links                 checks that all files, folders and headings exist that a document names or links to,
                                      that no line of a document or a source is too long, that the rows of a table
                                      have equally many cells, and that blank lines surround a heading
  check_docs.py headers               compares docs/headers.md with the headers: the names, and the purpose in the first lines
  check_docs.py example SRC EXE       runs EXE and compares its output with the `// Output:` block that ends SRC

A block marked ```cpp fragment is put into a function body after `#include <coracle/coracle.hpp>` and
`using namespace coracle;`; the body is a coroutine if the block awaits. One marked ```cpp functions follows the same two
lines outside any function. Any other mark is an error.
"""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILE = ["g++-12", "-std=c++20", f"-I{ROOT / 'include'}", f"-I{ROOT / 'compat'}", "-Wall", "-Wextra", "-Werror", "-pthread",
           "-Wno-subobject-linkage"]  # g++ takes code after a #line for a header's
EVERYTHING = "#include <coracle/coracle.hpp>"
TIMEOUT_SECONDS = 60
LONGEST_LINE = 110  # .clang-format, too
MAIN = re.compile(r"^(int main\(\) \{(?:.*|\n(?:.*\n)*?))\}$", re.MULTILINE)
MAIN_RETURNS = r"\1 return 0; }"  # as only a program's own main() does without it
WIDE = r"build/|examples/23_model_check\.cpp|tour/html_(style|script)\.hpp"  # what a program prints, or a browser reads


@dataclass
class Snippet:
    path: Path
    line: int  # of its first line of code
    mark: str  # what follows ```, e.g. "cpp fragment"
    code: str

    def name(self):
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def snippets(path):
    """The C++ blocks of a Markdown file, by any name of the language."""
    found, block = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = re.match(r"\s*(?:```+|~~~+)\s*(.*?)\s*$", line)
        if not fence:
            if block:
                block.code += line + "\n"
        elif block:
            found.append(block)
            block = None
        else:
            block = Snippet(path, number + 1, fence[1], "")
    if block:
        sys.exit(f"{block.name()}: the block has no end")
    return [block for block in found if re.match(r"(cpp|c\+\+|cc|cxx|hpp)(?!\w)", block.mark.lower())]


def stated_output(source):
    """Returns the lines under `// Output:` at the end of a program, or None if there are none."""
    lines = source.rstrip().splitlines()
    if "// Output:" not in lines:
        return None
    block = lines[len(lines) - lines[::-1].index("// Output:"):]
    if not all(line.startswith("//") for line in block):
        return None
    return "".join(line[2:].removeprefix("   ").rstrip() + "\n" for line in block)


def run_and_compare(command, source):
    """Runs the program and returns what is wrong; empty if nothing."""
    try:
        result = subprocess.run(command, text=True, capture_output=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"still runs after {TIMEOUT_SECONDS} s"
    if result.returncode != 0:
        return f"exit status {result.returncode}\n{result.stdout}{result.stderr}"
    stated = stated_output(source)
    if stated is not None and result.stdout != stated:
        return f"states:\n{stated}but prints:\n{result.stdout}"
    return ""


def around(snippet):
    """Returns the code before and after a block, apart from an include."""
    if snippet.mark == "cpp functions":
        return "using namespace coracle;\n", ""
    if snippet.mark == "cpp fragment":
        coroutine = re.search(r"\bco_(await|return|yield)\b", snippet.code)
        result, end = ("coracle::task<>", "co_return;\n") if coroutine else ("void", "")
        return f"using namespace coracle; {result} fragment() {{\n", end + "}\n"
    return "", ""


def program_text(snippet):
    before, after = around(snippet)
    include = f"{EVERYTHING}\n" if before else ""
    return f'{include}{before}#line {snippet.line} "{snippet.name()}"\n{snippet.code}{after}'


def includes(text):
    return re.findall("#include .*", text)


def precompile_everything(folder):
    """<coracle/coracle.hpp>, parsed once, as flags for the programs that include it."""
    header = Path(folder, "everything.hpp")
    header.write_text(f"{EVERYTHING}\n")
    subprocess.run([*COMPILE, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return ["-include", header]


def check_snippet(snippet, folder, library, everything):
    if snippet.mark not in ("cpp", "cpp fragment", "cpp functions"):
        return f"marked ```{snippet.mark}; only ```cpp, ```cpp fragment and ```cpp functions are checked"
    stem = Path(folder, re.sub(r"\W", "_", snippet.name()))
    source, program = stem.with_suffix(".cpp"), stem.with_suffix(".exe")
    text = program_text(snippet)
    source.write_text(text)
    compile_it = [*COMPILE, *(everything if EVERYTHING in text else [])]
    runs = re.search(r"\bint main\(", snippet.code)
    if runs:
        command = [*compile_it, source, *library, "-o", program]
    elif snippet.mark == "cpp":
        command = [*compile_it, "-fsyntax-only", source]
    else:
        command = [*compile_it, "-Wno-unused", "-fsyntax-only", source]
    result = subprocess.run(command, text=True, capture_output=True)
    if result.returncode != 0:
        return "does not compile\n" + "\n".join(result.stderr.splitlines()[:15])
    return run_and_compare([program], snippet.code) if runs else ""


def compile_together(alike, everything):
    """Whether these snippets compile in one unit, each in a namespace. They include the same, so none can lack what only
    another one includes. Whether their names collide with others the lint sees, which parses each by itself."""
    texts = [program_text(each) for each in alike]
    bodies = [f"namespace snippet_{i} {{\n{re.sub('#include .*', '', text)}}}\n" for i, text in enumerate(texts)]
    unit = "\n".join(includes(texts[0])) + "\n" + "".join(bodies)
    command = [*COMPILE, *everything, "-Wno-unused", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=unit, text=True, capture_output=True).returncode == 0


def known_to_compile(found, everything, pool):
    """Those of these snippets that need not be compiled alone."""
    groups = {}
    for snippet in found:
        if snippet.mark in ("cpp fragment", "cpp functions"):
            groups.setdefault(frozenset(includes(program_text(snippet))), []).append(snippet)
    alike = list(groups.values())
    compiled = pool.map(lambda group: compile_together(group, everything), alike)
    return [snippet for group, compiles in zip(alike, compiled) if compiles for snippet in group]


def included_by_everything():
    """The standard headers that a program has which includes <coracle/coracle.hpp>, whether it names them or not."""
    listed = subprocess.run([*COMPILE, "-M", "-x", "c++", "-"], input=EVERYTHING, text=True, capture_output=True).stdout
    return {f"#include <{name}>" for name in re.findall(r"/c\+\+/\d+/(\w+)\b", listed)}


def programs_alike(found):
    """Programs in groups that have the same headers, up to eight in each."""
    everything, groups = included_by_everything(), {}
    for snippet in found:
        if MAIN.search(snippet.code):
            has = set(includes(snippet.code))
            groups.setdefault(frozenset(has - everything if EVERYTHING in has else has), []).append(snippet)
    several = [group for group in groups.values() if len(group) > 1]
    return [group[first:first + 8] for group in several for first in range(0, len(group), 8)]


def link_together(alike, program, library, everything):
    """Makes one program of these, each in a namespace, which runs the one whose number it is given: half of their compilation
    is what all of them have. Returns the command of each; none if they do not compile so."""
    bodies = [f"namespace program_{i} {{\n{re.sub('#include .*', '', MAIN.sub(MAIN_RETURNS, program_text(each)))}}}\n"
              for i, each in enumerate(alike)]
    calls = "".join(f"if (*arguments[1] == '{i}') return program_{i}::main();\n" for i in range(len(alike)))
    headers = sorted({line for each in alike for line in includes(each.code)})
    unit = "\n".join([*headers, *bodies, f"int main(int, char** arguments) {{\n{calls}}}\n"])
    precompiled = everything if EVERYTHING in headers else []
    command = [*COMPILE, *precompiled, "-x", "c++", "-", "-x", "none", *library, "-o", program]
    if subprocess.run(command, input=unit, text=True, capture_output=True).returncode != 0:
        return []
    return [(each, [program, str(i)]) for i, each in enumerate(alike)]


def check_all_snippets(library):
    found = [snippet for path in documents() for snippet in snippets(path)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        everything, failed = precompile_everything(folder), 0
        compiled = known_to_compile(found, everything, pool)
        link = lambda numbered: link_together(numbered[1], Path(folder, f"programs_{numbered[0]}"), library, everything)
        linked = [each for group in pool.map(link, enumerate(programs_alike(found))) for each in group]

        def check(snippet):
            if snippet in compiled:
                return ""
            command = next((command for each, command in linked if each is snippet), None)
            return run_and_compare(command, snippet.code) if command else check_snippet(snippet, folder, library, everything)

        for snippet, complaint in zip(found, pool.map(check, found)):
            if complaint:
                failed += 1
                print(f"FAILED {snippet.name()}: {complaint}")
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


def check_example(source, program):
    text = Path(source).read_text()
    complaint = run_and_compare([program], text)
    if not complaint and stated_output(text) is None:
        complaint = "does not end in an `// Output:` block"
    if complaint:
        print(f"FAILED {Path(source).name}: {complaint}")
    return 1 if complaint else 0


def check_links():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], text=True,
                            capture_output=True)
    files = listed.stdout.split() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.*")]
    known = {*files, *(str(folder) for file in files for folder in Path(file).parents)}
    known |= {str(Path(file).with_suffix("")) for file in files}  # a program is called like its source
    # Below any folder: a document may say core/task.hpp.
    known = {"/".join(Path(each).parts[skipped:]) for each in known for skipped in range(len(Path(each).parts))}
    complaints = [f"{file}: {what}" for file in files if file.endswith(".md")
                  for what in (*broken_links(ROOT / file, known), *long_lines(ROOT / file), *uneven_rows(ROOT / file),
                               *crowded_headings(ROOT / file))]
    complaints += [f"{file}: {what}" for file in files if file.endswith((".hpp", ".cpp")) and not re.match(WIDE, file)
                   for what in long_lines_of_code(ROOT / file)]
    print("\n".join(complaints + [f"{len(complaints)} names of nothing, lines too long, uneven rows or crowded headings"]))
    return 1 if complaints else 0


def broken_links(document, known):
    """Returns the links, and the paths in backticks, of this document that do not exist."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, heading = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists():
            yield f"no {link}"
        elif heading and heading not in anchors(target):
            yield f"no heading {link}"
    for path in re.findall(r"`(?:\./)?([\w.-]+(?:/[\w.-]+)+)/?`", text):
        if path not in known and not path.startswith("build/"):
            yield f"no {path}"


def long_lines(document):
    """Returns the lines of prose above the formatter's limit. Code and tables are as wide as they have to be."""
    is_code = False
    for number, line in enumerate(document.read_text().splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if len(line) > LONGEST_LINE and not is_code and not line.startswith(("|", "    ")):
            yield f"line {number} has {len(line)} columns"


def uneven_rows(document):
    """Returns the rows of tables that have not as many cells as the first. A | in code ends a cell, too: write \\|."""
    is_code, cells = False, 0
    for number, line in enumerate(document.read_text().splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") and not is_code else 0
        if here and cells and here != cells:
            yield f"line {number} has {here - 1} cells, and the table's first row {cells - 1}"
        cells = cells if here and cells else here


def crowded_headings(document):
    """Returns the headings without a blank line above or below."""
    lines, is_code = ["", *document.read_text().splitlines(), ""], False
    for number, line in enumerate(lines):
        is_code ^= line.lstrip().startswith("```")
        if re.match("#+ ", line) and not is_code and (lines[number - 1] or lines[number + 1]):
            yield f"line {number}: the heading needs a blank line above and below"


def long_lines_of_code(source):
    """Returns the lines above the formatter's limit, which it leaves in comments and texts."""
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if len(line) > LONGEST_LINE and not line.startswith("// expect:"):
            yield f"line {number} has {len(line)} columns"


def anchors(document):
    """Returns the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]


def check_headers():
    """Each header of include/ must have one row in docs/headers.md, with its purpose, and declare the names listed there."""
    folder = ROOT / "include/coracle"
    page = (ROOT / "docs/headers.md").read_text()
    rows = re.findall(r"^\| `(\S+\.hpp)` \|(.*?)\| (.*) \|$", page, re.MULTILINE)
    headers = {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.hpp"))}
    complaints = [f"no row of {header}" for header in headers if [row[0] for row in rows].count(header) != 1]
    uses = [f"#include <coracle/{header}>" for header in headers]
    for header, names, said in rows:
        if header not in headers:
            complaints.append(f"a row of {header}, which does not exist")
            continue
        if said != purpose(headers[header]):
            complaints.append(f"{header} says of itself: {purpose(headers[header])}")
        for name in re.findall(r"`([\w:]+)`", names):
            if not re.search(rf"\b{name.rpartition(':')[2]}\b", headers[header]):
                complaints.append(f"{header} has no {name}")
            uses.append(f"#ifndef {name}\n#error\n#endif" if name.startswith("CORACLE_") else
                        f"namespace use_{len(uses)} {{ using coracle::{name}; }}")
    result = subprocess.run([*COMPILE, "-fsyntax-only", "-x", "c++", "-"], input="\n".join(uses), text=True, capture_output=True)
    complaints += [line for line in result.stderr.splitlines() if "error" in line]
    print("\n".join(complaints + [f"{len(rows)} rows, {len(complaints)} wrong"]))
    return 1 if complaints else 0


def purpose(header):
    """Returns a header's purpose, from its first lines."""
    lines = re.match(r"(?://.*\n)+", header)[0].replace("//", "").split("SPDX-License-Identifier")[0]
    return " ".join(lines.partition(" -- ")[2].split()).removesuffix(".")


def main():
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] == "snippets":
        return check_all_snippets(arguments[1:])
    if arguments in (["links"], ["headers"]):
        return check_links() if arguments == ["links"] else check_headers()
    if len(arguments) == 3 and arguments[0] == "example":
        return check_example(*arguments[1:])
    print("usage: check_docs.py snippets LIBRARY... | links | headers | example SOURCE PROGRAM", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
