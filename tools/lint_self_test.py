"""Known cases for both forms of coracle_lint."""
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import parsed_form
import text_form

PROGRAM = Path(__file__).resolve().parent / "coracle_lint"
CASES = Path(__file__).resolve().parent / "lint_cases.cpp"

# For the text form alone, which has to tell from the text what the parser knows.
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
        "generator<function> f() { co_yield [x] { return x; }; }",
        "task<> f() { co_await g([] { return 1; }, [x] { return x; }); }",
        "task<> f() { co_await g({1, 2}, when_all(a(), [=]() -> task<> { co_return; }())); }",
        "task<> f() { co_return co_await schedule_on([p = std::move(p)] { return p; }, pool); }",
    ],
    "conditional": [
        "task<> f() { co_await g(c ? make() : other()); }",
        "task<> f() { co_await (c ? g() : h()); }",
        "task<> f() { auto r = co_await g(1, c ? s : S{}); }",
        "task<> f() { co_await g(c ? *found : \"\", 1); }",
        "task<> f() { co_await g(c ? s : std::string(\"x\"), 1); }",
        "generator<std::string> f() { co_yield c ? s : S{}; }",
    ],
    "aggregate": [
        "task<> f() { co_await ch.send({a, std::move(b)}); }",
        "task<> f() { co_await ch.send({*path, text}); }",
        "task<> f() { auto c = co_await connect(1, {.host = \"x\"}); }",
        "task<> f() { co_await when_all(ch.send({1, \"x\"}), g()); }",
        "generator<item> f() { co_yield {1, \"x\"}; }",
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
    "generator<item> f() { item i{a, std::move(b)}; co_yield std::move(i); co_yield {1, 2}; }",
    "task<> f() { co_await retry({.max_attempts = 3, .first_delay = 1ms}, g); co_await h({}, {a * b}); }",
    "task<> f() { ch.send({a, std::move(b)}); co_await g(); }",
]


def silent_removed(findings):
    return {(finding.line, finding.rule) for finding, intended in findings if not intended}


def compare(form, found, wanted):
    """Returns the number of differences."""
    for line, rule in sorted(found ^ wanted):
        verb = "should not find" if (line, rule) in found else "should find"
        print(f"FAILED the {form} form {verb} {rule}: {CASES.name}:{line}")
    return len(found ^ wanted)


def complaints_about_program(has_parser):
    """What is wrong on the command line."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run([sys.executable, PROGRAM, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    if ended.stderr or ended.returncode != -signal.SIGPIPE:
        yield f"whose output nobody reads: {ended}"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.cpp")
        program.write_text("#ifndef GIVEN\n#error nothing is given\n#endif\n")
        for flags, advises in (([], True), (["--", "-DOTHER"], False), (["--", "-DGIVEN"], False)) if has_parser else ():
            looked = subprocess.run([sys.executable, PROGRAM, program, *flags], capture_output=True, text=True, check=False)
            if looked.returncode != 0 or ("-- FLAG... or -p BUILD" in looked.stderr) != advises:
                yield f"about flags: {looked}"


def run(require_parser):
    failed = passed = 0
    of_text = [(rule, code) for rule, codes in WRONG.items() for code in codes] + [("", code) for code in RIGHT]
    for rule, code in of_text:
        found = {of_rule for _, of_rule in silent_removed(text_form.findings("", code))}
        wrong = found != ({rule} if rule else set())
        failed += wrong
        passed += not wrong
        if wrong:
            print(f"FAILED finds {found or 'nothing'}, should find {rule or 'nothing'}: {code}")

    text = CASES.read_text()
    marks = [(number, *found.groups()) for number, line in enumerate(text.splitlines(), 1)
             for found in re.finditer(r"(\w+)(?: \((parser|text)\))?(?:, |$)", line.partition("// finds: ")[2])]
    by_parser = {(number, rule) for number, rule, form in marks if form != "text"}
    by_text = {(number, rule) for number, rule, form in marks if form != "parser"}
    failed += compare("text", silent_removed(text_form.findings(str(CASES), text)), by_text)
    passed += len(by_text)
    why = parsed_form.why_missing()
    for complaint in complaints_about_program(not why):
        print(f"FAILED the program, {complaint}")
        failed += 1
    if not why:
        failed += compare("parsed", silent_removed(parsed_form.findings(str(CASES), ["-std=c++20"])), by_parser)
        passed += len(by_parser)
    else:
        print(f"the parsed form was not tested: {why}", file=sys.stderr)
        failed += require_parser
    print(f"{passed} cases, {failed} failed")
    return 1 if failed else 0
