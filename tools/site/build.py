#!/usr/bin/env python3
"""Builds the site: README.md, docs/, the examples and the reference, as pages that need no network.

usage: build.py FOLDER
       build.py --self-test

FOLDER/pages has the Markdown that mkdocs is given, FOLDER/html what it makes of it. A link that leads nowhere, and a page
that asks another host for something, are errors. Packages (Debian): mkdocs, mkdocs-material, python3-pymdownx, python3-clang-22.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import reference

ROOT = Path(__file__).resolve().parents[2]
# Pages that stand outside docs/, and where the site has them.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "bench/README.md": "project/benchmarks.md",
}


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.partition("\n\n")[2].partition("\n")[0], file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(folder / "pages")
    pages.write_all()
    settings = folder / "mkdocs.yml"
    settings.write_text((ROOT / "tools/site/mkdocs.yml").read_text() + "\nnav: " + json.dumps(pages.navigation()) + "\n")
    result = subprocess.run([python_with_mkdocs(), "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", settings,
                             "--site-dir", folder / "html"], text=True, capture_output=True)
    print(result.stdout + result.stderr, end="")
    if result.returncode != 0:
        return 1
    complaints = check(folder / "html")
    print("\n".join(complaints + [f"{len(list((folder / 'html').rglob('*.html')))} pages, {len(complaints)} wrong"]))
    return 1 if complaints else 0


def python_with_mkdocs():
    """Another Python than Debian's may come first in PATH, and does not see Debian's packages."""
    has_it = subprocess.run([sys.executable, "-c", "import mkdocs"], capture_output=True).returncode == 0
    return sys.executable if has_it else "/usr/bin/python3"


class Pages:
    def __init__(self, folder):
        self.folder = folder
        self.reference = reference.read(ROOT)
        self.examples = {path: example_title(path) for path in sorted((ROOT / "examples").glob("[0-9]*.cpp"))}
        self.places = self.all_places()

    def all_places(self):
        """Where the site has a file of the tree."""
        places = {name: to for name, to in OUTSIDE.items()}
        places |= {str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
        places |= {str(path.relative_to(ROOT)): f"examples/{path.stem}.md" for path in self.examples}
        places |= {f"include/coracle/{page.header}": page.path() for page in self.reference}
        return places | {"docs/adr": "adr/index.md", "examples": "examples/index.md"}

    def write(self, to, text):
        path = self.folder / to
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_all(self):
        for source, to in self.places.items():
            if source.endswith(".md"):
                self.write(to, self.with_links(Path(source), to))
        for path in self.examples:
            self.write(self.places[str(path.relative_to(ROOT))], self.example(path))
        self.write("examples/index.md", self.list_of_examples())
        self.write("adr/index.md", self.list_of_decisions())
        self.write("reference/index.md", self.list_of_headers())
        writer = reference.Writer(self.reference, self.link_from_reference)
        for page in self.reference:
            page.examples = [(f"{path.name}: {title}", relative(f"examples/{path.stem}.md", page.path()))
                             for path, title in self.examples.items() if uses_any_of(path, page)]
            self.write(page.path(), writer.page(page))
        shutil.copy(ROOT / "tools/site/site.css", self.folder / "site.css")

    def with_links(self, source, to):
        """A document, with its links and the paths in it led to where the site has what they name."""
        def link(found):
            text, target = found[1], found[2]
            if urlsplit(target).scheme or target.startswith("#"):
                return found[0]
            name, mark, place = target.partition("#")
            path = os.path.normpath(source.parent / name)
            if path in self.places:
                return f"[{text}]({relative(self.places[path], to)}{mark}{place})"
            return text  # a file that the site does not show

        def path(found):
            name = found[1]
            is_elsewhere = name in self.places and self.places[name] != to
            return f"[`{name}`]({relative(self.places[name], to)})" if is_elsewhere else found[0]

        def lines():
            fence = None
            for line in (ROOT / source).read_text().splitlines():
                opens = re.match(r"\s*(```+|~~~+)(.*)", line)
                if opens:
                    fence = None if fence else opens[1]
                    # Pygments knows no "cpp fragment" or "cpp functions".
                    line = re.sub(r"(cpp) (fragment|functions)$", r"\1", line)
                elif not fence:
                    line = re.sub(r"(?<!!)\[([^]]*)\]\(([^) ]+)\)", link, line)
                    line = re.sub(r"(?<!\[)`((?:examples|docs|include/coracle)/[\w./-]+)`(?!\])", path, line)
                    line = re.sub(r"^\| `([a-z_/]+\.hpp)` \|", lambda found: header_link(found, self.places, to), line)
                    if line.startswith("|"):  # a bar in code is not escaped here, where it is in GitHub's tables
                        line = re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), line)
                yield line

        return spaced("\n".join(lines())) + "\n"

    def link_from_reference(self, name, page):
        return relative(self.places[name], page.path()) if name in self.places else None

    def example(self, path):
        text = path.read_text()
        head = re.match(r"(?://.*\n)+", text)[0]
        code, _, output = text[len(head):].partition("\n// Output:\n")
        said = "\n".join(line.removeprefix("//").removeprefix("   ") for line in output.splitlines())
        title, shows = path.stem[3:].replace("_", " ").capitalize(), self.examples[path]
        lines = [f"# {title}", "", shows[:1].upper() + shows[1:] + ".", "", f"`{path.relative_to(ROOT)}`", "",
                 "```cpp", code.strip("\n"), "```", ""]
        if output:
            lines += ["Output:", "", "```text", said.strip("\n"), "```", ""]
        return "\n".join(lines)

    def list_of_examples(self):
        lines = ["# Examples", "", "Each is a whole program. The tests compile it, run it and compare what it prints.", "",
                 "| program | shows |", "|---|---|"]
        lines += [f"| [{path.name}]({path.stem}.md) | {title} |" for path, title in self.examples.items()]
        return "\n".join(lines) + "\n"

    def list_of_decisions(self):
        lines = ["# Decisions", "", "What was decided about the design, why, and what else was tried.", ""]
        for path in sorted((ROOT / "docs/adr").glob("*.md")):
            title = path.read_text().splitlines()[0].removeprefix("# ")
            lines.append(f"- [{title}]({path.name})")
        return "\n".join(lines) + "\n"

    def by_folder(self):
        """The pages of the reference by the folder of their header, in the order of docs/headers.md."""
        folders = {}
        for page in self.reference:
            folders.setdefault(page.header.rpartition("/")[0], []).append(page)
        return folders

    def list_of_headers(self):
        out = ["# Reference", "", "Every public header. The text is the comment above each declaration: its contract."]
        for folder, pages in self.by_folder().items():
            out += ["", f"## {folder or 'everything'}", "", "| header | gives | |", "|---|---|---|"]
            for page in pages:
                to = page.path().removeprefix("reference/")
                gives = dict.fromkeys(entry.name for entry in page.entries)
                names = ", ".join(f"[`{name}`]({to}#{reference.anchor(name)})" for name in gives)
                out.append(f"| [{page.header}]({to}) | {names} | {page.purpose} |".replace("`|`", r"`\|`"))
        return "\n".join(out) + "\n"

    def navigation(self):
        """The contents, in the order of tools/site/contents.json; what it leaves out of docs/ is an error."""
        contents = json.loads((ROOT / "tools/site/contents.json").read_text())
        listed = set(re.findall(r"\"([\w/.-]+\.md)\"", json.dumps(contents)))
        documents = {source: to for source, to in self.places.items() if source.endswith(".md")}
        missing = {to for source, to in documents.items() if not source.startswith("docs/adr/")} - listed
        if missing:
            sys.exit("tools/site/contents.json leaves out " + ", ".join(sorted(missing)))
        generated = {
            "examples": ["examples/index.md"] + [
                {f"{path.stem[:2]} {path.stem[3:].replace('_', ' ')}": f"examples/{path.stem}.md"} for path in self.examples],
            "reference": ["reference/index.md"] + [
                {folder or "everything": [{page.header.rpartition("/")[2].removesuffix(".hpp"): page.path()} for page in pages]}
                for folder, pages in self.by_folder().items()],
            "adr": ["adr/index.md"] + [f"adr/{path.name}" for path in sorted((ROOT / "docs/adr").glob("*.md"))]}
        return [{title: generated[what] if isinstance(what, str) and what in generated else expanded(what, generated)}
                for entry in contents for title, what in entry.items()]


def expanded(what, generated):
    if not isinstance(what, list):
        return what
    return [{title: generated.get(inner, inner) if isinstance(inner, str) else inner for title, inner in entry.items()}
            if isinstance(entry, dict) else entry for entry in what]


def header_link(found, places, to):
    name = f"include/coracle/{found[1]}"
    return f"| [`{found[1]}`]({relative(places[name], to)}) |" if name in places else found[0]


def spaced(text):
    """Markdown of GitHub's kind needs no empty line before a list or a table; Python's does."""
    out, fence = [], False
    for line in text.splitlines():
        starts_block = re.match(r"([-*] |\d+\. |\|)", line)
        if starts_block and not fence and out and out[-1].strip() and not re.match(r"(\s*[-*] |\s*\d+\. |\||  )", out[-1]):
            out.append("")
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
        out.append(line)
    return "\n".join(out)


def example_title(path):
    lines = re.match(r"(?://.*\n)+", path.read_text())[0].replace("//", "").split("SPDX-License-Identifier")[0]
    return " ".join(lines.partition(" -- ")[2].split()).removesuffix(".")


def uses_any_of(path, page):
    """Whether an example names something of a header."""
    text = path.read_text()
    return any(re.search(rf"\b{re.escape(entry.name)}\s*[<({{ ]", text) for entry in page.entries if len(entry.name) > 4)


def relative(to, page):
    return os.path.relpath(to, Path(page).parent)


class Links(HTMLParser):
    """What a page has: the names of its places, the links, and what it loads."""
    def __init__(self):
        super().__init__()
        self.names, self.links, self.loads = set(), [], []

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.names |= {has[key] for key in ("id", "name") if has.get(key)}
        if tag == "a" and has.get("href"):
            self.links.append(has["href"])
        elif tag == "link" and has.get("rel") != "canonical" and has.get("href"):
            self.loads.append(has["href"])
        elif has.get("src"):
            self.loads.append(has["src"])


def check(folder):
    """Links that lead nowhere, and what a browser would ask another host for."""
    seen = {}
    for path in sorted(folder.rglob("*.html")):
        seen[path] = Links()
        seen[path].feed(path.read_text())
    complaints = []
    for path, page in seen.items():
        where = path.relative_to(folder)
        complaints += [f"{where} loads {load}" for load in page.loads if urlsplit(load).netloc]
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or where.name == "404.html":
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file():
                complaints.append(f"{where}: nothing at {link}")
            elif parts.fragment and to in seen and unquote(parts.fragment) not in seen[to].names:
                complaints.append(f"{where}: no place {link}")
    for sheet in folder.rglob("*.css"):
        loads = re.findall(r"url\(['\"]?((?:https?:)?//[^)'\"]+)", sheet.read_text())
        complaints += [f"{sheet.relative_to(folder)} loads {load}" for load in loads]
    return complaints


def self_test():
    """Are the mistakes found for which the pages are searched?"""
    pages = {"a.html": '<h1 id="top"></h1><a href="b/c.html#there">x</a><a href="https://example.org/">elsewhere</a>',
             "b/c.html": '<h2 id="there"></h2><a href="../a.html#nowhere">x</a><a href="gone.html">x</a>'
                         '<img src="//example.org/i.png">',
             "s.css": "@font-face { src: url(https://example.org/f.woff) }"}
    expected = ["b/c.html loads //example.org/i.png", "b/c.html: no place ../a.html#nowhere", "b/c.html: nothing at gone.html",
                "s.css loads https://example.org/f.woff"]
    with tempfile.TemporaryDirectory() as name:
        for page, text in pages.items():
            (Path(name) / page).parent.mkdir(exist_ok=True)
            (Path(name) / page).write_text(text)
        found = sorted(check(Path(name)))
    if found != expected:
        print(f"found {found}, not {expected}", file=sys.stderr)
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())
