"""The reference: a Markdown page for each public header, from the comments above its declarations.

libclang says what a header declares; the text of a declaration and of its comment is taken from the header as it is written.
"""
import html
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "coracle_lint"))
import parsed_form  # noqa: E402  (finds libclang)

cindex = parsed_form.cindex

# The first words of the lines of a contract, as they stand in the headers.
CONTRACT_LINE = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*)$|^(Resumes on|Cancellation) (\S.*)$")
CODE_WORD = re.compile(r"`[^`]*`|\b(?:[a-z_]\w*::)+~?\w+(?:\(\))?|\b[a-z]\w*\(\)|\b\w*[a-z]_\w+\b|\bCORACLE_\w+(?:\(\))?")
PATH = re.compile(r"^(?:docs|examples|include|bench|coracle)/[\w/.-]+$")


@dataclass
class Entry:
    """A declaration, what it says of itself, and its documented members."""
    name: str
    declaration: str
    comment: list
    members: list = field(default_factory=list)


@dataclass
class Page:
    header: str
    purpose: str
    entries: list
    examples: list = field(default_factory=list)

    def path(self):
        return f"reference/{self.header.removesuffix('.hpp')}.md"


def parse(root, headers):
    """One translation unit with all the headers."""
    why = parsed_form.why_missing()
    if why:
        sys.exit(f"the reference cannot be made: {why}")
    source = "".join(f"#include <coracle/{header}>\n" for header in headers)
    unit = cindex.Index.create().parse(
        "reference.cpp", ["-std=c++20", f"-I{root / 'include'}", "-w"], [("reference.cpp", source)],
        cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    errors = [str(found) for found in unit.diagnostics if found.severity >= cindex.Diagnostic.Error]
    if errors:
        sys.exit("the headers do not parse: " + errors[0])
    return unit


def without_body(text):
    """A declaration as a reader needs it: no body, no initialisers of a constructor, no attribute but [[nodiscard]]."""
    text = re.sub(r"\bCORACLE_[A-Z_]+\((?:[^()]|\([^()]*\))*\)\s*", "", text)
    text = re.sub(r"\[\[nodiscard\(\s*(?:\"[^\"]*\"\s*)+\)\]\]", "[[nodiscard]]", text)
    text = re.sub(r"^\s*///?.*\n", "", text, flags=re.MULTILINE)
    text = text[:end_of_head(text)].rstrip().removesuffix("= default").removesuffix(";").rstrip()
    first, *rest = text.splitlines()
    if first.startswith("template"):
        rest = textwrap.dedent("\n".join(rest)).splitlines()
    return "\n".join([first, *rest]) + ";"


def end_of_head(text):
    """Where the body begins, or the bases of a class, or what a constructor initialises."""
    depth = 0
    for at, letter in enumerate(text):
        if letter in "(<[":
            depth += 1
        elif letter in ")]" or (letter == ">" and text[at - 1] not in "-=<> "):
            depth -= 1
        elif letter == "{" or (letter == ":" and text[at - 1:at + 2] == " : " and depth <= 0 and ")" in text[:at]):
            return at
    return len(text)


class Headers:
    def __init__(self):
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = Path(path).read_bytes()
        return self.texts[path]

    def declaration(self, cursor):
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        return without_body(self.text(cursor.location.file.name)[start:end].decode())


def comment_lines(cursor):
    """The comment above a declaration, without its slashes; none if it is not a contract (//)."""
    raw = cursor.raw_comment or ""
    lines = [line.strip() for line in raw.splitlines()]
    if not lines or not all(line.startswith("///") for line in lines):
        return []
    return [re.sub(r"^///(<)? ?", "", line) for line in lines]


KINDS = cindex.CursorKind if cindex else None


def is_type(cursor):
    return cursor.kind in (KINDS.CLASS_DECL, KINDS.STRUCT_DECL, KINDS.CLASS_TEMPLATE, KINDS.ENUM_DECL,
                           KINDS.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)


def members(cursor, headers):
    """What stands in the public part of a class, in its order: those with a comment, and declarations below one."""
    found = []
    for child in cursor.get_children():
        if cursor.kind != KINDS.ENUM_DECL and child.access_specifier != cindex.AccessSpecifier.PUBLIC:
            continue
        lines = comment_lines(child)
        if lines and child.spelling:
            nested = members(child, headers) if is_type(child) and child.is_definition() else []
            found.append(Entry(child.spelling, headers.declaration(child), lines, nested))
    return found


def declarations(unit, root):
    """(file, qualified name below coracle::, cursor) of what stands in namespace coracle."""
    include = str(root / "include/coracle") + "/"

    def walk(cursor, inside):
        for child in cursor.get_children():
            if child.kind == KINDS.NAMESPACE:
                if child.spelling not in ("detail", ""):
                    yield from walk(child, [*inside, child.spelling])
                continue
            if not child.location.file or not child.location.file.name.startswith(include):
                continue
            if inside and inside[0] == "coracle" and child.spelling and child.is_definition() or comment_lines(child):
                yield child.location.file.name.removeprefix(include), "::".join([*inside[1:], plain_name(child)]), child

    yield from walk(unit.cursor, [])


def plain_name(cursor):
    return re.sub(r"<.*", "", cursor.spelling)


def rows(page):
    """(header, names, purpose) of each row of docs/headers.md that gives something to users."""
    text = page.read_text().partition("\n## Inside")[0]
    for header, names, said in re.findall(r"^\| `(\S+\.hpp)` \|(.*?)\| (.*) \|$", text, re.MULTILINE):
        yield header, re.findall(r"`([\w:]+)`", names), said


def read(root):
    """The pages of the reference, in the order of docs/headers.md."""
    wanted = list(rows(root / "docs/headers.md"))
    unit, headers = parse(root, [header for header, _, _ in wanted]), Headers()
    by_name = {}
    for file, name, cursor in declarations(unit, root):
        by_name.setdefault(name, []).append((file, cursor))
    pages = []
    for header, names, purpose in wanted:
        entries = []
        for name in names:
            here = one_each([(file, cursor) for file, cursor in by_name.get(name, []) if comment_lines(cursor)], header)
            for cursor in here:
                inner = members(cursor, headers) if is_type(cursor) and cursor.is_definition() else []
                entries.append(Entry(name, headers.declaration(cursor), comment_lines(cursor), inner))
            if not here and not name.startswith("CORACLE_"):
                entries.append(Entry(name, "", []))
        pages.append(Page(header, purpose, entries))
    return pages


def one_each(found, header):
    """Those in the header if there are any; a class where it is defined, not where it is only declared."""
    here = [cursor for file, cursor in found if file == header] or [cursor for _, cursor in found]
    defined = [cursor for cursor in here if is_type(cursor) and cursor.is_definition()]
    return defined or here


class Writer:
    """Writes a page; knows where each name and each document is."""

    def __init__(self, pages, link_to_file):
        self.places = {}
        for page in pages:
            for entry in page.entries:
                self.places.setdefault(entry.name, (page, anchor(entry.name)))
        self.link_to_file = link_to_file

    def words(self, text, page):
        """A sentence as Markdown: its code words marked, names of the library linked."""
        def mark(found):
            word = found[0].strip("`")
            name = word.removesuffix("()").removeprefix("coracle::")
            if name in self.places:
                to, at = self.places[name]
                return f"[`{word}`]({self.relative(to, page)}#{at})"
            return f"`{word}`"

        out, last = [], 0
        pattern = re.compile(r"(?:docs|examples)/[\w/.-]*\w|" + CODE_WORD.pattern)
        for found in pattern.finditer(text):
            out.append(html.escape(text[last:found.start()], quote=False).replace("*", r"\*"))
            link = self.link_to_file(found[0], page) if PATH.match(found[0]) else None
            out.append(f"[{found[0]}]({link})" if link else mark(found))
            last = found.end()
        return "".join(out) + html.escape(text[last:], quote=False).replace("*", r"\*")

    @staticmethod
    def relative(to, page):
        if to is page:
            return ""
        return "../" * (page.path().count("/") - 1) + to.path().removeprefix("reference/")

    def comment(self, lines, page):
        """A comment as Markdown: paragraphs, code, and the lines of a contract as a table."""
        out, table, at = [], [], 0
        paragraph = []

        def end_paragraph():
            if paragraph:
                out.extend([self.words(" ".join(paragraph), page), ""])
                paragraph.clear()

        def end_table():
            if table:
                out.extend(["| | |", "|---|---|", *(f"| **{key}** | {self.words(' '.join(text), page)} |".replace("||", r"\|\|")
                                                    for key, text in table), ""])
                table.clear()

        while at < len(lines):
            line = lines[at]
            contract = CONTRACT_LINE.match(line)
            if contract:
                end_paragraph()
                table.append((contract[1] or contract[3], [contract[2] or contract[4]]))
            elif table and line.startswith("        "):
                table[-1][1].append(line.strip())
            elif line.startswith("    "):
                end_paragraph()
                end_table()
                block = []
                while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                    block.append(lines[at][4:])
                    at += 1
                out.extend(["```cpp", *"\n".join(block).rstrip().splitlines(), "```", ""])
                continue
            elif not line.strip():
                end_paragraph()
            elif re.match(r"^[-*] ", line):
                end_paragraph()
                end_table()
                item = [line[2:]]
                while at + 1 < len(lines) and lines[at + 1].startswith("  ") and lines[at + 1].strip():
                    at += 1
                    item.append(lines[at].strip())
                out.append("- " + self.words(" ".join(item), page))
                if at + 1 >= len(lines) or not re.match(r"^[-*] ", lines[at + 1]):
                    out.append("")
            else:
                end_table()
                paragraph.append(line.strip())
            at += 1
        end_paragraph()
        end_table()
        return out

    def page(self, page):
        out = [f"# {page.header}", "", page.purpose[0].upper() + self.words(page.purpose[1:], page) + ".", "",
               "```cpp", f"#include <coracle/{page.header}>", "```", ""]
        for entry in page.entries:
            out += [f"## {entry.name} {{#{anchor(entry.name)}}}", ""] if not same_as_before(page, entry) else []
            out += self.entry(entry, page)
            for member in entry.members:
                out += self.member(member, page, 3)
        if page.examples:
            out += ["## Examples", "", *(f"- [{name}]({link})" for name, link in page.examples), ""]
        return "\n".join(out) + "\n"

    def entry(self, entry, page):
        out = ["```cpp", entry.declaration, "```", ""] if entry.declaration else []
        return out + self.comment(entry.comment, page)

    def member(self, member, page, level):
        name = re.sub(r"<.*", "", member.name) if member.name.startswith("~") else member.name
        out = [f"{'#' * level} `{name}` {{: .member }}", "", "```cpp", member.declaration, "```", ""]
        out += self.comment(member.comment, page)
        for inner in member.members:
            out += self.member(inner, page, min(level + 1, 4))
        return out


def same_as_before(page, entry):
    at = page.entries.index(entry)
    return at > 0 and page.entries[at - 1].name == entry.name


def anchor(name):
    return name.replace("::", "-")
