#!/usr/bin/env python3
"""Finds coroutines that g++ 12 compiles to something else than what they say.

  condition  a coroutine awaits in the condition of an if, while, for, do or switch and declares no local variable:
             g++ 12 makes a body that does not run. Cure: bind the result to a variable first.
  lambda     a capturing lambda is a temporary in an expression that awaits: g++ 12 may destroy its captures
             twice. Cure: bind the lambda to a variable first.
  conditional  a ?: in an expression that awaits gives what a call, a braced value or a text makes: g++ 12 destroys a
             temporary twice that is made in one. Cure: bind the result of the ?: to a variable first.
  braces     an argument in braces holds what is moved or copied into it, or a text, in an expression that awaits: if its
             type is an aggregate, g++ 12 destroys it twice. Cure: bind it to a variable first, and move that.

Without arguments it looks at coracle itself; else at the files given, such as those of a program that uses coracle.
It matches text, not C++: it may miss what macros hide. `// lint: intended` on the line silences it, for the
tests that show these errors. --self-test runs it on known cases.
"""
import bisect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_docs import ROOT, documents, snippets  # noqa: E402

FOLDERS = ["include", "compat", "src", "tests", "examples", "tour", "bench"]
INTENDED = "lint: intended"

NOT_CODE = re.compile(
    r'R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*|/\*.*?\*/"
    r"|^[ \t]*\#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
CONTROL = r"\b(?:if|while|for|switch)\b(?:\s*constexpr\b)?\s*"
COROUTINE = re.compile(r"\bco_(?:await|yield|return)\b")
AWAIT = re.compile(r"\bco_await\b")

# What may stand before a `{`, the contents of brackets left out. A head that starts with ( or [ is an argument.
LAMBDA_HEAD = re.compile(
    r"\[\](?:\s*<[^;]*>)?(?:\s*\(\))?\s*(?:(?:mutable|noexcept|constexpr|static|requires|->|\[\]).*)?$", re.DOTALL)
BLOCK_HEAD = re.compile(
    r"(?:^|\b(?:else|do|try)|\b(?:case\b.*|default\s*):|" + CONTROL + r"\(\)|\bcatch\s*\(\)|^\w+\s*\(\))\s*$",
    re.DOTALL)
TYPE_HEAD = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:export\s+|inline\s+|typedef\s+)*"
                       r"(?:(?:class|struct|union|enum|namespace|extern)\b|TEST_SUITE\w*\s*\(\)|$)", re.DOTALL)
FUNCTION_HEAD = re.compile(
    r"\(\)\s*(?:(?:const|noexcept|override|final|volatile|requires|try)\b.*|(?:&|->|:).*)?$", re.DOTALL)

TEMPLATE_ARGUMENTS = r"(?:\s*<(?:[^<>;{}]|<(?:[^<>;{}]|<[^<>;{}]*>)*>)*>)?"
DECLARATION = re.compile(
    r"(?:[;{}]|" + CONTROL + r"\()\s*"
    r"(?:(?:static|const|constexpr|volatile|typename|unsigned|signed|long|short|\[\[\w+\]\])\s+)*"
    r"(?!(?:return|co_return|co_await|co_yield|if|while|for|do|switch|case|default|throw|delete|new|else|goto|break|"
    r"continue|using|typedef|static_assert|catch|try|struct|class|enum|union)\b)"
    r"(?:::)?[A-Za-z_]\w*" + TEMPLATE_ARGUMENTS + r"(?:::\w+" + TEMPLATE_ARGUMENTS + r")*(?:\s+const\b)?"
    r"(?:(?:\s*[&*]+\s*|\s+)[A-Za-z_]\w*\s*(?:[={(;,\[)]|:(?!:))|\s*&{0,2}\s*\[[^\]]*\]\s*[=:{(])"
)


# What shows that a braced argument has members which need a destructor.
NEEDS_DESTRUCTOR = re.compile(r"\b(?:move|forward)\s*\(|(?:^|[,={(])\s*(?:\*\s*\w|\")|\bstd::string\b")
# What may make an object of class type: a call, a braced value, a text beside a std::string.
MAKES = re.compile(r"(?:\w|(?<!_cast)" + TEMPLATE_ARGUMENTS[:-1] + r")\s*[({]")


def blank(text):
    """As many spaces, line ends kept."""
    return re.sub(r"[^\n]", " ", text)


class Source:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.raw = text
        self.text = NOT_CODE.sub(lambda found: blank(found[0]), text)
        self.line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
        self.match = {}
        self.match_brackets()
        self.braces = sorted(position for position in self.match if self.text[position] == "{")
        self.kinds = {}  # of each `{`: function, lambda, block, type or value
        self.classify_braces()

    def match_brackets(self):
        partner, waiting = {")": "(", "]": "[", "}": "{"}, []
        for position, char in enumerate(self.text):
            if char in "([{":
                waiting.append(position)
            elif char in partner:
                while waiting and self.text[waiting[-1]] != partner[char]:
                    waiting.pop()
                if waiting:
                    self.match[position] = waiting[-1]
                    self.match[waiting.pop()] = position

    def head(self, brace):
        """What stands before a `{` in its statement, with the contents of brackets left out."""
        parts, position = [], brace - 1
        while position >= 0 and self.text[position] not in ";{}":
            char = self.text[position]
            if char in ")]" and position in self.match:
                parts.append("()" if char == ")" else "[]")
                position = self.match[position]
            else:
                parts.append(char)
                if char in "([":
                    break
            position -= 1
        return "".join(reversed(parts)).strip()

    def classify_braces(self):
        enclosing = []
        for brace in self.braces:
            while enclosing and self.match[enclosing[-1]] < brace:
                enclosing.pop()
            scopes = [self.kinds[outer] for outer in enclosing if self.kinds[outer] != "value"]
            inside_function = bool(scopes) and scopes[-1] != "type"
            self.kinds[brace] = self.classify(self.head(brace), inside_function)
            enclosing.append(brace)

    @staticmethod
    def classify(head, inside_function):
        if LAMBDA_HEAD.search(head):
            return "lambda"
        if inside_function and BLOCK_HEAD.search(head):
            return "block"
        if TYPE_HEAD.search(head):
            return "type"
        if not inside_function and FUNCTION_HEAD.search(head):
            return "function"
        return "value"

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position)

    def own_text(self, start, end):
        """The text of [start, end) without the bodies of the functions and types inside."""
        parts, position = [], start
        for brace in self.braces[bisect.bisect_right(self.braces, start):bisect.bisect_left(self.braces, end)]:
            if brace >= position and self.kinds[brace] in ("function", "lambda", "type"):
                parts += [self.text[position:brace], blank(self.text[brace:self.match[brace]])]
                position = self.match[brace]
        return "".join(parts) + self.text[position:end]

    def conditions(self):
        """Positions of the awaits in conditions of coroutines without a local variable."""
        for brace, kind in self.kinds.items():
            if kind not in ("function", "lambda"):
                continue
            body = self.own_text(brace, self.match[brace] + 1)
            if not COROUTINE.search(body) or DECLARATION.search(body):
                continue
            for control in re.finditer(CONTROL + r"\(", body):
                opening = control.end() - 1
                closing = self.match.get(brace + opening, brace + opening) - brace
                if AWAIT.search(body, opening, closing):
                    yield brace + control.start()

    def temporary_lambdas(self):
        """Positions of the capturing lambdas that are arguments in an expression that awaits, or called in it."""
        for found in re.finditer(r"(?:(?<=[(,])|\bco_await)\s*\[(?!\[)", self.text):
            opening = found.end() - 1
            closing = self.match.get(opening)
            if closing is None or not self.text[opening + 1:closing].strip():
                continue
            if AWAIT.search(self.own_text(*self.full_expression(opening))):
                yield opening

    def temporaries_of_conditionals(self):
        """Positions of the ?: in an expression that awaits, of which an operand makes what may be a temporary."""
        for found in re.finditer(r"\?", self.text):
            start, end = self.full_expression(found.start())
            if not AWAIT.search(self.own_text(start, end)):
                continue
            last = self.end_of_conditional(found.end(), end)
            if AWAIT.search(self.text, found.end(), last):
                continue  # g++ 12 is right about what is awaited in an operand
            texts = [operand.strip().startswith('"') for operand in re.split(r"(?<!:):(?!:)", self.raw[found.end():last], 1)]
            if MAKES.search(self.text, found.end(), last) or any(texts) and not all(texts):
                yield found.start()

    def braced_arguments(self):
        """Positions of the arguments in bare braces, in an expression that awaits, that may need a destructor."""
        for brace in self.braces:
            if self.kinds[brace] != "value" or self.text[:brace].rstrip()[-1:] not in ("(", ","):
                continue
            if not NEEDS_DESTRUCTOR.search(self.raw[brace + 1:self.match[brace]]):
                continue
            if AWAIT.search(self.own_text(*self.full_expression(brace))):
                yield brace

    def end_of_conditional(self, position, end):
        while position < end and self.text[position] not in ")]},;":
            position = (self.match.get(position, position) if self.text[position] in "([{" else position) + 1
        return position

    def full_expression(self, inside):
        start, end = inside - 1, inside
        while start >= 0 and not self.ends_expression(start, skipped=")]}"):
            start = (self.match.get(start, start) if self.text[start] in ")]}" else start) - 1
        while end < len(self.text) and not self.ends_expression(end, skipped="([{"):
            end = (self.match.get(end, end) if self.text[end] in "([{" else end) + 1
        return start + 1, end

    def ends_expression(self, position, skipped):
        """Whether a full expression ends here; `skipped` are the brackets that do not enclose it."""
        char = self.text[position]
        if char in "{}":
            kind = self.kinds.get(min(position, self.match.get(position, position)))
            return kind != "value" and not (kind == "lambda" and char in skipped)
        if char in "()":
            opening = min(position, self.match.get(position, position))
            return bool(re.search(CONTROL + "$", self.text[max(0, opening - 40):opening]))
        return char == ";"


def findings(text):
    """(line, message) of each finding; silenced ones have no message."""
    source = Source(text)
    found = [(source.line_of(position), "condition: awaits in a condition, and the coroutine declares no local "
              "variable; bind the result to a variable first") for position in source.conditions()]
    found += [(source.line_of(position), "lambda: captures, and is a temporary in an expression that awaits; "
               "bind it to a variable first") for position in source.temporary_lambdas()]
    found += [(source.line_of(position), "conditional: gives a temporary, in an expression that awaits; bind the "
               "result of the ?: to a variable first") for position in source.temporaries_of_conditionals()]
    found += [(source.line_of(position), "braces: an argument in braces, in an expression that awaits; bind it to a "
               "variable first, and move that") for position in source.braced_arguments()]
    return [(line, "" if INTENDED in source.lines[line - 1] else message) for line, message in sorted(found)]


def texts_of_coracle():
    """Of each: its name, how many lines are before it, the text."""
    places = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            places.append((path.relative_to(ROOT), 0, path.read_text()))
    for path in documents():
        for snippet in snippets(path):
            # A fragment is the body of a function.
            code = f"void fragment() {{ {snippet.code}}}\n" if "fragment" in snippet.mark else snippet.code
            places.append((path.relative_to(ROOT), snippet.line - 1, code))
    return places


def lint(places):
    failed = intended = 0
    for path, before, text in places:
        for line, message in findings(text):
            if message:
                failed += 1
                print(f"{path}:{before + line}: {message}")
            else:
                intended += 1
    print(f"{len(places)} texts, {failed} findings, {intended} intended")
    return 1 if failed else 0


WRONG = {
    "condition": [
        "task<> f() { if (co_await g()) h(); }",
        "task<> f() { while (co_await g()) h(); }",
        "task<> f() { for (; co_await g();) h(); }",
        "task<> f() { do { h(); } while (co_await g()); }",
        "task<> f() { switch (co_await g()) { default: h(); } }",
        "task<> f(int parameter) { co_await x; if (co_await g() == parameter) co_return; }",
        "task<> f() { try { if (co_await g()) h(); } catch (...) {} }",
        "task<> f() { if (true) { while (co_await g() && h()) {} } }",
        "task<> f() { h([] { int inner = 1; return inner; }); if (co_await g()) h(); }",
        "struct s { task<int> f() const noexcept { if (co_await g()) co_return 1; co_return 0; } };",
        "TEST_CASE(\"a name\") { auto f = []() -> task<> { while (co_await g()) {} }; int local = 0; }",
        "template <class T = int> task<T> f(T x) { a * (b); if (co_await x) {} }",
        "TEST_SUITE(\"s\") { task<> f() { if (co_await g()) h(); } }",
    ],
    "lambda": [
        "task<> f() { co_await g([x] { return x; }); }",
        "task<> f() { int r = 1 + co_await g(a, [&x](int y) mutable { return y; }); }",
        "task<> f() { int l; if (co_await g(h([x] {}))) {} }",
        "task<> f() { co_await [x]() -> task<> { co_return; }(); }",
        "task<> f() { co_await g([] { return 1; }, [x] { return x; }); }",
        "task<> f() { co_await g({1, 2}, when_all(a(), [=]() -> task<> { co_return; }())); }",
        "task<> f() { co_return co_await schedule_on(pool, [p = std::move(p)] { return p; }); }",
    ],
    "conditional": [
        "task<> f() { co_await g(c ? make() : other()); }",
        "task<> f() { co_await (c ? g() : h()); }",
        "task<> f() { auto r = co_await g(1, c ? s : S{}); }",
        "task<> f() { co_await g(c ? *found : \"\", 1); }",
        "task<> f() { co_await g(c ? s : std::string(\"x\"), 1); }",
    ],
    "braces": [
        "task<> f() { co_await ch.send({a, std::move(b)}); }",
        "task<> f() { co_await ch.send({*path, text}); }",
        "task<> f() { auto c = co_await connect(1, {.host = \"x\"}); }",
        "task<> f() { co_await when_all(ch.send({1, \"x\"}), g()); }",
    ],
}
RIGHT = [
    "task<> f() { int local = 0; if (co_await g()) h(local); }",
    "task<> f() { auto [a, b] = co_await g(); while (co_await g()) {} }",
    "task<> f() { if (auto v = co_await g(); v) h(); }",
    "task<> f() { while (auto v = co_await g()) h(); }",
    "task<> f() { for (int i = 0; i < 3; ++i) if (co_await g()) h(); }",
    "task<> f() { while (true) { auto* v = co_await g(); if (co_await h()) break; } }",
    "task<> f() { std::vector<std::pair<int, int>> v; if (co_await g()) h(); }",
    "task<> f() { std::unique_ptr<int> p(new int); if (co_await g()) h(); }",
    "task<> f() { if (x) co_await g(); }",
    "task<> f() { if (sync_wait([]() -> task<int> { co_return co_await g(); }())) co_return; }",
    "void f() { if (co_awaited()) h(); } // if (co_await g())",
    "task<> f() { h(\"if (co_await g())\"); co_await x; }",
    "task<> f() { auto l = [x] {}; co_await g(l); }",
    "task<> f() { co_await g([] { return 1; }); }",
    "void f() { sync_wait(g([&]() -> task<> { co_await h(); })); }",
    "task<> f() { std::sort(b, e, [&](int x) { return x; }); co_await g(); }",
    "task<> f() { if (true) { h([x] {}); } co_await g(v[i], w[j]); }",
    "task<> f() { co_await g([x] {}); }  // lint: intended",
    "task<> f() { co_await g(c ? 1 : 2, d ? \"a\" : \"b\", e ? 'a' : b); }",
    "task<> f() { int n = c ? co_await g(make()) : 0; }",
    "task<> f() { const S s = c ? make() : S{}; co_await g(s); }",
    "task<> f() { item i{a, std::move(b)}; co_await ch.send(std::move(i)); }",
    "task<> f() { co_await retry({.max_attempts = 3, .first_delay = 1ms}, g); co_await h({}, {a * b}); }",
    "task<> f() { ch.send({a, std::move(b)}); co_await g(); }",
]


def self_test():
    failed = 0
    cases = [(rule, code) for rule, codes in WRONG.items() for code in codes] + [("", code) for code in RIGHT]
    for rule, code in cases:
        found = {message.split(":")[0] for _, message in findings(code)} - {""}
        if found != ({rule} if rule else set()):
            failed += 1
            print(f"FAILED finds {found or 'nothing'}, should find {rule or 'nothing'}: {code}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        print("usage: lint_coroutines.py [--self-test | FILE...]", file=sys.stderr)
        return 2
    return lint([(name, 0, Path(name).read_text()) for name in sys.argv[1:]] or texts_of_coracle())


if __name__ == "__main__":
    sys.exit(main())
